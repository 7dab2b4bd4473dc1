import type { Offered } from '../../src/domain/ports/database'
import type { MaybePromise } from '../../src/domain/ports/store'

// Words for shell completion. Sealed values are not used, because the master key is not available.

const statements: Readonly<Record<Offered, string>> = {
  organization: 'SELECT name FROM organizations ORDER BY id LIMIT 500',
  partner: 'SELECT name FROM partners ORDER BY id LIMIT 500',
  provider: 'SELECT ref FROM providers WHERE ref >= $1 ORDER BY ref LIMIT 200',
  request: `SELECT id FROM (SELECT id FROM booking_requests WHERE state IN ('unassigned', 'pending') ORDER BY id LIMIT 100)
      AS waiting
    UNION SELECT id FROM (SELECT id FROM booking_requests ORDER BY id DESC LIMIT 100) AS newest ORDER BY id`,
  member: 'SELECT id FROM members ORDER BY id DESC LIMIT 100',
  region: "SELECT country_code || '-' || code FROM regions ORDER BY id LIMIT 500",
}

export async function readOffers(
  run: (statement: string, values: readonly string[]) => MaybePromise<unknown[][]>,
  offered: Offered,
  begin: string,
): Promise<string[]> {
  const rows = await run(statements[offered], offered === 'provider' ? [begin] : [])
  return rows.map(([word]) => String(word)).filter((word) => word.startsWith(begin))
}
