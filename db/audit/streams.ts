import {
  type AuditAction,
  type AuditFilter,
  type AuditLine,
  type AuditSubject,
  auditActions,
} from '../../src/domain/audit'

/** Lines of one action, and of one actor, about one record, or both: an index has them in the order of time. */
export interface AuditStream extends AuditSubject {
  readonly action: AuditAction
}

/** Whether a filter has more than `after`. */
export function isNarrowed({ after, ...narrowing }: AuditFilter): boolean {
  return Object.values(narrowing).some((value) => value !== undefined)
}

/** The streams of all lines that match a filter. */
export function streamsOf({ actor, record, actions, anyOf = [{}] }: AuditFilter): AuditStream[] {
  return anyOf.flatMap((one) => {
    const isOther = (mine?: string, theirs?: string) =>
      mine !== undefined && theirs !== undefined && mine !== theirs
    if (isOther(actor, one.actor) || isOther(record, one.record)) return []
    const subject = { actor: actor ?? one.actor, record: record ?? one.record }
    // Every index has the action before the instant.
    return (actions ?? auditActions).map((action) => ({ ...subject, action }))
  })
}

/** The members that a stream has. Streams with the same members share a prepared statement. */
export function givenOf(stream: AuditStream): (keyof AuditStream)[] {
  return (['record', 'actor', 'action'] as const).filter((name) => stream[name] !== undefined)
}

/** The range of times of a filter, in ms. @param afterAt the time of the line `after`; undefined if there is none */
export function timesOf({ since, until, after }: AuditFilter, afterAt: number | undefined) {
  const earliest = since ?? Number.MIN_SAFE_INTEGER
  return {
    since: Math.max(earliest, afterAt ?? earliest),
    until: until ?? Number.MAX_SAFE_INTEGER,
    // If the line is gone, the lines of later ids.
    afterAt: afterAt ?? Number.MAX_SAFE_INTEGER,
    after: after ?? 0,
  }
}

/** Lines in the order of time. Ids have another order if the clock was set back. */
export function mergeStreams(
  found: readonly AuditLine[],
  limit: number,
  { after }: AuditFilter,
): AuditLine[] {
  // A line by a partner about itself is in two streams.
  const once = [...new Map(found.map((line) => [line.id, line])).values()]
  const sorted = once.sort((a, b) => a.at - b.at || a.id - b.id)
  return after !== undefined ? sorted.slice(0, limit) : sorted.slice(-limit)
}
