import type { Offered } from '../../src/domain/database'
import { recognizeFile } from './file/guard'
import { openUntouched } from './file/open-untouched'

// What a shell offers while somebody types: read without the master key, so nothing of it is sealed, and no person's name
// is among it. Each is bounded: whoever types wants a few.

const queries: Readonly<Record<Offered, string>> = {
  organization: 'SELECT name AS word FROM organizations ORDER BY id LIMIT 500',
  partner: 'SELECT name AS word FROM partners ORDER BY id LIMIT 500',
  provider: 'SELECT ref AS word FROM providers WHERE ref >= $begin ORDER BY ref LIMIT 200',
  // Those that somebody has to see to, and the newest of all.
  request: `SELECT word FROM (SELECT id AS word FROM booking_requests WHERE state IN ('unassigned', 'pending') ORDER BY id LIMIT 100)
    UNION SELECT word FROM (SELECT id AS word FROM booking_requests ORDER BY id DESC LIMIT 100)`,
  member: 'SELECT id AS word FROM members ORDER BY id DESC LIMIT 100',
  region: "SELECT country_code || '-' || code AS word FROM regions ORDER BY id LIMIT 500",
}

/**
 * What a word that begins so can become: names, refs or ids. Nothing is made, changed or waited for.
 *
 * @throws Refusal database_unusable, or what SQLite says
 */
export function readOffers(path: string, offered: Offered, begin: string): string[] {
  recognizeFile(path, false)
  const database = openUntouched(path)
  try {
    const query = database.query<{ word: string | number }, Record<string, string>[]>(queries[offered])
    const rows = query.all(...(offered === 'provider' ? [{ $begin: begin }] : []))
    return rows.map(({ word }) => String(word)).filter((word) => word.startsWith(begin))
  } finally {
    database.close()
  }
}
