/** Which refused authentications are asked for. */
export interface RefusalsAsked {
  /** ms, inclusive. */
  readonly since: number
  /** They are counted in so many of the newest lines. */
  readonly most: number
  /** Whose key was named; of all, and of keys that are nobody's, unless given. */
  readonly partnerId?: number | undefined
}

/** Refused authentications of one kind. */
export interface RefusalCount {
  /** Whose key was named; null for a key that is nobody's. */
  readonly partnerId: number | null
  /** The kind of the refusal. */
  readonly reason: string
  /** Whether the partner was named and nothing proved it: then it may have been anybody. */
  readonly isClaimed: boolean
  /** Lines of the audit log: one for each address and node in a minute, however often it asked. */
  readonly count: number
  /** ms */
  readonly lastAt: number
}

/** Lines of the audit log that say the same. */
export interface AlikeLines extends Pick<RefusalCount, 'count' | 'lastAt'> {
  readonly record: string | null
  readonly outcome: string
}

const claimed = ', claimed'

/** Reads lines of refused authentications: by what the log says of each, and how many say so. */
export function countedRefusal({ record, outcome, count, lastAt }: AlikeLines): RefusalCount {
  return {
    partnerId: record === null ? null : Number(record.replace('partner ', '')),
    reason: outcome.replace(claimed, ''),
    isClaimed: outcome.endsWith(claimed),
    count,
    lastAt,
  }
}
