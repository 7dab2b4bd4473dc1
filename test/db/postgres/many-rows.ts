import { runSql } from '../../support/postgres'

/** The tables that grow with use of the service. `fillTables` fills them. */
export const growing = ['members', 'booking_requests', 'request_notes', 'replays', 'changes', 'audit']

const rows = 100_000
const bytes = (seed: string) => `sha256(('${seed}' || n)::bytea)`
const partner = '(SELECT min(id) FROM partners)'
const providers = 'ARRAY(SELECT id FROM providers ORDER BY id)'
const since = `generate_series(1, ${rows}) AS n`

/**
 * Fills the growing tables with the rows of several years. Few requests are waiting, and few members have a future
 * slot. Then runs ANALYZE.
 */
export async function fillTables(url: string): Promise<void> {
  const fill = [
    `INSERT INTO members SELECT 1000 + n, 'm' || n, ${partner}, ${bytes('e')}, ${bytes('a')}, true, 's', repeat('p', 300)::bytea, n, n FROM ${since}`,
    `INSERT INTO booking_requests SELECT 1000 + n, 'r' || n, 1000 + n / 3 + 1, n % 2 = 0, 'pending', (${providers})[1 + n % 2], 'A' || n,
      n * 3600000::int8, n * 3600000::int8 + 2700000, 0, null, null, repeat('q', 300)::bytea, n,
      null, ${partner}, null FROM ${since}`,
    `INSERT INTO request_positions SELECT 1000 + n, ${partner}, 1000 + n FROM ${since}`,
    `UPDATE booking_requests SET state = 'declined', declined_at = submitted_at WHERE id > 1000 AND id % 7 <> 0`,
    `UPDATE booking_requests SET state = 'accepted', accepted_at = submitted_at WHERE id > 1200 AND state = 'pending'`,
    `UPDATE booking_requests SET state = 'unassigned', provider_id = null, authorization_number = null, starts_at = null, ends_at = null,
      local_offset_minutes = null, accepted_at = null, declined_at = null WHERE id > 100000 AND is_intake`,
    `UPDATE booking_requests SET state = 'cancelled', declined_at = null, cancelled_at = submitted_at WHERE id > 1000 AND id % 31 = 0`,
    `INSERT INTO request_notes SELECT 1000 + n, 'n' || n, 1000 + n, 'note', n, 'olive', repeat('t', 300)::bytea FROM ${since}`,
    `INSERT INTO replays SELECT 1000 + n, ${partner}, ${bytes('k')}, ${bytes('b')}, repeat('r', 300)::bytea, n FROM ${since}`,
    `INSERT INTO changes (noun, record_id) SELECT CASE n % 9 WHEN 0 THEN 'provider' ELSE 'taken' END, 1 FROM ${since}`,
    `INSERT INTO audit SELECT 1000 + n, n, 'partner ' || n % 5, (ARRAY['member.look-up', 'authentication.refuse',
      'member.email-conflict', 'request.read-screening'])[1 + n % 4], 'request ' || n, 'done', encode(${bytes('h')}, 'hex') FROM ${since}`,
  ]
  await runSql(url, [...fill, 'ANALYZE'].join(';'))
}
