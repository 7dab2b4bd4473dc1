import type { AuditHead } from '../audit'

/** A token by its kid, and the name of its partner. */
export interface TokenInForce {
  readonly id: string
  readonly partner: string
}

/** A value of a backup, and of the database that the backup is to replace. */
export interface InBoth<T> {
  readonly backup: T
  readonly replaced: T
}

/** What restoring a backup changes, compared with the database that it replaces. */
export interface RestoreDiff {
  /** The newest acts in the audit logs. They are the same if nothing was done since the backup. */
  readonly heads: InBoth<AuditHead>
  /** Records by table. */
  readonly counts: InBoth<Readonly<Record<string, number>>>
  /** Tokens that were revoked, rotated out or cancelled since. They become valid again. */
  readonly tokens: readonly TokenInForce[]
  /** Members who were deactivated since. They become active again. */
  readonly deactivatedMembers: readonly number[]
  /** Members who were erased since. They are there again. */
  readonly erasedMembers: readonly number[]
}

/** Whether anything was done since the backup. */
export function isAnyUndone({ heads }: RestoreDiff): boolean {
  return heads.backup.hash !== heads.replaced.hash
}
