import { asc, desc, eq, gt } from 'drizzle-orm'
import {
  type AuditEntry,
  type AuditHead,
  type AuditLine,
  type AuditVerdict,
  auditHash,
  auditStart,
  verifyLines,
} from '../../src/domain/audit'
import { type Drizzle, placeholders } from './drizzle'
import { audit } from './schema'

/** Lines that are read at once. */
const chunkSize = 1_000

/** The audit log: lines are added, listed and checked, and the database refuses everything else. */
export function auditQueries(db: Drizzle) {
  const { id, record, limit } = placeholders('id', 'record', 'limit')
  const select = () => db.select().from(audit)
  const latest = select().orderBy(desc(audit.id)).limit(limit).prepare()
  const chunkAfter = select().where(gt(audit.id, id)).orderBy(asc(audit.id)).limit(chunkSize).prepare()
  const ofRecord = select().where(eq(audit.record, record)).orderBy(asc(audit.id)).prepare()
  const line = placeholders('id', 'at', 'actor', 'action', 'record', 'outcome', 'hash')
  const insert = db.insert(audit).values(line).prepare()

  function head(): AuditHead {
    const { id, hash } = latest.get({ limit: 1 }) ?? { id: 0, hash: auditStart }
    return { id, hash }
  }

  function* lines(): Generator<AuditLine> {
    let chunk = chunkAfter.all({ id: 0 })
    while (chunk.length > 0) {
      yield* chunk
      chunk = chunkAfter.all({ id: chunk.at(-1)?.id })
    }
  }

  return {
    head,

    append(entry: AuditEntry): void {
      const last = head()
      const line = { ...entry, id: last.id + 1 }
      insert.run({ ...line, hash: auditHash(last.hash, line) })
    },

    list: (limit: number): AuditLine[] => latest.all({ limit }).reverse(),
    listOf: (record: string): AuditLine[] => ofRecord.all({ record }),
    verify: (noted: AuditHead | null): AuditVerdict => verifyLines(lines(), noted),
  }
}
