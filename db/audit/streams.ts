import {
  type AuditAction,
  type AuditFilter,
  type AuditLine,
  type AuditSubject,
  auditActions,
} from '../../src/domain/audit'

/** Selects the lines of one action, optionally only those of one actor or one record. */
export interface AuditStream extends AuditSubject {
  readonly action: AuditAction
}

export function isNarrowed({ after, ...narrowing }: AuditFilter): boolean {
  return Object.values(narrowing).some((value) => value !== undefined)
}

export function streamsOf({ actor, record, actions, anyOf = [{}] }: AuditFilter): AuditStream[] {
  return anyOf.flatMap((one) => {
    const isOther = (mine?: string, theirs?: string) =>
      mine !== undefined && theirs !== undefined && mine !== theirs
    if (isOther(actor, one.actor) || isOther(record, one.record)) return []
    const subject = { actor: actor ?? one.actor, record: record ?? one.record }
    // One stream per action, because in every index the action comes before the time.
    return (actions ?? auditActions).map((action) => ({ ...subject, action }))
  })
}

/** Returns the names of the fields that are set. Streams with the same names share a prepared statement. */
export function givenOf(stream: AuditStream): (keyof AuditStream)[] {
  return (['record', 'actor', 'action'] as const).filter((name) => stream[name] !== undefined)
}

/** @param afterAt time of the line `after`, in ms; undefined if there is no such line */
export function timesOf({ since, until, after }: AuditFilter, afterAt: number | undefined) {
  const earliest = since ?? Number.MIN_SAFE_INTEGER
  return {
    since: Math.max(earliest, afterAt ?? earliest),
    until: until ?? Number.MAX_SAFE_INTEGER,
    // If the line `after` was pruned, its time is unknown, so only ids are compared.
    afterAt: afterAt ?? Number.MAX_SAFE_INTEGER,
    after: after ?? 0,
  }
}

/** Merges lines by time, because ids are not in order of time if the clock was set back. */
export function mergeStreams(found: readonly AuditLine[], limit: number, { after }: AuditFilter) {
  // If a partner changes its own record, the line is in two streams.
  const once = [...new Map(found.map((line) => [line.id, line])).values()]
  const sorted = once.sort((a, b) => a.at - b.at || a.id - b.id)
  return after !== undefined ? sorted.slice(0, limit) : sorted.slice(-limit)
}
