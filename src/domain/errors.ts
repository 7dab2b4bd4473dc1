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
