/** So many in so many seconds, at once or one after another. */
export interface Rate {
  readonly most: number
  readonly seconds: number
}

/** So many in a minute. */
export function perMinute(most: number): Rate {
  return { most, seconds: 60 }
}

/** What an operator has set for one partner: so many in a minute, off, or null for what the service is set to. */
export type RateOverride = number | 'off' | null

/** What one partner is held to in place of the service's own limits. */
export interface PartnerRates {
  readonly readsPerMinute: RateOverride
  readonly bookingsPerMinute: RateOverride
}

/** The limit of the service, unless the operator has set another for the partner. */
export function rateFor(rate: Rate | null, override: RateOverride): Rate | null {
  if (override === null) return rate
  return override === 'off' ? null : perMinute(override)
}

/** What one of several nodes holds a caller to, who comes to each of them: its part of the whole, and one call at least. */
export function shareOf(rate: Rate | null, nodes: number): Rate | null {
  if (rate === null || nodes === 1) return rate
  return { ...rate, most: Math.max(1, Math.floor(rate.most / nodes)) }
}

/** What the service holds its callers and itself to; null for no limit. */
export interface Limits {
  /** The nodes that share the callers, and so their rates; what is decided from what is stored holds for all of them. */
  readonly nodes: number
  /** What a partner's reads may cost: a region list or a look-up 1, a search 1 and as much as the providers of its page. */
  readonly reads: Rate | null
  /** What a partner may submit. */
  readonly bookings: Rate | null
  /** Tokens refused from one address. */
  readonly failedAuthentications: Rate | null
  /** The open requests with a slot to come that one member may hold. */
  readonly openRequests: number | null
  /** Addresses of different members that a partner may send in an hour. */
  readonly emailConflicts: number | null
  /** Memory for pages of search that are remembered, in bytes. */
  readonly cachedBytes: number
}

/** Of what is remembered, unless the operator says otherwise. */
export const usualCachedBytes = 128 * 1024 * 1024

/** No limits: for partners' testing, and for commands, which call nothing. */
export const unlimited: Limits = {
  nodes: 1,
  reads: null,
  bookings: null,
  failedAuthentications: null,
  openRequests: null,
  emailConflicts: null,
  cachedBytes: usualCachedBytes,
}
