import { userInfo } from 'node:os'
import { Command } from 'commander'
import { readStorageConfig, type SettingName, type StorageConfig, settings } from '../config'
import { systemClock } from '../domain/clock'
import type { Context } from '../operations/context'
import { openService, type Service } from '../service'

const storageSettings = ['database', 'masterKeyFile', 'zones'] as const

/** A command that works on the production database, with the settings that say where it is. */
export function storageCommand(name: string, description: string): Command {
  return withSettings(new Command(name).description(description), storageSettings)
}

/** Gives a command the flags of settings. */
export function withSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const { flag, argument, variable, meaning } = settings[name]
    command.option(`${flag} ${argument}`, `${meaning} (${variable})`)
  }
  return command
}

/** Opens the production database for as long as `work` takes. */
export function withContext<T>(flags: object, work: (context: Context) => Promise<T>): Promise<T> {
  return withService(flags, ({ context }) => work(context))
}

/** The same with the whole service. */
export async function withService<T>(flags: object, work: (service: Service) => Promise<T>): Promise<T> {
  const service = await openProduction(readStorageConfig(flags), operator())
  try {
    return await work(service)
  } finally {
    await service.close()
  }
}

/** Opens the production database, in the name of `actor` for the audit log. */
export function openProduction(
  config: StorageConfig,
  actor: string,
  { create = false, upgrade = false } = {},
): Promise<Service> {
  const { database, masterKey, zoneFolder } = config
  return openService({
    purpose: 'production',
    database,
    masterKey,
    create,
    upgrade,
    zoneFolder,
    clock: systemClock,
    actor,
  })
}

/** Who gives the command, for the audit log: the name that the machine knows, or else the number. */
export function operator(): string {
  const { username, uid } = userInfo()
  return `operator ${username === 'unknown' ? uid : username}`
}
