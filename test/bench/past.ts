import { Database } from 'bun:sqlite'

/** Bookings are of a provider each hour, and the newest of these is over for longer than slots stay known. */
const [hourMillis, overMillis, slotMillis] = [3_600_000, 864_000_000, 2_700_000]

// In the order of all indexes, so that each row is put at their ends. Hashes are spread as real ones are.
const hash = (which: number) => `unhex(printf('%016x%048d', i * ($spread / $count), ${which}))`
const numbers = 'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $count)'
const addMembers = `${numbers}
  INSERT INTO members (record_key, partner_id, external_user_id_hash, email_hash, active, sealed_external_user_id,
    sealed_profile, created_at, updated_at)
  SELECT printf('past-%017d', i), (SELECT min(id) FROM partners), ${hash(1)}, ${hash(2)}, 1, zeroblob(60),
    zeroblob(260), $over + i, $over + i FROM n`
const addRequests = `${numbers}, each(i, at) AS (SELECT i, $over - ($most - i % $most) * ${hourMillis} FROM n)
  INSERT INTO booking_requests (record_key, member_id, is_intake, state, provider_id, authorization_number, starts_at,
    ends_at, local_offset_minutes, accepted_at, sealed_screening_answers, submitted_at)
  SELECT printf('past-%017d', i), (SELECT max(id) FROM members) - $count + 1 + i, 0, 'accepted', 1 + i / $most,
    printf('PAST-%012d', i), at, at + ${slotMillis}, -300, at, zeroblob(200), $over + i FROM each`

/**
 * Gives a database that nobody has open bookings of the past, accepted and over, each of a member of its own: as many
 * rows, in all tables and indexes, and about as many bytes as the service would have left. Nobody can open what is
 * sealed in them.
 */
export function addPastBookings(path: string, count: number): void {
  if (count === 0) return
  using database = new Database(path, { readwrite: true, create: false })
  // Where it is killed meanwhile, it is nobody's data.
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
