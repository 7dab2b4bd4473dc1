/** Refused authentications of one kind. */
export interface RefusalCount {
  /** Whose key was named; null for a key that is nobody's. */
  readonly partnerId: number | null
  /** The kind of the refusal. */
  readonly reason: string
  /** Whether the partner was named and nothing proved it: then it may have been anybody. */
  readonly isClaimed: boolean
  /** Lines of the audit log, one for each address in a minute. */
  readonly lines: number
}

const claimed = ', claimed'

/** Counts lines of refused authentications: by what the log says of each, and how many say so. */
export function countedRefusal(record: string | null, outcome: string, lines: number): RefusalCount {
  const partnerId = record === null ? null : Number(record.replace('partner ', ''))
  return { partnerId, reason: outcome.replace(claimed, ''), isClaimed: outcome.endsWith(claimed), lines }
}
