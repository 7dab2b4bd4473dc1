import { Command } from 'commander'
import { readServerConfig, type SettingName, settings } from '../config'
import { zoneDataNote } from '../operations/check-zones'
import { noteZoneData } from '../operations/upkeep'
import { shutdownRequest } from './graceful-shutdown'
import { announce, printNotice } from './output'
import { openProduction, withSettings } from './storage'

/** `anteroom serve`: the service in production. */
export function serveCommand(): Command {
  const command = new Command('serve').description('Run the service on the production database')
  return withSettings(command, Object.keys(settings) as SettingName[]).action(serve)
}

/** @param docs false where they are to be left out: Commander takes the `no` off the flag */
async function serve({ docs, ...flags }: { readonly docs: boolean }): Promise<void> {
  const config = readServerConfig({ ...flags, ...(!docs && { noDocs: 'true' }) })
  const service = await openProduction(config, { upgrade: true, alone: true })
  try {
    await noteZoneData(service.context, service.zones)
    const note = zoneDataNote(service.zones, service.context.clock.now())
    if (note) printNotice(note)
    const stopped = shutdownRequest()
    const server = await service.listen(config.host, config.port, config.baseUrl)
    announce(`Listening on ${server.host} port ${server.port} as ${server.baseUrl}`)
    await stopped
    await server.stop()
  } finally {
    await service.close()
  }
}
