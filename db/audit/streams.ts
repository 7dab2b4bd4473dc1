import {
  type AuditAction,
  type AuditFilter,
  type AuditLine,
  type AuditSubject,
  auditActions,
} from '../../src/domain/audit'

/**
 * Lines of one action, and of one actor, about one record or both: an index has them in the order of their instants,
 * and no more of them are read than are asked for, however many there are.
 */
export interface AuditStream extends AuditSubject {
  readonly action: AuditAction
}

/** Whether more is asked for than the newest lines, or those behind one. */
export function isNarrowed({ after, ...narrowing }: AuditFilter): boolean {
  return Object.values(narrowing).some((value) => value !== undefined)
}

/** The streams that hold all lines that fit. */
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

/** What is given of a stream, in this order: one statement serves all streams that are alike in it. */
export function givenOf(stream: AuditStream): (keyof AuditStream)[] {
  return (['record', 'actor', 'action'] as const).filter((name) => stream[name] !== undefined)
}

/**
 * Between which instants (ms) lines of a filter are.
 *
 * @param afterAt the instant of the line behind which they are; undefined if it is gone, or there is none
 */
export function timesOf({ since, until, after }: AuditFilter, afterAt: number | undefined) {
  const earliest = since ?? Number.MIN_SAFE_INTEGER
  return {
    since: Math.max(earliest, afterAt ?? earliest),
    until: until ?? Number.MAX_SAFE_INTEGER,
    // Behind a line that is gone are those of later ids.
    afterAt: afterAt ?? Number.MAX_SAFE_INTEGER,
    after: after ?? 0,
  }
}

/**
 * Those asked for of what each stream has of them: in the order of their instants, which that of the ids is but for a
 * clock that was set back and what is noted late.
 */
export function mergeStreams(
  found: readonly AuditLine[],
  limit: number,
  { after }: AuditFilter,
): AuditLine[] {
  // A line by a partner about itself is of two streams.
  const once = [...new Map(found.map((line) => [line.id, line])).values()]
  const sorted = once.sort((a, b) => a.at - b.at || a.id - b.id)
  return after !== undefined ? sorted.slice(0, limit) : sorted.slice(-limit)
}
