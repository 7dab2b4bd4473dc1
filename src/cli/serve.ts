import { Command } from 'commander'
import { version } from '../../package.json'
import { readServerConfig, type ServerConfig, serverSettings } from '../config'
import { systemClock } from '../domain/clock'
import { zoneDataNote } from '../operations/check-zones'
import { noteServer, noteZoneData } from '../operations/upkeep'
import { shutdownRequest } from './graceful-shutdown'
import { type Log, withLog } from './log'
import { announce } from './output'
import { openProduction, withSettings } from './storage'

/** `anteroom serve`: the service in production. */
export function serveCommand(): Command {
  const command = new Command('serve').description('Run the service on the production database')
  return withSettings(command, serverSettings).action(serve)
}

/** @param docs false where they are to be left out: Commander takes the `no` off the flag */
async function serve({ docs, ...flags }: { readonly docs: boolean }): Promise<void> {
  const config = readServerConfig({ ...flags, ...(!docs && { noDocs: 'true' }) })
  await withLog(systemClock, (log) => serveUntilStopped(config, log))
}

async function serveUntilStopped(config: ServerConfig, { look, report }: Log): Promise<void> {
  const service = await openProduction(config, { upgrade: true, alone: true, onlookers: [look], report })
  try {
    await noteZoneData(service.context, service.zones)
    const note = zoneDataNote(service.zones, service.context.clock.now())
    if (note) report(note)
    const stopped = shutdownRequest()
    const server = await service.listen(config.host, config.port, config.baseUrl)
    const startedAt = service.context.clock.now()
    await noteServer(service.context, { host: server.host, port: server.port, version, startedAt })
    announce(`Listening on ${server.host} port ${server.port} as ${server.baseUrl}`)
    await stopped
    report('stopping', 'info')
    await server.stop()
    await noteServer(service.context, null)
  } finally {
    await service.close()
  }
  report('stopped', 'info')
}
