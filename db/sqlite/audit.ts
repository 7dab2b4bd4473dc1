import { and, asc, desc, eq, gt, sql } from 'drizzle-orm'
import {
  type AuditEntry,
  type AuditHead,
  type AuditLine,
  type AuditVerdict,
  auditHash,
  auditStart,
  verifyLines,
} from '../../src/domain/audit'
import type { conflictAsked } from '../../src/domain/decide-submission'
import { type Drizzle, placeholders } from './drizzle'
import { audit } from './schema'

/** Lines that are read at once. */
const chunkSize = 1_000

/** The audit log: lines are added, listed and checked, and the database refuses everything else. */
export function auditQueries(db: Drizzle) {
  const { id, record, limit, ...open } = placeholders('id', 'record', 'limit', 'actor', 'after', 'offset')
  const select = () => db.select().from(audit)
  const latest = select().orderBy(desc(audit.id)).limit(limit).prepare()
  const chunkAfter = select().where(gt(audit.id, id)).orderBy(asc(audit.id)).limit(chunkSize).prepare()
  const ofRecord = select().where(eq(audit.record, record)).orderBy(asc(audit.id)).prepare()
  // In words, as the partial index has it.
  const isConflict = sql`${audit.action} = 'member.email-conflict'`
  const conflict = db
    .select({ at: audit.at })
    .from(audit)
    .where(and(isConflict, eq(audit.actor, open.actor), gt(audit.at, open.after)))
    .orderBy(desc(audit.at))
    .limit(1)
    .offset(open.offset)
    .prepare()
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

    /** When a conflict over an e-mail address was, in ms; null if there is none so many back. */
    conflictAt: ({ actor, after, back }: ReturnType<typeof conflictAsked>): number | null =>
      conflict.get({ actor, after, offset: back - 1 })?.at ?? null,

    list: (limit: number): AuditLine[] => latest.all({ limit }).reverse(),
    listOf: (record: string): AuditLine[] => ofRecord.all({ record }),
    verify: (noted: AuditHead | null): AuditVerdict => verifyLines(lines(), noted),
  }
}
