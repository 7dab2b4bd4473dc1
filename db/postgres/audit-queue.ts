import type { AuditEntry } from '../../src/domain/audit'
import type { Vault } from '../../src/domain/ports/vault'
import { auditQueries } from '../queries/audit'
import { type Connection, inTransaction } from './client/connection'
import { timeouts } from './client/timeouts'
import { taking } from './locks'
import { queryEngine } from './session'

const linesAtOnce = 500

const takingLines = `DELETE FROM audit_queue WHERE id IN (SELECT id FROM audit_queue ORDER BY id LIMIT ${linesAtOnce})
  RETURNING id, entry`

/** Appends the queued audit lines of submissions to the log. @throws DatabaseFailure */
export async function settleAuditQueue(connection: Connection, vault: Vault): Promise<void> {
  const run = (text: string, params: readonly unknown[]) => connection.run(text, params)
  const { append } = auditQueries(queryEngine(run), vault)
  const first = [`SET LOCAL lock_timeout = ${timeouts.lock}`, taking('audit')]
  while ((await run('SELECT 1 FROM audit_queue LIMIT 1', [])).length > 0) {
    await inTransaction(connection, first, async () => {
      const rows = (await run(takingLines, [])) as [id: string, entry: string][]
      const entries = rows.sort(([one], [other]) => Number(one) - Number(other))
      await append(entries.map(([, entry]): AuditEntry => JSON.parse(entry)))
    })
  }
}
