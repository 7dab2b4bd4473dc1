import { Command } from 'commander'
import { readServerConfig, type SettingName, settings } from '../config'
import { systemClock } from '../domain/clock'
import { openService } from '../service'
import { printLine } from './output'
import { stopSignal } from './stop-signal'
import { withSettings } from './storage'

/** `anteroom serve`: the service in production. */
export function serveCommand(): Command {
  const command = new Command('serve').description('Run the service on the production database')
  return withSettings(command, Object.keys(settings) as SettingName[]).action(serve)
}

async function serve(flags: object): Promise<void> {
  const { database, masterKey, zoneFolder, baseUrl, host, port } = readServerConfig(flags)
  const service = await openService({
    purpose: 'production',
    database,
    masterKey,
    create: false,
    zoneFolder,
    clock: systemClock,
    actor: 'service',
  })
  try {
    const stopped = stopSignal()
    const server = service.listen(host, port, baseUrl)
    printLine(`Listening on ${server.host} port ${server.port} as ${server.baseUrl}`)
    await stopped
    await server.stop()
  } finally {
    await service.close()
  }
}
