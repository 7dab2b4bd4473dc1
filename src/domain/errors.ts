/** The refusals that partners can receive. Sent in X-Error-Code, and in a 401 also as the contract's `code`. */
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

/** The refusals that only operator commands can receive. */
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

export type Kind = PartnerKind | OperatorKind

/** A refused request. It has changed nothing, and its message may be shown to the caller. */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  /** @param fault names the field and the fault, never a submitted value, an internal name or a secret */
  constructor(
    readonly kind: Kind,
    readonly fault: string,
    options: RefusalOptions = {},
  ) {
    super(options.action ? `${fault}; ${options.action}` : fault, options)
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
    this.action = options.action ?? null
    this.candidates = options.candidates ?? null
  }

  /** Null if waiting does not help, or if the time is unknown. */
  readonly retryAfterSeconds: number | null
  /** What helps against the fault, for example `run anteroom doctor`. Part of the message. */
  readonly action: string | null
  /** Shown to operators only. */
  readonly candidates: Candidates | null
}

/** The names that an operator may have meant. Never names of members. */
export interface Candidates {
  readonly noun: 'organization' | 'partner' | 'provider'
  /** The unknown name. */
  readonly word: string
  readonly known: readonly string[]
}

/** Splits `fault; action`. Only for texts without inserted values, because a value may contain a semicolon. */
export function splitAction(text: string): [fault: string, options: { action?: string }] {
  const [fault = '', action] = text.split('; ', 2)
  return [fault, action === undefined ? {} : { action }]
}

interface RefusalOptions extends ErrorOptions {
  readonly retryAfterSeconds?: number
  readonly action?: string | null | undefined
  readonly candidates?: Candidates
}

export interface RefusalQuery {
  /** ms, inclusive. */
  readonly since: number
  /** The number of newest audit lines to count. */
  readonly most: number
  /** The partner named by the token's key. If omitted, all partners and unknown keys. */
  readonly partnerId?: number | undefined
}

export interface RefusalCount {
  /** The partner named by the token's key; null for an unknown key. */
  readonly partnerId: number | null
  readonly reason: string
  /** True if the signature was not verified, so that the caller may be someone other than this partner. */
  readonly isClaimed: boolean
  /** The number of audit lines. Each node writes at most one a minute for an address, so there may be more refusals. */
  readonly count: number
  readonly lastAt: number
}

export interface AlikeLines extends Pick<RefusalCount, 'count' | 'lastAt'> {
  readonly record: string | null
  readonly outcome: string
}

const claimed = ', claimed'

export function countedRefusal({ record, outcome, count, lastAt }: AlikeLines): RefusalCount {
  return {
    partnerId: record === null ? null : Number(record.replace('partner ', '')),
    reason: outcome.replace(claimed, ''),
    isClaimed: outcome.endsWith(claimed),
    count,
    lastAt,
  }
}
