import type { ScreeningAnswer } from '../domain/booking-request'
import { keyStateAt } from '../domain/partner'
import { scoreScreening } from '../domain/screening'
import type { RefusalCount, Waiting } from '../domain/status'
import type { LastBackups, ServerNote } from '../domain/upkeep'
import { dayMinutes, minuteMillis } from '../scheduling/calendar'
import { countMovedBookings } from './check-bookings'
import type { Context, Records } from './context'

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

/** The most requests that are looked at for their ninth item, and lines of refused authentications that are counted. */
const [mostOpened, mostCounted] = [20_000, 100_000]
const openedAtOnce = 1_000
const dayMillis = dayMinutes * minuteMillis

/**
 * How things stand at `now` (ms), in counts alone. The screening answers are opened to be counted, and never shown.
 */
export async function readStatus(context: Context, ask: AskServer, now: number): Promise<Status> {
  const { store, upkeep } = context
  const { isServing, note } = await upkeep.findServer()
  const server = !isServing ? 'down' : note === null ? 'silent' : await ask(note)
  const open = await store.listWaiting(mostOpened)
  const refused = await refusedSince(context, now - (now % dayMillis))
  return {
    server,
    note,
    waiting: await store.countWaiting(),
    unreadRisk: await countUnreadRisk(context, open),
    isRiskWhole: open.length < mostOpened,
    backups: await upkeep.findLastBackups(),
    nextCutover: await findNextCutover(context, now),
    refused,
    isRefusedWhole: refused.reduce((sum, { lines }) => sum + lines, 0) < mostCounted,
    movedBookings: countMovedBookings(context, now),
  }
}

async function countUnreadRisk({ store }: Records, ids: readonly number[]): Promise<number> {
  let unread = 0
  for (let start = 0; start < ids.length; start += openedAtOnce) {
    const some = ids.slice(start, start + openedAtOnce)
    const answers = await store.sortingAnswers(some)
    const raised = some.filter((id) => isRaised(answers.get(id)))
    unread += raised.length - (await store.listLookedAt(raised)).length
  }
  return unread
}

/** @param answers undefined where they cannot be opened: a person has to look at those too */
function isRaised(answers: readonly ScreeningAnswer[] | undefined): boolean {
  if (!answers) return true
  return answers.length > 0 && ['non-zero', 'unclear'].includes(scoreScreening(answers).ninthItem)
}

async function findNextCutover({ store }: Records, now: number): Promise<Cutover | null> {
  const [next] = (await store.listKeys())
    .filter((key) => keyStateAt(key, now) === 'waiting')
    .sort((a, b) => a.startsAt - b.startsAt)
  if (!next) return null
  const partner = (await store.listPartners()).find(({ id }) => id === next.partnerId)
  return { partner: partner?.name ?? `partner ${next.partnerId}`, at: next.startsAt }
}

async function refusedSince({ store }: Records, since: number): Promise<RefusedBy[]> {
  const counts = await store.countRefusals(since, mostCounted)
  if (counts.length === 0) return []
  const names = new Map((await store.listPartners()).map(({ id, name }) => [id, name]))
  return counts.map(({ partnerId, ...count }) => ({
    partner: partnerId === null ? null : (names.get(partnerId) ?? `partner ${partnerId}`),
    ...count,
  }))
}
