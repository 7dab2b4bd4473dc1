/// <reference lib="esnext.disposable" />

/** Starts a sandbox on a free port, with data of its own. It stops at the latest when this process ends. */
export function startSandbox(options?: SandboxOptions): Promise<Sandbox>

export interface SandboxOptions {
  /** The UTC time at which the clock starts, for example `2026-12-01T09:00:00Z`. Default: the present time. */
  readonly now?: string
  /** Starts with a stopped clock. */
  readonly frozen?: boolean
  /** The same text creates the same tokens, ids and numbers at each start. */
  readonly seed?: string
  /** A directory file or its content. Default: a built-in directory with made-up providers. */
  readonly directory?: string | object
  /** Default: no limits. */
  readonly limits?: Limits
}

export interface Limits {
  readonly readsPerMinute?: number
  readonly bookingsPerMinute?: number
  readonly intakesPerHour?: number
  readonly failedAuthenticationsPerMinute?: number
  /** For each member. */
  readonly openRequests?: number
  readonly openIntakes?: number
  readonly emailConflictsPerHour?: number
}

/** Calls that the sandbox refuses reject with a `SandboxError` and change nothing. */
export interface Sandbox extends AsyncDisposable {
  /** For example `http://127.0.0.1:38727`. Paths of the API follow it: `/partners/v1/...`. */
  readonly baseUrl: string
  readonly docsUrl: string
  readonly openapiUrl: string
  /** The routes that the functions of this object call, and the token for them. */
  readonly controlUrl: string
  readonly controlToken: string
  /** The token of the first active partner. */
  readonly token: string
  /** One partner in each state, as at the start. */
  readonly partners: Partners
  /** A free slot and a deactivated member. Updated whenever the clock is set. */
  readonly examples: Examples
  readonly clock: Clock
  /** Restores the starting state: the same ids, numbers and tokens, no outcomes, the clock at its start or at `now`. */
  reset(options?: { readonly now?: string }): Promise<void>
  readonly outcomes: Outcomes
  readonly requests: Requests
  readonly members: Members
  /** Resolves when the sandbox has ended and its data is deleted. */
  stop(): Promise<void>
}

export interface SandboxError extends Error {
  /** The HTTP status: 400, 404, 409. */
  readonly status: number
  /** For example `field_invalid`, `record_unknown` or `move_unknown`. */
  readonly code: string
}

export interface Partner {
  readonly name: string
  readonly state: 'active' | 'partner_inactive' | 'organization_deactivated' | 'no_organization' | 'rotated'
  readonly token: string
  readonly organization: string | null
}

/** The list of partners, with what the operator can do to one. */
export interface Partners extends ReadonlyArray<Partner> {
  deactivate(name: string): Promise<{ name: string; active: boolean }>
  reactivate(name: string): Promise<{ name: string; active: boolean }>
  /** Returns the new token. The old one is valid until `at`, by default until now. */
  rotate(
    name: string,
    options?: { readonly at?: string },
  ): Promise<{ name: string; token: string; startsAt: string }>
}

/** The values are null if there is no free slot. */
export interface Examples {
  readonly deactivatedMember: string
  readonly countryCode: string | null
  readonly regionId: number | null
  readonly providerId: number | null
  readonly utcStartTime: string | null
  readonly utcEndTime: string | null
}

/** Each call resolves when everything that is due by then is done. */
export interface Clock {
  /** @param duration for example `P3D`, `PT90M` or `P1DT2H` */
  advance(duration: string): Promise<ClockState>
  /** @param instant for example `2026-12-01T09:00:00Z`. Not before the present time of the clock */
  to(instant: string): Promise<ClockState>
  freeze(): Promise<ClockState>
  unfreeze(): Promise<ClockState>
}

export interface ClockState {
  readonly now: string
  readonly frozen: boolean
}

export interface Outcomes {
  /** Sets what the next calls get. Returns all outcomes that remain, in order. */
  add(outcome: Outcome): Promise<Outcome[]>
  clear(): Promise<void>
}

export type Outcome = {
  /** An `operationId` of `/openapi.json`, for example `submitBookingRequest`. */
  readonly operation: string
  /** Only the calls of the partner with this name. */
  readonly partner?: string
  /** How many calls, from 1 to 1,000. Default: 1. */
  readonly times?: number
} & (
  | {
      /** An `X-Error-Code`, for example `rate_limited`. */
      readonly code: string
    }
  | {
      /** Milliseconds, up to 60,000. */
      readonly delayMs: number
    }
  | {
      /** Breaks the connection before the call is carried out, or after its change is stored. */
      readonly drop: 'before' | 'after'
    }
)

/** What staff do with a request. Each returns the request as it then is. */
export interface Requests {
  accept(id: number): Promise<BookingRequest>
  decline(id: number): Promise<BookingRequest>
  close(id: number): Promise<BookingRequest>
  cancel(id: number): Promise<BookingRequest>
  /** Without a provider: the best suggestion and its first slot. */
  assign(
    id: number,
    options?: { readonly providerId?: number; readonly utcStartTime?: string },
  ): Promise<BookingRequest>
  /** Without a provider: to another slot of the same one. */
  move(
    id: number,
    options: { readonly utcStartTime: string; readonly providerId?: number },
  ): Promise<BookingRequest>
}

export interface BookingRequest {
  readonly id: number
  readonly state: 'unassigned' | 'pending' | 'accepted' | 'declined' | 'closed' | 'cancelled'
  readonly providerId: number | null
  readonly authorizationNumber: string | null
  readonly utcStartTime: string | null
  readonly acceptedAt: string | null
  readonly declinedAt: string | null
  readonly cancelledAt: string | null
}

/** What staff do with a member, by default of the first active partner. */
export interface Members {
  deactivate(
    externalUserId: string,
    options?: OfPartner,
  ): Promise<{ externalUserId: string; active: boolean }>
  reactivate(
    externalUserId: string,
    options?: OfPartner,
  ): Promise<{ externalUserId: string; active: boolean }>
  erase(externalUserId: string, options?: OfPartner): Promise<{ externalUserId: string; erased: true }>
}

export interface OfPartner {
  /** The partner's name. */
  readonly partner?: string
}
