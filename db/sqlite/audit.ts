import { asc, desc, eq, gt, sql } from 'drizzle-orm'
import {
  type AuditEntry,
  type AuditHead,
  type AuditLine,
  type AuditVerdict,
  auditHash,
  auditStart,
  verifyLines,
} from '../../src/domain/audit'
import type { Drizzle } from './drizzle'
import { audit } from './schema'

/** Lines that are read at once. */
const chunkSize = 1_000

/** The audit log: lines are added, listed and checked, and the database refuses everything else. */
export function auditQueries(db: Drizzle) {
  const latest = db.select().from(audit).orderBy(desc(audit.id)).limit(sql.placeholder('limit')).prepare()
  const chunkAfter = db
    .select()
    .from(audit)
    .where(gt(audit.id, sql.placeholder('id')))
    .orderBy(asc(audit.id))
    .limit(chunkSize)
    .prepare()
  const ofRecord = db
    .select()
    .from(audit)
    .where(eq(audit.record, sql.placeholder('record')))
    .orderBy(asc(audit.id))
    .prepare()
  const insert = db
    .insert(audit)
    .values({
      id: sql.placeholder('id'),
      at: sql.placeholder('at'),
      actor: sql.placeholder('actor'),
      action: sql.placeholder('action'),
      record: sql.placeholder('record'),
      outcome: sql.placeholder('outcome'),
      hash: sql.placeholder('hash'),
    })
    .prepare()

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
