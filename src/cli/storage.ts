import { readFileSync } from 'node:fs'
import type { Command, Option } from 'commander'
import { readStorageConfig, type StorageConfig } from '../config'
import type { Act } from '../domain/audit'
import type { Upgrade } from '../domain/ports/database'
import { systemClock, type ZoneData } from '../domain/ports/time'
import type { Context, Records } from '../operations/context'
import { refuseOtherZoneData } from '../operations/maintenance'
import {
  databaseAt,
  openService,
  openStorage,
  readZones,
  type Service,
  type ServiceOptions,
} from '../service'
import { type Setting, type SettingName, settings } from '../settings'
import { printNotice } from './terminal/output'

export const storageSettings = ['settings', 'database', 'masterKeyFile', 'masterKeyFd', 'zones'] as const

/** Flags that are also accepted before the name of the command. */
export const storageFlags: readonly string[] = storageSettings.map((name) => settings[name].flag)

function headingOf(name: SettingName): string | undefined {
  return storageSettings.some((each) => each === name)
    ? 'Storage options (anywhere on the command line):'
    : undefined
}

/** Moves the storage options to the end of help: they are the same for every command. */
export function storageLast(command: Command): void {
  const isLast = ({ helpGroupHeading }: Option) => Number(helpGroupHeading !== undefined)
  // Help lists options in the order of this array.
  ;(command.options as Option[]).sort((one, other) => isLast(one) - isLast(other))
}

export function withSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const { flag, argument, variable, meaning }: Setting = settings[name]
    const option = command.createOption([flag, argument ?? ''].join(' ').trim(), `${meaning} (${variable})`)
    const heading = headingOf(name)
    command.addOption(heading === undefined ? option : option.helpGroup(heading))
  }
  return command
}

/** Returns the actor and the time for the audit log. Called at the change, because a confirmation may take long. */
export type MakeAct = () => Act

export type Work<On> = (on: On, act: MakeAct) => Promise<void>

export async function withRecords(flags: object, work: Work<Records>): Promise<void> {
  const config = readStorageConfig(flags)
  const { records, close } = await openRecords(config)
  try {
    await work(records, makeAct)
  } catch (error) {
    throw await explained(error, config)
  } finally {
    await close()
  }
}

export interface RecordsAndZones {
  readonly context: Records
  readonly zones: ZoneData
}

export function withZones(flags: object, work: Work<RecordsAndZones>): Promise<void> {
  const zones = readZones(readStorageConfig(flags).zoneFolder)
  return withRecords(flags, (context, act) => work({ context, zones }, act))
}

async function openRecords(config: StorageConfig) {
  try {
    return await openStorage(optionsOf(config))
  } catch (error) {
    throw await explained(error, config)
  }
}

/** Null if the schema was up to date. */
export async function upgradeProduction(config: StorageConfig): Promise<Upgrade | null> {
  try {
    const { upgraded, close } = await openStorage({ ...optionsOf(config), upgrade: true, report: () => {} })
    await close()
    return upgraded
  } catch (error) {
    throw await explained(error, config)
  }
}

export function withContext(flags: object, work: Work<Context>): Promise<void> {
  return withService(flags, ({ context }, act) => work(context, act))
}

/** Gives `work` an `act` that throws if the server and this command have different zone data. */
export async function withService(flags: object, work: Work<Service>): Promise<void> {
  const config = readStorageConfig(flags)
  const service = await openProduction(config)
  try {
    const refusal = await refuseOtherZoneData(service.context, service.zones)
    await work(service, () => {
      if (refusal) throw refusal
      return makeAct()
    })
  } catch (error) {
    throw await explained(error, config)
  } finally {
    await service.close()
  }
}

/** Replaces a known database error by an error with an explanation for the operator. */
async function explained(error: unknown, config: StorageConfig): Promise<unknown> {
  return (await databaseAt(config)).explain(error)
}

export async function openProduction(
  config: StorageConfig & Pick<ServiceOptions, 'limits'>,
  allowed: Pick<Partial<ServiceOptions>, 'create' | 'upgrade' | 'alone' | 'report'> = {},
): Promise<Service> {
  try {
    return await openService({ ...optionsOf(config), ...allowed })
  } catch (error) {
    throw await explained(error, config)
  }
}

function optionsOf(config: StorageConfig): ServiceOptions {
  return { ...config, purpose: 'production', create: false, clock: systemClock, report: printNotice }
}

export function makeAct(): Act {
  return { actor: operator(), at: systemClock.now() }
}

export function operator(): string {
  return describeOperator(process.getuid?.() ?? null, process.env.SUDO_UID, readAccounts())
}

/**
 * Returns the uid and the account, for example `operator root (sudo by 1000 olive)`. Operators cannot choose this text.
 *
 * @param sudoUid SUDO_UID; used only for root, because any other user can set it
 * @param accounts text of /etc/passwd (passwd(5)); a uid without a line is shown as a number
 */
export function describeOperator(uid: number | null, sudoUid: string | undefined, accounts: string): string {
  if (uid === null) return 'operator unknown'
  const names = new Map(accounts.split('\n').map((line) => [line.split(':')[2], line.split(':')[0]]))
  const name = names.get(String(uid)) ?? uid
  if (uid !== 0 || sudoUid === undefined || !/^[1-9]\d{0,9}$/.test(sudoUid)) return `operator ${name}`
  return `operator ${name} (sudo by ${[sudoUid, names.get(sudoUid)].filter(Boolean).join(' ')})`
}

function readAccounts(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8')
  } catch {
    return ''
  }
}
