/** Everything that is written to the audit log, as a closed list. */
export type AuditAction =
  | 'organization.add'
  | 'organization.deactivate'
  | 'organization.reactivate'
  | 'partner.add'
  | 'partner.deactivate'
  | 'partner.reactivate'
  | 'partner.set-organization'
  | 'token.issue'
  | 'token.rotate'
  | 'token.revoke'
  | 'directory.load'
  | 'provider.deactivate'
  | 'provider.reactivate'
  | 'provider.time-off-add'
  | 'provider.time-off-remove'
  | 'request.assign'
  | 'request.accept'
  | 'request.decline'
  | 'request.read-screening'
  | 'member.deactivate'
  | 'member.reactivate'
  | 'member.export'
  | 'member.erase'
  | 'database.back-up'
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

/** What the hash of a line is taken of: the hash of the line before it, and all that the line says. */
export function auditText(previousHash: string, line: Omit<AuditLine, 'hash'>): string {
  return JSON.stringify([previousHash, line.id, line.at, line.actor, line.action, line.record, line.outcome])
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
