import type { AuditHead, AuditLine, AuditVerdict } from '../domain/audit'
import type { Records } from './context'

/** The newest lines of the audit log, at most so many and otherwise all, oldest first. */
export function listAudit({ store }: Records, limit = Number.MAX_SAFE_INTEGER): Promise<AuditLine[]> {
  return store.listAudit(limit)
}

/** Where the log stands. */
export function auditHead({ store }: Records): Promise<AuditHead> {
  return store.auditHead()
}

/** Whether every line is as it was written and none is gone, up to a head noted before if one is given. */
export function verifyAudit({ store }: Records, noted: AuditHead | null): Promise<AuditVerdict> {
  return store.verifyAudit(noted)
}
