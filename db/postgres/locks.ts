import { type RequestedSlot, slotMillis } from '../../src/domain/booking-request'
import type { Connection } from './client/connection'

/** "Ante" in ASCII: separates the locks from those of other programs. */
const space = 0x416e7465

/**
 * Advisory locks, which end with their transaction. Transactions take them in this order:
 * - audit: to append to the audit log; acts of staff thus run one after another
 * - directory: shared by submissions from their first message; exclusive for acts that exclude submissions,
 *   and for directory changes in their last message
 * - members, addresses, keys and slots: see takingNamed
 * - commit: to record changes, in the message that commits; versions are thus in commit order
 * A transaction that creates or changes tables takes only `migration`.
 */
const locks = { audit: 1, directory: 2, commit: 3, migration: 4 } as const

export type Lock = keyof typeof locks

/** SQL that waits for a lock and holds it until the transaction ends. */
export function taking(lock: Lock): string {
  return `SELECT pg_advisory_xact_lock(${space}, ${locks[lock]})`
}

/** Takes a lock after the statements that were sent before. */
export function take(connection: Connection, lock: Lock): Promise<unknown> {
  return connection.run('SELECT pg_advisory_xact_lock($1::int4, $2::int4)', [space, locks[lock]])
}

/** Like `taking`, for a shared lock. */
export function sharing(lock: Lock): string {
  return `SELECT pg_advisory_xact_lock_shared(${space}, ${locks[lock]})`
}

/** Locks by keyed hashes, in a fixed order to prevent deadlocks. A hash collision only causes a wait. */
export function takingNamed(hashes: readonly Uint8Array[], slot: RequestedSlot | null): string {
  const names = [...hashes.map((hash) => Buffer.from(hash).readBigInt64BE(0)), ...cellsOf(slot)]
  const sorted = [...new Set(names)].sort((a, b) => (a < b ? -1 : 1))
  return `SELECT pg_advisory_xact_lock(name) FROM unnest('{${sorted.join()}}'::int8[]) AS name`
}

/** Overlapping slots share a cell. Without a lock, their inserts could deadlock in the exclusion constraint. */
function cellsOf(slot: RequestedSlot | null): bigint[] {
  // No provider can have such an id.
  if (!slot || !Number.isSafeInteger(slot.providerId)) return []
  const { providerId, startsAt } = slot
  return [startsAt, startsAt + slotMillis - 1].map((at) =>
    BigInt.asIntN(64, (BigInt(providerId) << 24n) ^ BigInt(Math.floor(at / slotMillis))),
  )
}
