import { type RequestedSlot, slotMillis } from '../../src/domain/booking-request'
import type { Connection } from './client/connection'

/** First number of all advisory locks: "Ante" in ASCII. Other programs use other numbers. */
const space = 0x416e7465

/**
 * Advisory locks. A transaction keeps its locks until it ends, and takes the locks in this order:
 * - audit: before it appends to the audit log. Acts of staff thus run one after another.
 * - directory: shared for a submission, in the first message. Exclusive for an act that excludes submissions.
 *   Exclusive for a directory change, in the last message.
 * - members, addresses, keys and slots: see takingNamed.
 * - commit: before it records changes, in the message with COMMIT. Versions are thus in commit order.
 * A transaction that creates or changes tables takes only the lock `migration`.
 */
const locks = { audit: 1, directory: 2, commit: 3, migration: 4 } as const

export type Lock = keyof typeof locks

/** SQL that waits for a lock and holds it until the transaction ends. */
export function taking(lock: Lock): string {
  return `SELECT pg_advisory_xact_lock(${space}, ${locks[lock]})`
}

/** Sends the statement that takes a lock. Does not wait for earlier answers. */
export function take(connection: Connection, lock: Lock): Promise<unknown> {
  return connection.run('SELECT pg_advisory_xact_lock($1::int4, $2::int4)', [space, locks[lock]])
}

/** SQL that waits for a shared lock and holds it until the transaction ends. */
export function sharing(lock: Lock): string {
  return `SELECT pg_advisory_xact_lock_shared(${space}, ${locks[lock]})`
}

/** SQL that locks the hashed names and the slot. The fixed order prevents deadlocks. */
export function takingNamed(hashes: readonly Uint8Array[], slot: RequestedSlot | null): string {
  const names = [...hashes.map((hash) => Buffer.from(hash).readBigInt64BE(0)), ...cellsOf(slot)]
  const sorted = [...new Set(names)].sort((a, b) => (a < b ? -1 : 1))
  return `SELECT pg_advisory_xact_lock(name) FROM unnest('{${sorted.join()}}'::int8[]) AS name`
}

/** Names the parts of a slot. Overlapping slots share a name, so their inserts cannot deadlock. */
function cellsOf(slot: RequestedSlot | null): bigint[] {
  if (!slot || !Number.isSafeInteger(slot.providerId)) return []
  const { providerId, startsAt } = slot
  return [startsAt, startsAt + slotMillis - 1].map((at) =>
    BigInt.asIntN(64, (BigInt(providerId) << 24n) ^ BigInt(Math.floor(at / slotMillis))),
  )
}
