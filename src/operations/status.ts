import { keyStateAt } from '../domain/partner'
import type { RefusalCount } from '../domain/refusal-count'
import type { LastBackups, ServerNote } from '../domain/upkeep'
import { countMovedBookings } from './check-bookings'
import type { Context, Records } from './context'
import { partnerNames } from './partners'
import { countRefusalsToday, mostCounted } from './refusals'
import { countUnreadRisk } from './request-risk'

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

/** How things stand. Instants in ms. */
export interface Status {
  readonly server: ServerState
  /** What the server noted that serves, or one that ended without taking that away. */
  readonly note: ServerNote | null
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
export async function readStatus(context: Context, ask: AskServer, now: number): Promise<Status> {
  const { store, upkeep } = context
  const { isServing, note } = await upkeep.findServer()
  const server = !isServing ? 'down' : note === null ? 'silent' : await ask(note)
  const waiting = await store.listRequestIds({ state: 'waiting' })
  const refused = await refusedToday(context, now)
  return {
    server,
    note,
    waiting: await countWaiting(context),
    unreadRisk: await countUnreadRisk(store, waiting.slice(-mostOpened)),
    isRiskWhole: waiting.length <= mostOpened,
    backups: await upkeep.findLastBackups(),
    nextCutover: await findNextCutover(context, now),
    refused,
    isRefusedWhole: refused.reduce((sum, { count }) => sum + count, 0) < mostCounted,
    movedBookings: countMovedBookings(context, now),
  }
}

async function countWaiting({ store }: Records): Promise<Waiting> {
  const intakes = await store.countRequests({ state: 'unassigned' })
  const { count: pending } = await store.countRequests({ state: 'pending' })
  return { intakes: intakes.count, oldestIntakeAt: intakes.oldestWaitingAt, pending }
}

async function findNextCutover(records: Records, now: number): Promise<Cutover | null> {
  const [next] = (await records.store.listKeys())
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
