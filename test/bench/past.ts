import { Database } from 'bun:sqlite'

/** Each provider has one booking an hour. All bookings ended so long ago that the directory does not load their slots. */
const [hourMillis, overMillis, slotMillis] = [3_600_000, 864_000_000, 2_700_000]

// Ascending hashes, so that rows are appended to the index. The hashes are as evenly spread as real hashes.
const hash = (which: number) => `unhex(printf('%016x%048d', i * ($spread / $count), ${which}))`
const numbers = 'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $count)'
const addMembers = `${numbers}
  INSERT INTO members (record_key, partner_id, external_user_id_hash, email_hash, active, sealed_external_user_id,
    sealed_profile, created_at, updated_at)
  SELECT printf('past-%017d', i), (SELECT min(id) FROM partners), ${hash(1)}, ${hash(2)}, 1, zeroblob(60),
    zeroblob(260), $over + i, $over + i FROM n`
const addRequests = `${numbers}, each(i, at) AS (SELECT i, $over - ($most - i % $most) * ${hourMillis} FROM n)
  INSERT INTO booking_requests (record_key, partner_id, member_id, is_intake, state, provider_id, authorization_number, starts_at,
    ends_at, local_offset_minutes, accepted_at, sealed_screening_answers, submitted_at)
  SELECT printf('past-%017d', i), (SELECT min(id) FROM partners),
    (SELECT max(id) FROM members) - $count + 1 + i, 0, 'accepted', 1 + i / $most,
    printf('PAST-%012d', i), at, at + ${slotMillis}, -300, at, zeroblob(200), $over + i FROM each`

/**
 * Adds past accepted bookings to a database that no process has open. Each booking has a new member. The rows have
 * about the size of real rows. Their sealed values are invalid.
 */
export function addPastBookings(path: string, count: number): void {
  if (count === 0) return
  using database = new Database(path, { readwrite: true, create: false })
  // Durability is not needed: an interrupted benchmark discards the database.
  for (const setting of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -524288']) {
    database.run(`PRAGMA ${setting}`)
  }
  const providers = database.query<{ count: number }, []>('SELECT count(*) AS count FROM providers').get()
  const most = Math.ceil(count / (providers?.count ?? 1))
  const over = Date.now() - overMillis - count
  database.query(addMembers).run({ $count: count, $spread: 2n ** 63n - 1n, $over: over })
  database.query(addRequests).run({ $count: count, $most: most, $over: over })
  database.run('PRAGMA journal_mode = WAL')
}
