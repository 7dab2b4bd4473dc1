import type { RefusalCount } from '../domain/errors'
import { keyStateAt } from '../domain/partner'
import type { CopyNote } from '../domain/ports/database-copy'
import type { FoundServer, LastBackups, ServerNote } from '../domain/ports/maintenance'
import { countShiftedBookings } from './check-bookings'
import type { Records } from './context'
import { countRefusalsToday, maxCounted } from './find-records'
import { clockBehind } from './maintenance'
import type { Clocks } from './members'
import { listPartners, partnerNames } from './partners'
import { listUnreadRisk } from './queue'
import { type AddressUse, concernsAbout, listAddresses, listTokens } from './tokens'

/** Up: answers. Unready: answers but cannot store. Silent: a process serves but does not answer. Down: no process. */
export type ServerState = 'up' | 'unready' | 'silent' | 'down'

export type AskServer = (server: ServerNote) => Promise<Exclude<ServerState, 'down'>>

/** A planned token rotation. */
interface Cutover {
  readonly partner: string
  /** ms */
  readonly at: number
}

/** Refused authentications of one kind. `partner` is the owner of the key; null for an unknown key. */
type RefusedBy = Omit<RefusalCount, 'partnerId'> & { readonly partner: string | null }

/** A token in force that staff should look at. */
interface TokenConcern {
  readonly partner: string
  readonly kid: string
  /** For example `older than a year`. */
  readonly concerns: readonly string[]
}

/** The addresses that used tokens in the last 30 days. */
type UsedFrom = Omit<AddressUse, 'partnerId'> & { readonly partner: string }

interface Waiting {
  readonly intakes: number
  /** Submission time of the oldest intake, in ms; null if there is none. */
  readonly oldestIntakeAt: number | null
  readonly pending: number
}

/** Requests at risk, waiting or accepted for a time still to come, with answers that staff have not read. */
export interface UnreadRisk {
  readonly count: number
  /** Submission time of the oldest, in ms; null if there is none. */
  readonly oldestAt: number | null
}

export interface ServerStatus extends Pick<FoundServer, 'note' | 'seenAt'> {
  readonly state: ServerState
}

/** Instants are in ms. */
export interface Status {
  /** The copy that replaces this database; null if there is none. */
  readonly copied: CopyNote | null
  /** Running servers, and servers that ended without removing their note. */
  readonly servers: readonly ServerStatus[]
  readonly waiting: Waiting
  readonly unreadRisk: UnreadRisk
  readonly backups: LastBackups
  readonly nextCutover: Cutover | null
  readonly tokenConcerns: readonly TokenConcern[]
  readonly usedFrom: readonly UsedFrom[]
  /** Refusals of the current UTC day. */
  readonly refused: readonly RefusedBy[]
  /** False if only the newest refusals were counted. */
  readonly isRefusedWhole: boolean
  readonly movedBookings: number
}

/** Returns the state of the service at `now` (ms). Decrypts screening answers only to count requests at risk. */
export async function readStatus(
  records: Records,
  clocks: Clocks,
  ask: AskServer,
  now: number,
): Promise<Status> {
  const { maintenance } = records
  const found = await maintenance.listServers()
  const servers = await Promise.all(found.map((server) => askOne(server, ask)))
  const refused = await refusedToday(records, now)
  return {
    copied: await maintenance.findCopyNote(),
    servers,
    waiting: await countWaiting(records),
    unreadRisk: await measureUnreadRisk(records, now),
    backups: await maintenance.findLastBackups(),
    nextCutover: await findNextCutover(records, now),
    ...(await readTokenUse(records, now)),
    refused,
    isRefusedWhole: refused.reduce((sum, { lines }) => sum + lines, 0) < maxCounted,
    movedBookings: await countShiftedBookings(records, clocks, now),
  }
}

/** Does not connect to a server with heartbeats (`seenAt`): the server may run on another machine. */
async function askOne({ isServing, note, seenAt }: FoundServer, ask: AskServer): Promise<ServerStatus> {
  if (!isServing) return { state: 'down', note, seenAt }
  if (seenAt !== null) return { state: note?.isReady === false ? 'unready' : 'up', note, seenAt }
  return { state: note === null ? 'silent' : await ask(note), note, seenAt }
}

/** Returns the best state of all servers, because a load balancer uses the best server. */
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

async function readTokenUse(
  records: Records,
  now: number,
): Promise<Pick<Status, 'tokenConcerns' | 'usedFrom'>> {
  const partners = await listPartners(records)
  const names = new Map(partners.map(({ id, name }) => [id, name]))
  const nameOf = (id: number) => names.get(id) ?? `partner ${id}`
  const keys = await listTokens(records)
  const uses = await Promise.all(partners.map((partner) => listAddresses(records, now, partner)))
  return {
    tokenConcerns: keys.flatMap((key) => {
      const concerns = concernsAbout(key, now)
      return concerns.length > 0 ? [{ partner: nameOf(key.partnerId), kid: key.kid, concerns }] : []
    }),
    usedFrom: uses
      .flat()
      .sort((one, other) => other.lastAt - one.lastAt)
      .map(({ partnerId, ...use }) => ({ partner: nameOf(partnerId), ...use })),
  }
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

async function measureUnreadRisk(records: Records, now: number): Promise<UnreadRisk> {
  const ids = await listUnreadRisk(records, now)
  const [oldest] = await records.store.read(({ requests }) => requests.findAll(ids.slice(0, 1)))
  return { count: ids.length, oldestAt: oldest?.submittedAt ?? null }
}

/** The values for the metrics. Instants are in ms. */
export interface RecordMeasures extends LastBackups, Pick<Waiting, 'intakes' | 'oldestIntakeAt'> {
  readonly unreadRisk: UnreadRisk
  readonly behindMillis: number
}

/** Returns the times of the last backups, and counts waiting intakes and unread risk. The cost grows only with open requests. */
export async function measureRecords(records: Records): Promise<RecordMeasures> {
  const { store, maintenance, clock } = records
  const { count, oldestAt } = await store.read(({ requests }) =>
    requests.countWaiting({ state: 'unassigned' }),
  )
  const backups = await maintenance.findLastBackups()
  const unreadRisk = await measureUnreadRisk(records, clock.now())
  const behindMillis = await clockBehind(records)
  return { ...backups, intakes: count, oldestIntakeAt: oldestAt, unreadRisk, behindMillis }
}
