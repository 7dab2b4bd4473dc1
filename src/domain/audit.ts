import { createHash } from 'node:crypto'

/** Everything that is written to the audit log, as a closed list. */
export type AuditAction =
  | `organization.${'add' | 'deactivate' | 'reactivate'}`
  | `partner.${'add' | 'deactivate' | 'reactivate' | 'set-organization' | 'set-rates'}`
  | `token.${'issue' | 'rotate' | 'revoke'}`
  | `provider.${'deactivate' | 'reactivate' | 'time-off-add' | 'time-off-remove'}`
  | `request.${'assign' | 'accept' | 'decline' | 'acknowledge' | 'read-screening'}`
  | `member.${'deactivate' | 'reactivate' | 'export' | 'erase' | 'find' | 'email-conflict' | 'release-email'}`
  | 'directory.load'
  | 'database.back-up'
  | 'key.rotate'
  | 'authentication.refuse'

/** Who does a thing, and when: told with each change, since one process serves several people. */
export interface Act {
  readonly actor: string
  /** ms */
  readonly at: number
}

/** One line to be: who did what to which record, and how it ended. Never the value of a field. */
export interface AuditEntry {
  /** ms */
  readonly at: number
  readonly actor: string
  readonly action: AuditAction
  /** As `partner 3`; null where no record is concerned. */
  readonly record: string | null
  readonly outcome: string
}

/** A line of the log, which its hash binds to the line before it. */
export interface AuditLine extends AuditEntry {
  readonly id: number
  /** SHA-256 in hex. */
  readonly hash: string
}

/** The hash of a line: of the hash of the line before it, and of all that the line says. */
export function auditHash(previousHash: string, line: Omit<AuditLine, 'hash'>): string {
  const { id, at, actor, action, record, outcome } = line
  const text = JSON.stringify([previousHash, id, at, actor, action, record, outcome])
  return createHash('sha256').update(text).digest('hex')
}

/** What stands for the hash of the line before the first. */
export const auditStart = '0'.repeat(64)

/** Where the log stands: the last line, by which a cut-off tail is found later. */
export interface AuditHead {
  readonly id: number
  readonly hash: string
}

/** What a check of the log found: the first line that is not as it was written, if there is one. */
export type AuditVerdict =
  | { readonly intact: true; readonly head: AuditHead }
  | { readonly intact: false; readonly id: number; readonly fault: string }

/** Whether lines, from the first on, are as they were written and reach up to a head that was noted before. */
export function verifyLines(lines: Iterable<AuditLine>, noted: AuditHead | null): AuditVerdict {
  const broken = (id: number, fault: string) => ({ intact: false, id, fault }) as const
  let last: AuditHead = { id: 0, hash: auditStart }
  for (const line of lines) {
    if (line.id !== last.id + 1) return broken(last.id + 1, 'the line is missing')
    if (line.hash !== auditHash(last.hash, line)) return broken(line.id, 'the line is not as it was written')
    if (noted?.id === line.id && noted.hash !== line.hash)
      return broken(line.id, 'the line is not the one noted')
    last = { id: line.id, hash: line.hash }
  }
  if (noted && noted.id > last.id) return broken(last.id + 1, 'the lines up to the one noted are missing')
  return { intact: true, head: last }
}
