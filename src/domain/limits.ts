export interface Rate {
  readonly most: number
  readonly seconds: number
}

export function perMinute(most: number): Rate {
  return { most, seconds: 60 }
}

/** A fifth of the hour's quota may come at once. */
export function perHour(quota: number): Rate {
  const most = Math.max(1, Math.round(quota / 5))
  return { most, seconds: Math.ceil((3600 * most) / quota) }
}

/** A partner's own limit. `off` removes the limit; null applies the service's limit. */
export type RateOverride = number | 'off' | null

export const noRates = {
  readsPerMinute: null,
  bookingsPerMinute: null,
  intakesPerHour: null,
  emailConflictsPerHour: null,
}

export type PartnerRates = Readonly<Record<keyof typeof noRates, RateOverride>>

/** For example `reads 60, bookings default per minute, intakes default, e-mail conflicts default per hour`. */
export function ratesText(rates: PartnerRates): string {
  const of = (name: keyof PartnerRates) => rates[name] ?? 'default'
  const perMinute = `reads ${of('readsPerMinute')}, bookings ${of('bookingsPerMinute')} per minute`
  return `${perMinute}, intakes ${of('intakesPerHour')}, e-mail conflicts ${of('emailConflictsPerHour')} per hour`
}

/** Returns the partner's own limit if there is one, otherwise the limit of the service. */
export function limitFor<T>(usual: T | null, override: RateOverride, of: (most: number) => T): T | null {
  if (override === null) return usual
  return override === 'off' ? null : of(override)
}

/** Returns the share of one node in a rate for all nodes. The share is at least 1. */
export function shareOf(rate: Rate | null, nodes: number): Rate | null {
  if (rate === null || nodes === 1) return rate
  return { ...rate, most: Math.max(1, Math.floor(rate.most / nodes)) }
}

/** The limits of the service. Null means no limit. */
export interface Limits {
  /** The number of nodes. Each rate is divided among the nodes. Limits on stored records are not divided. */
  readonly nodes: number
  /** Reads per partner. A region list or a look-up costs 1. A search costs 1, plus 1 per provider on the page. */
  readonly reads: Rate | null
  readonly bookings: Rate | null
  readonly intakes: Rate | null
  readonly failedAuthentications: Rate | null
  /** The maximum number of open requests per member. Only requests with a future slot count. */
  readonly openRequests: number | null
  readonly openIntakes: number | null
  /** E-mail conflicts per partner and hour. A conflict is a submission with the address of another member. */
  readonly emailConflicts: number | null
  readonly cachedBytes: number
}

const usualCachedBytes = 128 * 1024 * 1024

/** For the sandbox and for commands. */
export const unlimited: Limits = {
  nodes: 1,
  reads: null,
  bookings: null,
  intakes: null,
  failedAuthentications: null,
  openRequests: null,
  openIntakes: null,
  emailConflicts: null,
  cachedBytes: usualCachedBytes,
}
