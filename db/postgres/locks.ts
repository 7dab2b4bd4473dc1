import { type RequestedSlot, slotMillis } from '../../src/domain/booking-request'
import type { Connection } from './client/connection'

/** The first half of each lock's name, by which those of other programs on the same database are told apart: "Ante". */
const space = 0x416e7465

/**
 * What transactions lock, in the order in which they take them (advisory locks, which end with their transaction).
 *
 * - audit: whoever appends to the audit log, and so every act of staff, one after another
 * - directory: shared by submissions from their first message on; exclusive for an act during which no submission may run, and
 *   for what changes the directory, then in its last message
 * - people, addresses, keys and slots: see below
 * - commit: whoever records changes, in the message that commits, so that versions are in the order of commits
 *
 * Whoever makes or changes tables takes that of migration, and none of the others.
 */
const locks = { audit: 1, directory: 2, commit: 3, migration: 4 } as const

export type Lock = keyof typeof locks

/** The statement that waits for a lock and takes it, for the rest of the transaction. */
export function taking(lock: Lock): string {
  return `SELECT pg_advisory_xact_lock(${space}, ${locks[lock]})`
}

/** Waits for a lock and takes it, behind the statements that were run before. */
export function take(connection: Connection, lock: Lock): Promise<unknown> {
  return connection.run('SELECT pg_advisory_xact_lock($1::int4, $2::int4)', [space, locks[lock]])
}

/** The same of a lock that others may hold too. */
export function sharing(lock: Lock): string {
  return `SELECT pg_advisory_xact_lock_shared(${space}, ${locks[lock]})`
}

/**
 * The statement that takes the locks of people, addresses, keys (by their keyed hashes) and of a slot: in one order, so that no
 * two transactions wait for each other. Two that share a lock by chance only wait for one another.
 */
export function takingNamed(hashes: readonly Uint8Array[], slot: RequestedSlot | null): string {
  const names = [...hashes.map((hash) => Buffer.from(hash).readBigInt64BE(0)), ...cellsOf(slot)]
  const sorted = [...new Set(names)].sort((a, b) => (a < b ? -1 : 1))
  return `SELECT pg_advisory_xact_lock(name) FROM unnest('{${sorted.join()}}'::int8[]) AS name`
}

/**
 * The cells of a provider's time, each as long as a slot, that a slot touches: slots that overlap have one in common. Without
 * these locks two inserts of overlapping slots would deadlock in the exclusion constraint.
 */
function cellsOf(slot: RequestedSlot | null): bigint[] {
  // An id that no provider can have.
  if (!slot || !Number.isSafeInteger(slot.providerId)) return []
  const { providerId, startsAt } = slot
  return [startsAt, startsAt + slotMillis - 1].map((at) =>
    BigInt.asIntN(64, (BigInt(providerId) << 24n) ^ BigInt(Math.floor(at / slotMillis))),
  )
}
