type CallerKind = 'token_invalid' | 'missing_claim' | 'partner_not_found' | 'partner_inactive'
type OrganizationKind = 'organization_not_configured' | 'organization_deactivated'
type RateKind = 'authentication_limited' | 'rate_limited' | 'overloaded' | 'email_conflicts_limited'

type PathKind = 'https_required' | 'path_unknown' | 'method_not_allowed'
type BodyKind = 'media_type_unsupported' | 'body_too_large' | 'body_malformed' | 'idempotency_key_reused'
type FieldKind = 'field_invalid' | 'page_out_of_range' | 'cursor_invalid'
type RegionKind = 'region_required' | 'region_unknown' | 'region_outside_country'

type MemberKind = 'member_not_found' | 'member_deactivated' | 'email_taken' | 'too_many_open_requests'
type SlotKind = 'provider_unknown' | 'slot_unavailable' | 'slot_already_yours' | 'slot_conflicts_with_yours'
type OwnRequestKind = 'request_not_found' | 'request_changed' | 'request_closed'
type OwnSlotKind = 'request_started' | 'request_without_slot'
type StorageKind = 'storage_busy' | 'storage_failed'

/** The refusals that partners can receive, sent in X-Error-Code. A 401 also sends them as `code` (contract). */
export type PartnerKind =
  | (CallerKind | OrganizationKind | RateKind)
  | (PathKind | BodyKind | FieldKind | RegionKind)
  | (MemberKind | SlotKind | OwnRequestKind | OwnSlotKind | StorageKind)

/** The refusals that only operator commands can receive. */
type StaffKind = 'record_unknown' | 'move_unknown' | 'name_taken' | 'token_exists' | 'operator_unknown'
type LoadKind = 'directory_invalid' | 'directory_changed' | 'too_many_changes'
type SetupKind = 'database_unusable' | 'settings_invalid' | 'not_confirmed'

export type Kind = PartnerKind | StaffKind | LoadKind | SetupKind

/** A refused request. Nothing was changed. The message may be shown to the caller. */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  /** @param fault the field and the fault. Must not contain a submitted value, an internal name or a secret */
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

  /** How long to wait before a retry. Null if waiting does not help, or if the time is unknown. */
  readonly retryAfterSeconds: number | null
  /** The remedy, for example `run anteroom doctor`. Included in the message. */
  readonly action: string | null
  /** Names to suggest. Shown to operators only. */
  readonly candidates: Candidates | null
}

/** Names to suggest to an operator who entered an unknown name. Never contains names of members. */
interface Candidates {
  readonly noun: 'organization' | 'partner' | 'provider'
  /** The unknown name. */
  readonly word: string
  readonly known: readonly string[]
}

/** Splits `fault; action`. Pass only texts without inserted values, because a value may contain a semicolon. */
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
  /** The start of the period in ms, inclusive. */
  readonly since: number
  /** Counts only the newest audit lines, up to this number. */
  readonly most: number
  /** Counts only refusals of this partner's keys. If omitted, counts all refusals. */
  readonly partnerId?: number | undefined
}

export interface RefusalCount {
  /** The partner that owns the token's key; null for an unknown key. */
  readonly partnerId: number | null
  readonly reason: string
  /** True if the signature was not verified. The caller may then be someone other than this partner. */
  readonly isClaimed: boolean
  readonly count: number
  /** The number of audit lines. */
  readonly lines: number
  readonly lastAt: number
}

interface AlikeLines extends Pick<RefusalCount, 'count' | 'lastAt'> {
  readonly record: string | null
  readonly outcome: string
}

const claimed = ', claimed'

/** Sums up lines of one reason and partner, the most frequent first. A line `…, 56 more` counts 56 refusals. */
export function countedRefusals(alike: readonly AlikeLines[]): RefusalCount[] {
  const counts = new Map<string, RefusalCount>()
  for (const { record, outcome: text, count: lines, lastAt } of alike) {
    const [, outcome = text, more = '1'] = /^(.*), (\d+) more$/.exec(text) ?? []
    const known = counts.get(`${record} ${outcome}`)
    counts.set(`${record} ${outcome}`, {
      partnerId: record === null ? null : Number(record.replace('partner ', '')),
      reason: outcome.replace(claimed, ''),
      isClaimed: outcome.endsWith(claimed),
      count: (known?.count ?? 0) + lines * Number(more),
      lines: (known?.lines ?? 0) + lines,
      lastAt: Math.max(known?.lastAt ?? lastAt, lastAt),
    })
  }
  return [...counts.values()].sort((a, b) => b.count - a.count)
}
