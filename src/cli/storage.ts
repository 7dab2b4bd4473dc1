import { readFileSync } from 'node:fs'
import type { Command, Option } from 'commander'
import { operatorVariable, readStorageConfig, readValues, type StorageConfig } from '../config'
import type { Act } from '../domain/audit'
import { Refusal } from '../domain/errors'
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
    if (storageSettings.some((each) => each === name))
      option.helpGroup('Storage options (anywhere on the command line):')
    command.addOption(option)
  }
  return command
}

/** Returns the actor and the time for the audit log. Called at the change, because a confirmation may take long. */
export type MakeAct = () => Act

export type Work<On> = (on: On, act: MakeAct) => Promise<void>

export async function withRecords(flags: object, work: Work<Records>): Promise<void> {
  const config = readStorageConfig(flags)
  await explaining(config, async () => {
    const { records, close } = await openStorage(optionsOf(config))
    try {
      await work(records, makeAct)
    } finally {
      await close()
    }
  })
}

export interface RecordsAndZones {
  readonly context: Records
  readonly zones: ZoneData
}

export function withZones(flags: object, work: Work<RecordsAndZones>): Promise<void> {
  const zones = readZones(readStorageConfig(flags).zoneFolder)
  return withRecords(flags, (context, act) => work({ context, zones }, act))
}

/** Null if the schema was up to date. */
export function upgradeProduction(config: StorageConfig): Promise<Upgrade | null> {
  return explaining(config, async () => {
    const { upgraded, close } = await openStorage({ ...optionsOf(config), upgrade: true, report: () => {} })
    await close()
    return upgraded
  })
}

export function withContext(flags: object, work: Work<Context>): Promise<void> {
  return withService(flags, ({ context }, act) => work(context, act))
}

/** Gives `work` an `act` that throws if the server and this command have different zone data. */
export async function withService(flags: object, work: Work<Service>): Promise<void> {
  const config = readStorageConfig(flags)
  await explaining(config, async () => {
    const service = await openService(optionsOf(config))
    try {
      const refusal = await refuseOtherZoneData(service.context, service.zones)
      await work(service, () => {
        if (refusal) throw refusal
        return makeAct()
      })
    } finally {
      await service.close()
    }
  })
}

/** Replaces a known database error by an error with an explanation for the operator. */
async function explaining<T>(config: StorageConfig, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw (await databaseAt(config)).explain(error)
  }
}

export function openProduction(
  config: StorageConfig & Pick<ServiceOptions, 'limits'>,
  allowed: Pick<Partial<ServiceOptions>, 'create' | 'upgrade' | 'alone' | 'report'>,
): Promise<Service> {
  return explaining(config, () => openService({ ...optionsOf(config), ...allowed }))
}

function optionsOf(config: StorageConfig): ServiceOptions {
  return { ...config, purpose: 'production', create: false, clock: systemClock, report: printNotice }
}

export function makeAct(): Act {
  return { actor: operator().actor, at: systemClock.now() }
}

/** @throws Refusal operator_unknown if --require-operator is set and the audit log could not name the person */
export function requireOperator(flags: object): void {
  if (!readValues(flags).requireOperator || operator().isNamed) return
  const action = `log in as yourself, or hand over your account in ${operatorVariable}`
  throw new Refusal('operator_unknown', 'the audit log could not name you, so no person is shown', { action })
}

function operator() {
  const { SUDO_UID: sudoUid, [operatorVariable]: variable } = process.env
  const caller = { loginUid: readText('/proc/self/loginuid').trim(), sudoUid, variable }
  return describeOperator(process.getuid?.() ?? null, caller, readText('/etc/passwd'))
}

interface Caller {
  /** Kept by the kernel since the login, also under sudo and runuser: pam_loginuid(8). */
  readonly loginUid: string
  /** SUDO_UID; used only for root, because any other user can set it. */
  readonly sudoUid?: string | undefined
  /** ANTEROOM_OPERATOR: an account or a uid. */
  readonly variable?: string | undefined
}

/**
 * Names the account of the uid, and the person, for example `operator anteroom (olive, by login uid)`.
 * @param accounts text of /etc/passwd (passwd(5)); a uid without a line is shown as a number
 */
export function describeOperator(uid: number | null, caller: Caller, accounts: string) {
  const names = new Map(accounts.split('\n').map((line) => [line.split(':')[2], line.split(':')[0]]))
  const nameOf = (id: string | number) => names.get(String(id)) ?? id
  const [person, how] = personOf(uid, caller)
  const by = person === null || person === String(uid) ? '' : ` (${nameOf(person)}, ${how})`
  return { actor: `operator ${uid === null ? 'unknown' : nameOf(uid)}${by}`, isNamed: person !== null }
}

/** Only the login uid is certain. The caller says the other two. */
function personOf(uid: number | null, { loginUid, sudoUid = '', variable = '' }: Caller) {
  const form = /^[1-9]\d{0,9}$/
  if (form.test(loginUid) && loginUid !== noLogin) return [loginUid, 'by login uid'] as const
  if (uid === 0 && form.test(sudoUid)) return [sudoUid, 'says SUDO_UID'] as const
  const isPerson = /^[A-Za-z0-9_][\w.@-]{0,63}$/.test(variable) && !/^(0|root)$/.test(variable)
  return isPerson ? ([variable, `says ${operatorVariable}`] as const) : [null]
}

/** The login uid of a process that no login started, for example under systemd-run. */
const noLogin = '4294967295'

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
