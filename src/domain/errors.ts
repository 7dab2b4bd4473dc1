/** What a partner's request can be refused for: X-Error-Code, and in a 401 the contract's code. */
export type PartnerKind =
  | 'https_required'
  | 'authentication_limited'
  | 'token_invalid'
  | 'missing_claim'
  | 'partner_not_found'
  | 'partner_inactive'
  | 'rate_limited'
  | 'overloaded'
  | 'organization_not_configured'
  | 'organization_deactivated'
  | 'path_unknown'
  | 'method_not_allowed'
  | 'media_type_unsupported'
  | 'body_too_large'
  | 'body_malformed'
  | 'field_invalid'
  | 'page_out_of_range'
  | 'region_required'
  | 'region_unknown'
  | 'region_outside_country'
  | 'idempotency_key_reused'
  | 'provider_unknown'
  | 'slot_unavailable'
  | 'slot_already_yours'
  | 'slot_conflicts_with_yours'
  | 'too_many_open_requests'
  | 'member_deactivated'
  | 'member_not_found'
  | 'email_taken'
  | 'email_conflicts_limited'
  | 'storage_busy'
  | 'storage_failed'

/** What only an operator's command can be refused for. */
export type OperatorKind =
  | 'name_taken'
  | 'token_exists'
  | 'record_unknown'
  | 'move_unknown'
  | 'directory_invalid'
  | 'directory_changed'
  | 'too_many_changes'
  | 'database_unusable'
  | 'settings_invalid'
  | 'not_confirmed'

/** Every way in which the service says no, as a closed list: programs act on the kind, people read the message. */
export type Kind = PartnerKind | OperatorKind

/** A request that is refused, for a reason that may be told to whoever made it. It has changed nothing. */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  /**
   * @param message names the field and the fault; never a submitted value, an internal name or a secret
   * @param options the cause, for the log alone, and when it is worth to ask again
   */
  constructor(
    readonly kind: Kind,
    message: string,
    options: RefusalOptions = {},
  ) {
    super(message, options)
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
  }

  /** Null where waiting changes nothing, or nobody can tell how long. */
  readonly retryAfterSeconds: number | null
}

interface RefusalOptions extends ErrorOptions {
  readonly retryAfterSeconds?: number
}

/** A filter of refused authentications. */
export interface RefusalQuery {
  /** ms, inclusive. */
  readonly since: number
  /** How many of the newest lines are counted. */
  readonly most: number
  /** The partner whose key was named; if left out, all of them, and unknown keys too. */
  readonly partnerId?: number | undefined
}

/** Refused authentications of one kind. */
export interface RefusalCount {
  /** The partner whose key was named; null for an unknown key. */
  readonly partnerId: number | null
  /** The kind of the refusal. */
  readonly reason: string
  /** Whether the signature did not verify, so that the caller may not be the partner named. */
  readonly isClaimed: boolean
  /** Lines of the audit log: one a minute for each address and node, however many requests it sent. */
  readonly count: number
  /** ms */
  readonly lastAt: number
}

/** Equal lines of the audit log. */
export interface AlikeLines extends Pick<RefusalCount, 'count' | 'lastAt'> {
  readonly record: string | null
  readonly outcome: string
}

const claimed = ', claimed'

/** Reads counted lines of refused authentications. */
export function countedRefusal({ record, outcome, count, lastAt }: AlikeLines): RefusalCount {
  return {
    partnerId: record === null ? null : Number(record.replace('partner ', '')),
    reason: outcome.replace(claimed, ''),
    isClaimed: outcome.endsWith(claimed),
    count,
    lastAt,
  }
}

/** The edit distance of two words (Damerau): letters left out, added, replaced or swapped with the next. */
export function editDistance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0
  for (let row = 1; row <= one.length; row++) {
    rows[row] = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isExchanged =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      ;(rows[row] as number[])[column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isSame ? 0 : 1),
        isExchanged ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return at(one.length, other.length)
}
