import type { Act, AuditAction, AuditFilter, AuditHead, AuditLine, AuditVerdict } from '../domain/audit'
import { decideForgetting, expiredBy } from '../domain/decisions/submission'
import { Refusal } from '../domain/errors'
import { type CopyNote, copyRemedy, describeCopy, requireActive } from '../domain/ports/database-copy'
import type {
  ArchiveVerdict,
  AuditPrune,
  BackingUp,
  Finding,
  Manifest,
  ServerNote,
} from '../domain/ports/maintenance'
import type { Facts } from '../domain/ports/store'
import { pause, type ZoneData, type ZoneEdition } from '../domain/ports/time'
import type { Protection } from '../domain/ports/vault'
import { dayMinutes, minuteMillis } from '../scheduling/calendar'
import { offsetAt, type TimeZone } from '../scheduling/time-zone'
import type { Context, Records } from './context'

/**
 * Clears away the traces of what was erased, and tells whether all are gone. What the storage refuses by now changes nothing of
 * what was committed.
 */
export async function tryPurge({ maintenance }: Pick<Records, 'maintenance'>): Promise<boolean> {
  try {
    return await maintenance.purge()
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** What a rotation of the master key has left. */
export interface KeyRotation {
  /** Where the new key is; null if a rotation that was cut short was finished instead. */
  readonly path: string | null
  /** Whether the data key as the old master key sealed it is gone from wherever the engine had it. */
  readonly isPurged: boolean
}

/**
 * Puts a new master key in force: the data key is sealed under it and no more under the old one. Whoever has the
 * database open goes on.
 *
 * @throws Refusal as Keyring.rotate and Maintenance.rewrap do
 */
export async function rotateMasterKey(
  { keyring, maintenance }: Records,
  newKeyFile: string | undefined,
  act: Act,
): Promise<KeyRotation> {
  const path = keyring.hasRotated
    ? null
    : await keyring.rotate(newKeyFile, (next) => maintenance.rewrap(next, act))
  return { path, isPurged: await tryPurge({ maintenance }) }
}

/** What is removed in one transaction, and how long others may write before the next. */
const [mostAtOnce, pauseMillis] = [100, 100]

/**
 * Removes the answers that were kept for retries for as long as they may be: they tell of people. Where many have expired,
 * some at a time, so that nobody waits long for it, and the next of them no more once it is to stop: what is left is nobody's
 * answer any more, and goes after the next start.
 */
export async function forgetReplays(
  { store, maintenance, clock }: Pick<Context, 'store' | 'maintenance' | 'clock'>,
  stopping: AbortSignal,
): Promise<void> {
  const expired = ({ replays }: Facts) => replays.submittedBy(expiredBy(now), mostAtOnce)
  const now = clock.now()
  // Without a lock first: mostly there is nothing to do.
  while (!stopping.aborted && (await store.read(expired)).length > 0) {
    const count = await store.change(null, (facts) => [expired(facts)], decideForgetting)
    if (count < mostAtOnce) break
    await pause(pauseMillis)
  }
  await maintenance.forgetChanges()
}

const yearMinutes = 365 * dayMinutes

/**
 * The names, in order, of the zones whose clocks, some time in the year after `now` (ms), show another time by
 * the data in use than by the built-in data.
 */
export function zonesUnlikeBuiltIn({ names, find, builtIn }: ZoneData, now: number): string[] {
  const minute = Math.floor(now / minuteMillis)
  return names.toSorted().filter((name) => {
    const [used, known] = [find(name), builtIn.find(name)]
    return used && known && differ(used, known, minute)
  })
}

/**
 * What an operator is to be told of the zone data in use, in one line: that it is older than the built-in data, or
 * of an unknown edition, and what that does in the year after `now` (ms). Null where there is nothing to tell.
 */
export function zoneDataNote(zones: ZoneData, now: number): string | null {
  const { age, folder, edition, builtIn } = zones
  if (age === 'current') return null
  const names = zonesUnlikeBuiltIn(zones, now)
  const shown = age === 'older' ? `is of ${edition}, older than` : 'does not tell its edition, unlike'
  const count = names.length === 1 ? '1 zone differs' : `${names.length || 'no'} zones differ`
  const list = names.length === 0 ? '' : `: ${names.join(', ')}`
  return `the zone data in ${folder} ${shown} the built-in ${builtIn.edition}; within a year ${count}${list}`
}

/** Whether two zones are apart at a minute or at any of their changes in the year after it. */
function differ(a: TimeZone, b: TimeZone, minute: number): boolean {
  const changes = [...a.transitions, ...b.transitions].filter(
    (at) => minute < at && at < minute + yearMinutes,
  )
  return [minute, ...changes].some((at) => offsetAt(a, at) !== offsetAt(b, at))
}

/**
 * Writes a sound copy of the database to a place where nothing is, and tells what it says of itself.
 *
 * @param protection from whom it is kept; null for a copy that is not encrypted
 * @throws Refusal database_unusable, or field_invalid for what is no recipient
 */
export async function backUp(
  { maintenance, keyring }: Records,
  target: string,
  protection: Protection | null,
  act: Act,
  how?: BackingUp,
): Promise<Manifest> {
  return maintenance.backUp(target, protection && (await keyring.protect(protection)), act, how)
}

/** Notes that a backup was tried, and how that ended, and when one was found to be as it should be. */
export async function noteDrill(records: Records, act: Act, isPassed: boolean): Promise<void> {
  if (isPassed) await records.maintenance.noteDrill(act)
  else await noteAct(records, act, 'database.drill', null, 'failed')
}

/** Notes which zone data is served, for the commands beside the server. */
export function noteZoneData({ maintenance }: Records, zones: ZoneEdition): Promise<void> {
  return maintenance.noteZoneData(zones)
}

/** Notes what the server listens on, null once it does no more. It serves as well where that cannot be written. */
export function noteServer({ maintenance }: Records, note: ServerNote | null): Promise<void> {
  return maintenance.noteServer(note).catch(() => {})
}

/**
 * Why nothing may be changed by zone data that is not what the server works with: a slot would be judged by another
 * clock than it is offered by. Null if nothing speaks against it.
 */
export async function refuseOtherZoneData(
  { maintenance }: Records,
  zones: ZoneEdition,
): Promise<Refusal | null> {
  const served = await maintenance.findZoneData()
  if (!served || isSameZoneData(served, zones)) return null
  const way = served.folder === null ? 'leave --zones out' : `give it --zones ${served.folder}`
  const why = `the server works with zone data ${describeZoneData(served)}, this command with ${describeZoneData(zones)}: ${way}`
  return new Refusal('settings_invalid', `${why}, or start the server with the other`)
}

/**
 * What an operator is to be told of other servers of the database, in one line, where they work with other zone data than
 * this one; null where none does.
 */
export async function otherZoneDataNote(
  { maintenance }: Records,
  zones: ZoneEdition,
): Promise<string | null> {
  const servers = await maintenance.listServers()
  const others = servers.flatMap(({ isServing, seenAt, note }) => {
    // One that is seen on its own machine alone is this one.
    const isOther = isServing && seenAt !== null
    return isOther && note?.zoneData && !isSameZoneData(note.zoneData, zones) ? [note] : []
  })
  if (others.length === 0) return null
  const shown = others.map(
    ({ machine, host, port, zoneData }) =>
      `that on ${machine ?? host} port ${port} with ${describeZoneData(zoneData as ZoneEdition)}`,
  )
  const why =
    'until all work with the same, a time that one offers may be refused by another; none is given twice'
  return `servers of this database work with other zone data than ${describeZoneData(zones)}: ${shown.join(', ')}; ${why}`
}

function isSameZoneData(one: ZoneEdition, other: ZoneEdition): boolean {
  return one.edition === other.edition && (other.edition !== 'unknown' || one.folder === other.folder)
}

function describeZoneData({ edition, folder }: ZoneEdition): string {
  return `${edition} (${folder ?? 'built in'})`
}

/** Whether the database is as it should be. @param oldest the age in ms beyond which the last backup is bad; null for any */
export async function checkDatabase(
  { maintenance, clock }: Records,
  oldest: number | null,
  isAll: boolean,
): Promise<Finding[]> {
  const note = await maintenance.findCopyNote()
  const found = await maintenance.check(clock.now(), oldest, isAll)
  return note ? [copyFinding(note), ...found] : found
}

function copyFinding(note: CopyNote): Finding {
  const detail = `${describeCopy(note)}: what is stored since is there, and no server starts with this one`
  return { check: 'copy', state: 'bad', detail, remedy: copyRemedy }
}

/**
 * Makes a change, unless the database was copied. Checks again afterwards: a copy that was made meanwhile may be without the
 * change.
 *
 * @throws Refusal database_unusable
 */
export async function changeActive({ maintenance }: Records, change: () => Promise<void>): Promise<void> {
  requireActive(await maintenance.findCopyNote())
  await change()
  const note = await maintenance.findCopyNote()
  if (!note) return
  const why = `the database was ${describeCopy(note)} while this command ran: check whether that one has the change`
  throw new Refusal('database_unusable', why)
}

/** Has a database that was left for its copy be served again. @throws Refusal record_unknown where it was not */
export function reactivateDatabase({ maintenance }: Records, act: Act): Promise<void> {
  return maintenance.reactivate(act)
}

/** Whether all is as it should be where the database lies. */
export function checkHost({ maintenance }: Records): Promise<Finding[]> {
  return maintenance.checkHost()
}

/** Leaves a line in the audit log of what nothing else does: who has read what, or tried what was refused. */
export function noteAct(
  { store }: Records,
  act: Act,
  action: AuditAction,
  record: string | null,
  outcome = 'done',
): Promise<void> {
  return store.appendAudit([{ ...act, action, record, outcome }])
}

/** Lines of the audit log, at most so many, oldest first. */
export function listAudit({ store }: Records, limit: number, filter: AuditFilter): Promise<AuditLine[]> {
  return store.read(({ audit }) => audit.list(limit, filter))
}

/** Lines that are read at once. */
const linesAtOnce = 1_000

/** Every line of the audit log, oldest first, in a memory that does not grow with it. */
export async function* everyAuditLine(records: Records): AsyncGenerator<AuditLine> {
  let lines = await listAudit(records, linesAtOnce, { after: Number.MIN_SAFE_INTEGER })
  while (lines.length > 0) {
    yield* lines
    lines = await listAudit(records, linesAtOnce, { after: lines.at(-1)?.id })
  }
}

/** The newest line, refused authentications left out. */
export function auditHead({ store }: Records): Promise<AuditHead> {
  return store.read(({ audit }) => audit.head())
}

/** Whether every line is as it was written and none is gone, up to a head noted before if one is given. */
export function verifyAudit({ maintenance }: Records, noted: AuditHead | null): Promise<AuditVerdict> {
  return maintenance.verifyAudit(noted)
}

/**
 * Moves old lines of the audit log to an archive, and tells how many.
 *
 * @throws Refusal field_invalid for an instant to come or if there is another file already, database_unusable if no archive
 *   could be made
 */
export async function pruneAudit({ maintenance }: Records, prune: AuditPrune, act: Act): Promise<number> {
  // A year that is mistyped would take the whole log.
  if (prune.before > act.at) throw new Refusal('field_invalid', '--before: must not be in the future')
  return maintenance.pruneAudit(prune, act)
}

/** Whether an archive of pruned lines is as it was written, and how the log stands to it. */
export function checkArchive(
  { maintenance }: Records,
  path: string,
  noted: AuditHead | null,
): Promise<ArchiveVerdict> {
  return maintenance.checkArchive(path, noted)
}
