import type { RefusalCount } from '../domain/errors'
import { keyStateAt } from '../domain/partner'
import type { CopyNote } from '../domain/ports/database-copy'
import type { FoundServer, LastBackups, ServerNote } from '../domain/ports/maintenance'
import { countShiftedBookings } from './check-bookings'
import type { Records } from './context'
import { countRefusalsToday, mostCounted } from './find-records'
import type { Clocks } from './members'
import { partnerNames } from './partners'
import { countUnreadRisk } from './requests'
import { listTokens } from './tokens'

/**
 * Up: it answers. Unready: it answers, and can store nothing. Silent: a process serves the database and does not answer.
 * Down: none does.
 */
export type ServerState = 'up' | 'unready' | 'silent' | 'down'

/** Asks a server how it is. */
export type AskServer = (server: ServerNote) => Promise<Exclude<ServerState, 'down'>>

/** A token that is to take the place of the one in force. */
export interface Cutover {
  readonly partner: string
  /** ms */
  readonly at: number
}

/** Refused authentications of one kind: by the partner whose key was named, null for a key that is nobody's. */
export type RefusedBy = Omit<RefusalCount, 'partnerId'> & { readonly partner: string | null }

/** What waits for staff. */
export interface Waiting {
  /** Intakes without a provider. */
  readonly intakes: number
  /** When the oldest of them was submitted, in ms; null for none. */
  readonly oldestIntakeAt: number | null
  /** Requests whose provider has not accepted. */
  readonly pending: number
}

/** A server of the database. */
export interface ServerStatus extends Pick<FoundServer, 'note' | 'seenAt'> {
  readonly state: ServerState
}

/** How things stand. Instants in ms. */
export interface Status {
  /** Where the database was copied to, to be served there and no more here; null for nowhere. */
  readonly copied: CopyNote | null
  /** Those that serve, and those that ended without taking away what they noted. */
  readonly servers: readonly ServerStatus[]
  readonly waiting: Waiting
  /** Requests that wait and whose ninth item is non-zero or cannot be read, of which nobody has seen it. */
  readonly unreadRisk: number
  /** Whether all that wait were looked at for that, and not the newest alone. */
  readonly isRiskWhole: boolean
  readonly backups: LastBackups
  readonly nextCutover: Cutover | null
  /** Of the day (UTC). */
  readonly refused: readonly RefusedBy[]
  /** Whether all of the day were counted, and not the newest alone. */
  readonly isRefusedWhole: boolean
  readonly movedBookings: number
}

/** The most requests that are looked at for their ninth item. */
const mostOpened = 20_000

/**
 * How things stand at `now` (ms), in counts alone. The screening answers are opened to be counted, and never shown.
 */
export async function readStatus(
  records: Records,
  clocks: Clocks,
  ask: AskServer,
  now: number,
): Promise<Status> {
  const { store, maintenance } = records
  const found = await maintenance.listServers()
  const servers = await Promise.all(found.map((server) => askOne(server, ask)))
  const waiting = await store.read(({ requests }) => requests.listIds({ state: 'waiting' }))
  const refused = await refusedToday(records, now)
  return {
    copied: await maintenance.findCopyNote(),
    servers,
    waiting: await countWaiting(records),
    unreadRisk: await countUnreadRisk(store, waiting.slice(-mostOpened)),
    isRiskWhole: waiting.length <= mostOpened,
    backups: await maintenance.findLastBackups(),
    nextCutover: await findNextCutover(records, now),
    refused,
    isRefusedWhole: refused.reduce((sum, { count }) => sum + count, 0) < mostCounted,
    movedBookings: await countShiftedBookings(records, clocks, now),
  }
}

/** One that the engine sees at work stands on any machine, where it may listen for that one alone. */
async function askOne({ isServing, note, seenAt }: FoundServer, ask: AskServer): Promise<ServerStatus> {
  if (!isServing) return { state: 'down', note, seenAt }
  if (seenAt !== null) return { state: note?.isReady === false ? 'unready' : 'up', note, seenAt }
  return { state: note === null ? 'silent' : await ask(note), note, seenAt }
}

/** How the service is as a whole: as the best of its servers, to which a load balancer leads. */
export function serviceState(servers: readonly ServerStatus[]): ServerState {
  const states = servers.map(({ state }) => state)
  return (['up', 'unready', 'silent'] as const).find((state) => states.includes(state)) ?? 'down'
}

async function countWaiting({ store }: Records): Promise<Waiting> {
  const countOf = (state: 'unassigned' | 'pending') =>
    store.read(({ requests }) => requests.countWaiting({ state }))
  const intakes = await countOf('unassigned')
  const { count: pending } = await countOf('pending')
  return { intakes: intakes.count, oldestIntakeAt: intakes.oldestAt, pending }
}

async function findNextCutover(records: Records, now: number): Promise<Cutover | null> {
  const [next] = (await listTokens(records))
    .filter((key) => keyStateAt(key, now) === 'waiting')
    .sort((a, b) => a.startsAt - b.startsAt)
  if (!next) return null
  const names = await partnerNames(records)
  return { partner: names.get(next.partnerId) ?? `partner ${next.partnerId}`, at: next.startsAt }
}

async function refusedToday(records: Records, now: number): Promise<RefusedBy[]> {
  const counts = await countRefusalsToday(records, now)
  if (counts.length === 0) return []
  const names = await partnerNames(records)
  return counts.map(({ partnerId, ...count }) => ({
    partner: partnerId === null ? null : (names.get(partnerId) ?? `partner ${partnerId}`),
    ...count,
  }))
}

/** What is to be asked of the records to be measured: in counts and instants (ms) alone. */
export interface RecordMeasures extends LastBackups, Pick<Waiting, 'intakes' | 'oldestIntakeAt'> {}

/** How old the last backup is, and what waits for staff: read among what waits, whatever else is stored. */
export async function measureRecords({ store, maintenance }: Records): Promise<RecordMeasures> {
  const { count, oldestAt } = await store.read(({ requests }) =>
    requests.countWaiting({ state: 'unassigned' }),
  )
  return { ...(await maintenance.findLastBackups()), intakes: count, oldestIntakeAt: oldestAt }
}
