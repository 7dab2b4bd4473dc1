import { keyStateAt } from '../domain/partner'
import type { FoundServer, ServerNote } from '../domain/ports/maintenance'
import { countShiftedBookings } from './check-bookings'
import type { Context, Records } from './context'
import { countRefusalsToday, maxCounted } from './find-records'
import { clockBehind } from './maintenance'
import type { Clocks } from './members'
import { listEmailConflicts, listPartners } from './partners'
import { listUnreadRisk } from './queue'
import { concernsAbout, listAddresses, listTokens } from './tokens'

/** Up: answers. Unready: answers but cannot store. Silent: a process serves but does not answer. Down: no process. */
export type ServerState = 'up' | 'unready' | 'silent' | 'down'

export type AskServer = (server: ServerNote) => Promise<Exclude<ServerState, 'down'>>

/** Instants are in ms. */
export type Status = Awaited<ReturnType<typeof readStatus>>

/** Returns the state of the service at `now` (ms). Decrypts screening answers only to count requests at risk. */
export async function readStatus(
  records: Records,
  clocks: Clocks,
  ask: AskServer,
  now: number,
  conflictLimit: number | null,
) {
  const { store, maintenance } = records
  const partners = await listPartners(records)
  const names = new Map(partners.map(({ id, name }) => [id, name]))
  const nameOf = (id: number) => names.get(id) ?? `partner ${id}`
  const keys = await listTokens(records)
  const [next] = keys
    .filter((key) => keyStateAt(key, now) === 'waiting')
    .sort((a, b) => a.startsAt - b.startsAt)
  const uses = await Promise.all(partners.map((partner) => listAddresses(records, now, partner)))
  const refused = await countRefusalsToday(records, now)
  const pending = await store.read(({ requests }) => requests.countWaiting({ state: 'pending' }))
  return {
    /** The copy that replaces this database; null if there is none. */
    copied: await maintenance.findCopyNote(),
    /** Running servers, and servers that ended without removing their note. */
    servers: await Promise.all((await maintenance.listServers()).map((server) => askOne(server, ask))),
    waiting: { ...(await countIntakes(records)), pending: pending.count },
    unreadRisk: await measureUnreadRisk(records, now),
    backups: await maintenance.findLastBackups(),
    nextCutover: next ? { partner: nameOf(next.partnerId), at: next.startsAt } : null,
    tokenConcerns: keys.flatMap((key) => {
      const concerns = concernsAbout(key, now)
      return concerns.length > 0 ? [{ partner: nameOf(key.partnerId), kid: key.kid, concerns }] : []
    }),
    /** The addresses that used tokens in the last 30 days. */
    usedFrom: uses
      .flat()
      .sort((one, other) => other.lastAt - one.lastAt)
      .map(({ partnerId, ...use }) => ({ partner: nameOf(partnerId), ...use })),
    /** Refusals of the current UTC day. `partner` is the owner of the key; null for an unknown key. */
    refused: refused.map(({ partnerId, ...count }) => {
      return { partner: partnerId === null ? null : nameOf(partnerId), ...count }
    }),
    /** False if only the newest refusals were counted. */
    isRefusedWhole: refused.reduce((sum, { lines }) => sum + lines, 0) < maxCounted,
    emailConflicts: await listEmailConflicts(records, conflictLimit, now),
    movedBookings: await countShiftedBookings(records, clocks, now),
    /** False if a record differs from the audit log. */
    isTraced: (await maintenance.checkRecords(now)).state === 'ok',
  }
}

export interface ServerStatus extends Pick<FoundServer, 'note' | 'seenAt'> {
  readonly state: ServerState
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

/** Submission times are in ms; null if there is no such request. */
async function countIntakes({ store }: Records) {
  const { count, oldestAt } = await store.read(({ requests }) =>
    requests.countWaiting({ state: 'unassigned' }),
  )
  return { intakes: count, oldestIntakeAt: oldestAt }
}

/** Requests at risk, waiting or accepted for a time still to come, with answers that staff have not read. */
async function measureUnreadRisk(records: Records, now: number) {
  const ids = await listUnreadRisk(records, now)
  const [oldest] = await records.store.read(({ requests }) => requests.findAll(ids.slice(0, 1)))
  return { count: ids.length, oldestAt: oldest?.submittedAt ?? null }
}

/** The values for the metrics. Instants are in ms. */
export type RecordMeasures = Awaited<ReturnType<typeof measureRecords>>

/** Returns the times of the last backups, and counts people who wait. The cost does not grow with history. */
export async function measureRecords(records: Records & Pick<Context, 'limits'>) {
  return {
    ...(await records.maintenance.findLastBackups()),
    ...(await countIntakes(records)),
    unreadRisk: await measureUnreadRisk(records, records.clock.now()),
    emailConflicts: await listEmailConflicts(records, records.limits.emailConflicts, records.clock.now()),
    behindMillis: await clockBehind(records),
  }
}
