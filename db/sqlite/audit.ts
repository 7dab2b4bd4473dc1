import { asc, desc, sql } from 'drizzle-orm'
import {
  type AuditEntry,
  type AuditHead,
  type AuditLine,
  type AuditVerdict,
  auditStart,
  auditText,
} from '../../src/domain/audit'
import type { Drizzle } from './drizzle'
import { audit } from './schema'

/** The audit log: lines are added, listed and checked, and the database refuses everything else. */
export function auditQueries(db: Drizzle) {
  const newest = db.select().from(audit).orderBy(desc(audit.id)).limit(1).prepare()
  const all = db.select().from(audit).orderBy(asc(audit.id)).prepare()
  const latest = db.select().from(audit).orderBy(desc(audit.id)).limit(sql.placeholder('limit')).prepare()

  function head(): AuditHead {
    const { id, hash } = newest.get() ?? { id: 0, hash: auditStart }
    return { id, hash }
  }

  return {
    head,

    append(entry: AuditEntry): void {
      const last = head()
      const line = { ...entry, id: last.id + 1 }
      db.insert(audit)
        .values({ ...line, hash: hashOf(last.hash, line) })
        .run()
    },

    list: (limit: number): AuditLine[] => latest.all({ limit }).reverse(),

    verify(noted: AuditHead | null): AuditVerdict {
      let last: AuditHead = { id: 0, hash: auditStart }
      let isNotedSeen = noted === null || noted.id === 0
      for (const line of all.all()) {
        if (line.id !== last.id + 1) return { intact: false, id: last.id + 1, fault: 'the line is missing' }
        if (line.hash !== hashOf(last.hash, line)) {
          return { intact: false, id: line.id, fault: 'the line is not as it was written' }
        }
        last = line
        if (noted?.id === line.id) {
          if (noted.hash !== line.hash)
            return { intact: false, id: line.id, fault: 'the line is not the one noted' }
          isNotedSeen = true
        }
      }
      if (!isNotedSeen)
        return { intact: false, id: last.id + 1, fault: 'the lines up to the one noted are missing' }
      return { intact: true, head: { id: last.id, hash: last.hash } }
    },
  }
}

function hashOf(previousHash: string, line: Omit<AuditLine, 'hash'>): string {
  return new Bun.CryptoHasher('sha256').update(auditText(previousHash, line)).digest('hex')
}
