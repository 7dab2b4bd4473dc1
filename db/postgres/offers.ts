import type { Offered } from '../../src/domain/database'
import type { Connection } from './client/connection'

// What a shell offers while somebody types: read without the master key, so nothing of it is sealed, and no person's name
// is among it. Each is bounded: whoever types wants a few.

const queries: Readonly<Record<Offered, string>> = {
  organization: 'SELECT name FROM organizations ORDER BY id LIMIT 500',
  partner: 'SELECT name FROM partners ORDER BY id LIMIT 500',
  provider: 'SELECT ref FROM providers WHERE ref >= $1 ORDER BY ref LIMIT 200',
  // Those that somebody has to see to, and the newest of all.
  request: `(SELECT id FROM booking_requests WHERE state IN ('unassigned', 'pending') ORDER BY id LIMIT 100)
    UNION (SELECT id FROM booking_requests ORDER BY id DESC LIMIT 100) ORDER BY id`,
  member: 'SELECT id FROM members ORDER BY id DESC LIMIT 100',
  region: "SELECT country_code || '-' || code FROM regions ORDER BY id LIMIT 500",
}

/** What a word that begins so can become: names, refs or ids. @throws DatabaseFailure */
export async function readOffers(connection: Connection, offered: Offered, begin: string): Promise<string[]> {
  const rows = await connection.run(queries[offered], offered === 'provider' ? [begin] : [])
  return rows.map(([word]) => String(word)).filter((word) => word.startsWith(begin))
}
