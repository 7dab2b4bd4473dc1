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

/** The settings that say where the data is, which commands have in common. */
export const storageSettings = ['settings', 'database', 'masterKeyFile', 'masterKeyFd', 'zones'] as const

/** Their flags, which are taken before a command's name too. */
export const storageFlags: readonly string[] = storageSettings.map((name) => settings[name].flag)

/** Under what help lists a setting; undefined for a command's own. */
export function headingOf(name: SettingName): string | undefined {
  return storageSettings.some((each) => each === name) ? 'Storage options (anywhere on the line):' : undefined
}

/** Has help tell what a command takes before where the data is, which all of them are told alike. */
export function storageLast(command: Command): void {
  const isLast = ({ helpGroupHeading }: Option) => Number(helpGroupHeading !== undefined)
  // Help lists options in the order of this array.
  ;(command.options as Option[]).sort((one, other) => isLast(one) - isLast(other))
}

/** Gives a command the flags of settings. */
export function withSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const { flag, argument, variable, meaning }: Setting = settings[name]
    const option = command.createOption([flag, argument ?? ''].join(' ').trim(), `${meaning} (${variable})`)
    const heading = headingOf(name)
    command.addOption(heading === undefined ? option : option.helpGroup(heading))
  }
  return command
}

/** Makes the act of a command at the moment when it is done: a question may have waited long for its answer. */
export type MakeAct = () => Act

/** What a command does with what was opened for it, for as long as it takes. */
export type Work<On> = (on: On, act: MakeAct) => Promise<void>

/** Opens the production database for a command that asks the records alone, and no directory. */
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

/** What a command works on that asks the records and the zone data, and no directory. */
export interface RecordsAndZones {
  readonly context: Records
  readonly zones: ZoneData
}

/** The same with the zone data. */
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

/** Brings the production database up to date; tells what that has left, null where there was nothing to do. */
export async function upgradeProduction(config: StorageConfig): Promise<Upgrade | null> {
  try {
    const { upgraded, close } = await openStorage({ ...optionsOf(config), upgrade: true, report: () => {} })
    await close()
    return upgraded
  } catch (error) {
    throw await explained(error, config)
  }
}

/** The same with the directory. */
export function withContext(flags: object, work: Work<Context>): Promise<void> {
  return withService(flags, ({ context }, act) => work(context, act))
}

/** The same with the whole service. */
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

/** What failed, told to whoever gives the command. */
async function explained(error: unknown, config: StorageConfig): Promise<unknown> {
  return (await databaseAt(config)).explain(error)
}

/** Opens the production database; `create` makes it, `upgrade` brings an older one up to date, `alone` is for a server. */
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

/** The act of this moment, of whoever gives the command. */
export function makeAct(): Act {
  return { actor: operator(), at: systemClock.now() }
}

/** The operator who runs the command, for the audit log. */
export function operator(): string {
  return describeOperator(process.getuid?.() ?? null, process.env.SUDO_UID, readAccounts())
}

/**
 * An operator by uid and account, which they cannot choose: `operator root (sudo by 1000 olive)`.
 *
 * @param uid null on a system that has none
 * @param sudoUid the value of SUDO_UID, used for root only, because any other user can set it
 * @param accounts the lines of /etc/passwd (passwd(5)); a uid without a line is shown as a number
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
