import type { Limits } from '../../src/domain/limits'
import { minuteMillis } from '../../src/scheduling/calendar'

// What the contract and the decisions say of partners, members and requests, said again as plainly as can be: lists
// that are looked through from end to end, without a database, a snapshot or a queue.

const [slotMillis, hourMillis, dayMillis] = [45 * minuteMillis, 60 * minuteMillis, 1_440 * minuteMillis]

export interface OracleProvider {
  readonly id: number
  readonly lastName: string
  /** When the slots of each day start, in minutes after midnight UTC. */
  readonly starts: readonly number[]
  active: boolean
}

export interface OraclePartner {
  readonly id: number
  /** A place among the organizations. */
  readonly organization: number
  active: boolean
  /** Null while none is in force. */
  token: string | null
}

export interface OracleMember {
  readonly id: number
  /** A place among the partners. */
  readonly partner: number
  readonly externalUserId: string
  active: boolean
  readonly told: Record<string, string>
  readonly createdAt: number
  updatedAt: number
}

export interface OracleRequest {
  readonly id: number
  /** Null once the person was erased. */
  memberId: number | null
  readonly isIntake: boolean
  state: 'unassigned' | 'pending' | 'accepted' | 'declined'
  providerId: number | null
  authorizationNumber: string | null
  startsAt: number | null
  acceptedAt: number | null
  declinedAt: number | null
  answers: unknown
  readonly submittedAt: number
}

/** What a partner sends to submit something. */
export interface Body {
  readonly user: { readonly external_user_id: string }
  readonly bookingData?: {
    readonly selfSchedulingProviderId: number
    readonly utcStartTime: string
    readonly utcEndTime: string
  }
  readonly memberData: Record<string, string>
  readonly phq9Data: readonly { readonly question: string; readonly answer: string }[]
}

/** What of an answer must be as foretold. */
export interface Told {
  readonly status: number
  readonly code: string | null
  readonly retryAfter: string | null
  readonly body: unknown
}

/** What the service alone can choose, as an answer tells it. */
export interface Chosen {
  readonly id?: unknown
  readonly authorizationNumber?: unknown
  readonly member?: { readonly id?: unknown }
}

const refusals: Readonly<Record<string, readonly [status: number, message: string]>> = {
  token_invalid: [401, 'the token is missing, malformed or not valid'],
  partner_inactive: [401, 'the partner is deactivated'],
  organization_deactivated: [403, "the partner's organization is deactivated"],
  field_invalid: [400, 'memberData.dob: must not be in the future'],
  member_deactivated: [403, 'the member is deactivated'],
  member_not_found: [404, 'external_user_id: no member has this id'],
  provider_unknown: [400, 'bookingData.selfSchedulingProviderId: names no provider who can be booked'],
  slot_unavailable: [400, 'bookingData.utcStartTime: the slot is not available'],
  slot_already_yours: [400, 'bookingData.utcStartTime: the member already holds this slot'],
  slot_conflicts_with_yours: [
    400,
    'bookingData.utcStartTime: the member holds a slot that overlaps with this one',
  ],
  email_taken: [409, 'memberData.email: already belongs to a different member'],
  email_conflicts_limited: [
    429,
    'memberData.email: too many addresses of different members were sent; try again later',
  ],
}

const languageNames: Readonly<Record<string, string>> = {
  en: 'English',
  fr: 'French',
  'fr-CA': 'French (Canada)',
  es: 'Spanish',
}

function refused(code: string, more: { message?: string; retryAfter?: string } = {}): Told {
  const [status, words] = refusals[code] ?? [400, '']
  const message = more.message ?? words
  const body = status === 401 ? { code, message } : { message, status }
  return { status, code, retryAfter: more.retryAfter ?? null, body }
}

const answered = (status: number, body: unknown): Told => ({ status, code: null, retryAfter: null, body })

/** An instant (ms) as a slot's ends are written. */
export const instant = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`

/** All that is known, and what follows from it. */
export class Oracle {
  readonly members: OracleMember[] = []
  readonly requests: OracleRequest[] = []
  /** Who did what to which record, in order. */
  readonly audit: string[] = []
  readonly organizationsActive: boolean[]
  readonly #conflicts: { readonly partner: number; readonly at: number }[] = []
  readonly #idsEver = { member: new Set<unknown>(), request: new Set<unknown>(), number: new Set<unknown>() }

  constructor(
    public now: number,
    readonly partners: OraclePartner[],
    readonly providers: OracleProvider[],
    readonly limits: Pick<Limits, 'openRequests' | 'emailConflicts'>,
  ) {
    this.organizationsActive = partners.map(() => true)
  }

  /** The same once more: what becomes of the one is nothing to the other. */
  copy(): Oracle {
    const { now, partners, providers, limits } = this
    const copy = new Oracle(now, structuredClone(partners), structuredClone(providers), limits)
    copy.organizationsActive.splice(0, Infinity, ...this.organizationsActive)
    copy.members.push(...structuredClone(this.members))
    copy.requests.push(...structuredClone(this.requests))
    copy.audit.push(...this.audit)
    copy.#conflicts.push(...this.#conflicts)
    for (const kind of ['member', 'request', 'number'] as const) {
      for (const id of this.#idsEver[kind]) copy.#idsEver[kind].add(id)
    }
    return copy
  }

  /** Why a token gets no further; null if it does. */
  admit(partner: OraclePartner, token: string): Told | null {
    if (partner.token !== token) return refused('token_invalid')
    if (!partner.active) return refused('partner_inactive')
    return this.organizationsActive[partner.organization] ? null : refused('organization_deactivated')
  }

  lookUp(partner: number, externalUserId: string): Told {
    const member = this.find(partner, externalUserId)
    if (!member) return refused('member_not_found')
    if (!member.active) return refused('member_deactivated')
    const { told } = member
    const code = told.preferredSpokenLanguage ?? 'en'
    return answered(200, {
      id: member.id,
      firstName: told.firstName,
      lastName: told.lastName,
      email: told.email,
      userType: 'member',
      country: told.country,
      preferredSpokenLanguage: languageNames[code],
      preferredSpokenLanguageCode: code,
      externalUserId,
    })
  }

  /** @param chosen what the service has answered: its own choices are taken, if it was free to choose so */
  submit(partner: number, body: Body, chosen: Chosen): Told {
    const refusal = this.#refuse(partner, body)
    if (refusal) return refusal
    const member = this.#tell(partner, body, chosen.member?.id)
    const slot = slotOf(body)
    const request: OracleRequest = {
      id: this.#newId('request', chosen.id),
      memberId: member.id,
      isIntake: slot === null,
      state: slot ? 'pending' : 'unassigned',
      providerId: slot?.providerId ?? null,
      authorizationNumber: slot ? this.#newNumber(chosen.authorizationNumber) : null,
      startsAt: slot?.startsAt ?? null,
      acceptedAt: null,
      declinedAt: null,
      answers: body.phq9Data,
      submittedAt: this.now,
    }
    this.requests.push(request)
    const { id, providerId, authorizationNumber } = request
    return answered(201, {
      id,
      providerId,
      authorizationNumber,
      phoneNumber: member.told.phoneNumber ?? '',
      preferredModality: member.told.preferredModality ?? '',
      acceptedAt: null,
      declinedAt: null,
      member: { id: member.id, firstName: member.told.firstName, email: member.told.email },
      utcStartTime: slot && instant(slot.startsAt),
    })
  }

  /** The order of checks is the decisions'. */
  #refuse(partner: number, body: Body): Told | null {
    const { dob, email = '' } = body.memberData
    if (dob !== undefined && dob > instant(this.now).slice(0, 10)) return refused('field_invalid')
    const member = this.find(partner, body.user.external_user_id)
    if (member && !member.active) return refused('member_deactivated')
    const slot = slotOf(body)
    const refusal = slot && this.#refuseSlot(member, slot.providerId, slot.startsAt)
    return refusal ?? this.#refuseEmail(partner, member, email)
  }

  #refuseSlot(member: OracleMember | undefined, providerId: number, startsAt: number): Told | null {
    const theirs = this.requests.filter((held) => holds(held) && member && held.memberId === member.id)
    if (theirs.some((held) => held.providerId === providerId && held.startsAt === startsAt)) {
      return refused('slot_already_yours')
    }
    if (!this.providers.some(({ id, active }) => id === providerId && active)) {
      return refused('provider_unknown')
    }
    if (!this.isFree(providerId, startsAt)) return refused('slot_unavailable')
    if (theirs.some((held) => overlap(held, startsAt))) return refused('slot_conflicts_with_yours')
    const toCome = theirs.filter((held) => (held.startsAt as number) > this.now)
    const most = this.limits.openRequests ?? Number.POSITIVE_INFINITY
    if (toCome.length < most) return null
    const why = `the member has ${most} open requests with a slot to come, and may have no more`
    return refused('too_many_open_requests', { message: `user.external_user_id: ${why}` })
  }

  #refuseEmail(partner: number, member: OracleMember | undefined, email: string): Told | null {
    if (fold(member?.told.email) === fold(email)) return null
    const most = this.limits.emailConflicts ?? Number.POSITIVE_INFINITY
    const past = this.#conflicts.filter((one) => one.partner === partner && one.at > this.now - hourMillis)
    if (past.length >= most) {
      const freeAt = (past.at(-most)?.at as number) + hourMillis
      return refused('email_conflicts_limited', {
        retryAfter: String(Math.ceil((freeAt - this.now) / 1_000)),
      })
    }
    const owner = this.members.find(({ told }) => fold(told.email) === fold(email))
    if (!owner) return null
    this.#conflicts.push({ partner, at: this.now })
    this.audit.push(
      `partner ${this.partners[partner]?.id} member.email-conflict member ${owner.id} email_taken`,
    )
    return refused('email_taken')
  }

  #tell(partner: number, { user, memberData }: Body, id: unknown): OracleMember {
    const sent = { ...memberData, country: memberData.country?.toUpperCase() as string }
    const known = this.find(partner, user.external_user_id)
    if (known) {
      Object.assign(known.told, sent)
      known.updatedAt = this.now
      return known
    }
    const member = {
      id: this.#newId('member', id),
      partner,
      externalUserId: user.external_user_id,
      active: true,
      told: sent,
      createdAt: this.now,
      updatedAt: this.now,
    }
    this.members.push(member)
    return member
  }

  /** An id that the service was free to choose, or one that no answer has. */
  #newId(kind: 'member' | 'request', id: unknown): number {
    if (!Number.isSafeInteger(id) || this.#idsEver[kind].has(id)) return -1
    this.#idsEver[kind].add(id)
    return id as number
  }

  #newNumber(number: unknown): string {
    if (!/^[0-9A-Z]{4}(-[0-9A-Z]{4}){2}$/.test(String(number)) || this.#idsEver.number.has(number)) return '-'
    this.#idsEver.number.add(number)
    return number as string
  }

  find(partner: number, externalUserId: string): OracleMember | undefined {
    return this.members.find((one) => one.partner === partner && one.externalUserId === externalUserId)
  }

  /** Whether a slot is offered now, a request's own slot counted as free. */
  isFree(providerId: number, startsAt: number, requestId?: number): boolean {
    const provider = this.providers.find(({ id }) => id === providerId)
    const isOnGrid = provider?.starts.includes((startsAt % dayMillis) / minuteMillis)
    const isInHorizon = startsAt >= this.now && startsAt < this.now + 30 * dayMillis
    const isTaken = this.requests.some(
      (held) =>
        held.providerId === providerId && holds(held) && held.id !== requestId && overlap(held, startsAt),
    )
    return Boolean(provider?.active && isOnGrid && isInHorizon && !isTaken)
  }

  /** When the next slot starts that is offered, or that somebody holds; now if there is none. */
  nextStart(of: 'any' | 'held'): number {
    const held = this.requests.filter((request) => holds(request)).map(({ startsAt }) => startsAt as number)
    const starts = of === 'held' ? held : this.providers.flatMap((provider) => this.offered(provider))
    const toCome = starts.filter((startsAt) => startsAt > this.now)
    return toCome.length > 0 ? Math.min(...toCome) : this.now
  }

  /** The starts of the slots that a provider offers, ascending. */
  offered({ id, starts }: OracleProvider): number[] {
    const today = this.now - (this.now % dayMillis)
    return Array.from({ length: 32 }, (_, days) =>
      starts.map((at) => today + days * dayMillis + at * minuteMillis),
    )
      .flat()
      .filter((startsAt) => this.isFree(id, startsAt))
  }

  /** A page of the search in the one region that there is. */
  search(page: number, pageSize: number, url: string): Told {
    const found = this.providers.filter(({ active }) => active)
    const pages = Math.max(1, Math.ceil(found.length / pageSize))
    if (page > pages) return refused('page_out_of_range', { message: 'page: past the last page' })
    const urlOf = (other: number) =>
      other < 1 || other > pages ? null : `${url}?region_id=31&page=${other}&page_size=${pageSize}`
    const results = found.slice((page - 1) * pageSize, page * pageSize).map((provider) => ({
      providerId: provider.id,
      details: detailsOf(provider),
      availability: this.offered(provider).map((startsAt) => ({
        utcStartTime: instant(startsAt),
        utcEndTime: instant(startsAt + slotMillis),
      })),
    }))
    return answered(200, { count: found.length, next: urlOf(page + 1), previous: urlOf(page - 1), results })
  }

  /** Accepts or declines a request. Tells why it cannot be; null if it was. */
  move(id: number, to: 'accepted' | 'declined'): string | null {
    const request = this.requests.find((one) => one.id === id)
    if (!request) return 'record_unknown'
    const isPossible = to === 'accepted' ? request.state === 'pending' : holds(request, false)
    if (!isPossible) return 'move_unknown'
    request.state = to
    request[`${to}At`] = this.now
    return this.#did(`request.${to === 'accepted' ? 'accept' : 'decline'}`, `request ${id}`)
  }

  /** @param number the authorization number that the service chose, where it had to choose one */
  assign(id: number, providerId: number, startsAt: number | null, number: unknown): string | null {
    const request = this.requests.find((one) => one.id === id)
    if (!request) return 'record_unknown'
    if (!request.isIntake || request.memberId === null) return 'move_unknown'
    if (!this.providers.some((one) => one.id === providerId && one.active)) return 'move_unknown'
    if (startsAt !== null) {
      if (!this.isFree(providerId, startsAt, id)) return 'slot_unavailable'
      const others = this.requests.filter((one) => one.id !== id && one.memberId === request.memberId)
      if (others.some((one) => holds(one) && overlap(one, startsAt))) return 'slot_conflicts_with_yours'
    }
    const authorizationNumber = request.authorizationNumber ?? this.#newNumber(number)
    Object.assign(request, { state: 'pending', providerId, startsAt, authorizationNumber })
    Object.assign(request, { acceptedAt: null, declinedAt: null })
    return this.#did('request.assign', `request ${id}`)
  }

  switchMember(id: number, active: boolean): string | null {
    const member = this.members.find((one) => one.id === id)
    if (!member) return 'record_unknown'
    member.active = active
    return this.#did(`member.${active ? 'reactivate' : 'deactivate'}`, `member ${id}`)
  }

  erase(id: number): string | null {
    const at = this.members.findIndex((one) => one.id === id)
    if (at < 0) return 'record_unknown'
    this.members.splice(at, 1)
    for (const request of this.requests.filter((one) => one.memberId === id)) {
      Object.assign(request, { memberId: null, answers: null })
    }
    return this.#did('member.erase', `member ${id}`)
  }

  /** Empties a member's address, so that another member can have it. */
  release(id: number): string | null {
    const member = this.members.find((one) => one.id === id)
    if (!member) return 'record_unknown'
    if (member.told.email === '') return 'move_unknown'
    member.told.email = ''
    member.updatedAt = this.now
    return this.#did('member.release-email', `member ${id}`)
  }

  /** What the operator did to a partner, a provider or an organization. */
  note(action: string, record: string): null {
    return this.#did(action, record)
  }

  #did(action: string, record: string): null {
    this.audit.push(`test ${action} ${record} done`)
    return null
  }
}

export function detailsOf({ lastName }: OracleProvider) {
  return {
    firstName: 'Marlow',
    lastName,
    credentials: null,
    pronouns: null,
    gender: null,
    bio: null,
    timeZone: 'Etc/UTC',
    languagesSpoken: ['en'],
    modalities: ['in-video'],
  }
}

const fold = (email: string | undefined) => email?.toLowerCase()

function holds({ state, startsAt }: OracleRequest, slot = true): boolean {
  return (state === 'pending' || state === 'accepted') && (!slot || startsAt !== null)
}

function overlap(held: OracleRequest, startsAt: number): boolean {
  return Math.abs((held.startsAt as number) - startsAt) < slotMillis
}

function slotOf({ bookingData }: Body) {
  if (!bookingData) return null
  return {
    providerId: bookingData.selfSchedulingProviderId,
    startsAt: Date.parse(bookingData.utcStartTime),
  }
}
