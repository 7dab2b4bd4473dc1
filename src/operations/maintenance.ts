import type { Act, AuditAction, AuditFilter, AuditHead } from '../domain/audit'
import { decideForgetting, expiredBy } from '../domain/decisions/submission'
import { Refusal } from '../domain/errors'
import { copyRemedy, describeCopy, requireActive } from '../domain/ports/database-copy'
import {
  type AuditPrune,
  type BackingUp,
  finding,
  type Manifest,
  type ServerNote,
} from '../domain/ports/maintenance'
import type { Facts } from '../domain/ports/store'
import { pause, type ZoneData, type ZoneEdition } from '../domain/ports/time'
import type { Protection } from '../domain/ports/vault'
import { dayMinutes, minuteMillis, yearsBefore } from '../scheduling/calendar'
import { offsetAt, type TimeZone } from '../scheduling/time-zone'
import type { Context, Records } from './context'
import { noteReadings } from './notebook'

/** Removes traces of erased data. Returns false if traces remain. The committed erasure is valid in either case. */
export async function tryPurge({ maintenance }: Pick<Records, 'maintenance'>): Promise<boolean> {
  try {
    return await maintenance.purge()
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/**
 * Seals the data key under a new master key. Processes that have the database open continue to work.
 * The path is null if this run only finished an interrupted rotation.
 * @throws Refusal, see Keyring.rotate and Maintenance.rewrap
 */
export async function rotateMasterKey(
  { keyring, maintenance }: Records,
  newKeyFile: string | undefined,
  act: Act,
) {
  const path = keyring.hasRotated
    ? null
    : await keyring.rotate(newKeyFile, (next) => maintenance.rewrap(next, act))
  // The database files no longer have the data key under the old master key.
  return { path, isPurged: await tryPurge({ maintenance }) }
}

const [maxAtOnce, pauseMillis] = [100, 100]

/**
 * Deletes expired replay answers, because they contain personal data. Works in small batches, so that other writers do not
 * wait long. Stops early if `stopping` is aborted. The next start deletes the remaining answers.
 */
export async function forgetReplays(
  { store, maintenance, clock }: Pick<Context, 'store' | 'maintenance' | 'clock'>,
  stopping: AbortSignal,
): Promise<void> {
  const expired = ({ replays }: Facts) => replays.submittedBy(expiredBy(now), maxAtOnce)
  const now = clock.now()
  // Reads without a lock first, because usually there is nothing to delete.
  while (!stopping.aborted && (await store.read(expired)).length > 0) {
    const count = await store.change(null, (facts) => [expired(facts)], decideForgetting)
    if (count < maxAtOnce) break
    await pause(pauseMillis)
  }
  await maintenance.forgetChanges()
}

const yearMinutes = 365 * dayMinutes

/** Compares zones with the built-in data for a year from `now` (ms). Returns the sorted names of zones that differ. */
export function zonesUnlikeBuiltIn({ names, find, builtIn }: ZoneData, now: number): string[] {
  const minute = Math.floor(now / minuteMillis)
  return names.toSorted().filter((name) => {
    const [used, known] = [find(name), builtIn.find(name)]
    return used && known && differ(used, known, minute)
  })
}

/** Returns a one-line warning if the zone data is old or of unknown edition; null otherwise. @param now ms */
export function zoneDataNote(zones: ZoneData, now: number): string | null {
  const { age, folder, edition, builtIn } = zones
  if (age === 'current') return null
  const names = zonesUnlikeBuiltIn(zones, now)
  const shown = age === 'older' ? `is edition ${edition}, older than` : 'does not state its edition, unlike'
  const list = names.length === 0 ? 'none' : names.join(', ')
  return `the zone data in ${folder} ${shown} the built-in ${builtIn.edition}: update it, or leave --zones out. Zones that differ in the next 12 months: ${list}`
}

/** Returns true if two zones differ at `minute`, or at one of their clock changes in the following year. */
function differ(a: TimeZone, b: TimeZone, minute: number): boolean {
  const changes = [...a.transitions, ...b.transitions].filter(
    (at) => minute < at && at < minute + yearMinutes,
  )
  return [minute, ...changes].some((at) => offsetAt(a, at) !== offsetAt(b, at))
}

/**
 * Writes a consistent backup to a new path. Returns its manifest. @param protection null for no encryption
 * @throws Refusal database_unusable, or field_invalid for an invalid recipient
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

/** Stores the note of this server. At shutdown, null removes the note. Ignores write errors. */
export function noteServer({ maintenance }: Records, note: ServerNote | null): Promise<void> {
  return maintenance.noteServer(note).catch(() => {})
}

/** Returns a refusal if server and command use different zone data, because free slots could differ. */
export async function refuseOtherZoneData({ maintenance }: Records, zones: ZoneEdition) {
  const served = await maintenance.findZoneData()
  if (!served || isSameZoneData(served, zones)) return null
  const way = served.folder === null ? 'leave --zones out' : `add --zones ${served.folder}`
  const why = `the server uses zone data ${describeZoneData(served)}, but this command uses ${describeZoneData(zones)}: ${way}`
  return new Refusal('settings_invalid', `${why}, or start the server with the same data`)
}

/** Returns a one-line warning if other servers of the database use different zone data; null otherwise. */
export async function otherZoneDataNote({ maintenance }: Records, zones: ZoneEdition) {
  const others = (await maintenance.listServers()).flatMap(({ isServing, seenAt, note }) => {
    // `seenAt` is null if the engine allows only one server, which is this server.
    if (!isServing || seenAt === null || !note?.zoneData || isSameZoneData(note.zoneData, zones)) return []
    const { machine, host, port, zoneData } = note
    return [`the server on ${machine ?? host} port ${port} uses ${describeZoneData(zoneData)}`]
  })
  if (others.length === 0) return null
  const why =
    'use the same data on all of them. Until then, one server may refuse a slot that another offers; no slot is booked twice'
  return `servers of this database use zone data other than ${describeZoneData(zones)}: ${others.join(', ')}; ${why}`
}

function isSameZoneData(one: ZoneEdition, other: ZoneEdition): boolean {
  return one.edition === other.edition && (other.edition !== 'unknown' || one.folder === other.folder)
}

function describeZoneData({ edition, folder }: ZoneEdition): string {
  return `${edition} (${folder ?? 'built in'})`
}

/** Checks the database. @param oldest the maximum age of the last backup in ms; null for any */
export async function checkDatabase(records: Records, oldest: number | null, isAll: boolean) {
  const { maintenance, clock } = records
  const note = await maintenance.findCopyNote()
  const found = await maintenance.check(clock.now(), oldest, isAll)
  // A log that cannot be read is a finding of its own.
  const behind = behindNote(await clockBehind(records).catch(() => 0))
  const copied = note && `${describeCopy(note)}: the copy has newer data, and servers refuse this database`
  const ofCopy = copied ? [{ ...finding('copy', copied, ''), remedy: copyRemedy }] : []
  return [...ofCopy, ...found, ...(behind ? [finding('clock', behind, '')] : [])]
}

/**
 * Makes a change, unless the database was copied. Checks again afterwards, because a copy made meanwhile may lack the change.
 * @throws Refusal database_unusable
 */
export async function changeActive({ maintenance }: Records, change: () => Promise<void>): Promise<void> {
  requireActive(await maintenance.findCopyNote())
  await change()
  const note = await maintenance.findCopyNote()
  if (!note) return
  const why = `the database was ${describeCopy(note)} while this command ran: check whether the copy has the change`
  throw new Refusal('database_unusable', why)
}

/** Adds an audit line for an act that changes no record: a read, or a refused attempt. */
export function noteAct(
  records: Records,
  act: Act,
  action: AuditAction,
  record: string | null,
  outcome = 'done',
): Promise<void> {
  return noteReadings(records, [{ ...act, action, record, outcome }])
}

/** Returns at most `limit` audit lines, oldest first. */
export function listAudit({ store }: Pick<Records, 'store'>, limit: number, filter: AuditFilter) {
  return store.read(({ audit }) => audit.list(limit, filter))
}

const linesAtOnce = 1_000

/** Yields lines, oldest first. Works in batches, so that other work runs between two of them. */
export async function* matchingLines(records: Pick<Records, 'store'>, filter: AuditFilter) {
  const read = (after: number) => listAudit(records, linesAtOnce, { ...filter, after })
  for (let lines = await read(Number.MIN_SAFE_INTEGER); lines.length > 0; ) {
    yield* lines
    lines = await read(lines.at(-1)?.id as number)
  }
}

/** Returns the newest audit line. Skips refused authentications. */
export function auditHead({ store }: Records): Promise<AuditHead> {
  return store.read(({ audit }) => audit.head())
}

/** In ms. Lines are written meanwhile, and the clocks of nodes differ a little. */
const clockTolerance = 5_000

/** Returns how far this machine's clock is behind the newest audit line, in ms; 0 if it is not. */
export async function clockBehind(records: Records): Promise<number> {
  const now = records.clock.now()
  const [newest] = await listAudit(records, 1, { since: now + clockTolerance })
  return newest ? newest.at - now : 0
}

/** @param millis see clockBehind */
export function behindNote(millis: number): string | null {
  if (millis === 0) return null
  const behind = `the clock is ${Math.ceil(millis / 1_000)} s behind the newest audit line`
  return `${behind}: new tokens are rejected until it has caught up, so set the clock (timedatectl)`
}

/** Compares earlier heads with the log. Heads whose lines were pruned are only counted. */
export async function verifyHeads(records: Records, heads: readonly AuditHead[]) {
  const verdict = await records.maintenance.verifyAudit(null)
  let pruned = 0
  for (const { id, hash } of verdict.intact ? heads : []) {
    if (id === 0) continue
    const [line] = await listAudit(records, 1, { after: id - 1 })
    const fault = line?.id === id ? 'the line differs from the logged head' : 'the line is missing'
    if (!line || (line.id === id && line.hash !== hash))
      return { verdict: { intact: false, id, fault } as const, pruned }
    if (line.id !== id) pruned++
  }
  return { verdict, pruned }
}

/**
 * Acts stay for six years unless forced (45 CFR 164.316).
 * @throws Refusal field_invalid if the lines before this time must stay
 */
export function requirePrunable({ chain, before }: AuditPrune, now: number, isForced = false): void {
  // A mistyped year would remove the whole log.
  if (before > now) throw new Refusal('field_invalid', '--before: must not be in the future')
  if (chain === 'acts' && before > yearsBefore(now, 6) && !isForced) {
    const why = '--before: audit lines younger than 6 years stay in the log'
    throw new Refusal('field_invalid', why, { action: 'use --force if they are not needed here' })
  }
}

/**
 * Moves old audit lines to an archive. Returns their number.
 * @throws Refusal field_invalid for a wrong time or the path of another file, database_unusable if writing fails
 */
export async function pruneAudit({ maintenance }: Records, prune: AuditPrune, act: Act, isForced = false) {
  requirePrunable(prune, act.at, isForced)
  return maintenance.pruneAudit(prune, act)
}
