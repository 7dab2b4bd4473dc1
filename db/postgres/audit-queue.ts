import type { AuditEntry } from '../../src/domain/audit'
import type { Connection } from './client/connection'

const linesAtOnce = 500

const takingLines = `DELETE FROM audit_queue WHERE id IN (SELECT id FROM audit_queue ORDER BY id LIMIT ${linesAtOnce})
  RETURNING id, entry`

/** Removes the oldest queued audit lines of submissions. Requires a transaction with the audit lock, which appends them. */
export async function takeQueued(connection: Connection): Promise<AuditEntry[]> {
  const rows = (await connection.run(takingLines, [])) as [id: string, entry: string][]
  const inOrder = rows.sort(([one], [other]) => Number(one) - Number(other))
  return inOrder.map(([, entry]) => JSON.parse(entry))
}

export async function hasQueued(connection: Connection): Promise<boolean> {
  return (await connection.run('SELECT 1 FROM audit_queue LIMIT 1', [])).length > 0
}
