import type { DirectoryFile } from '../../src/directory-files/document'
import type { RequestState } from '../../src/domain/booking-request'
import type { DirectoryLoad } from '../../src/domain/decisions/compare-directory'
import type { Limits } from '../../src/domain/limits'
import { answered, type PartnerAnswer, refused } from './oracle-answers'
import {
  type Absence,
  absencesOf,
  isWorking,
  type KnownProvider,
  type KnownRegion,
  OracleDirectory,
  slotMillis,
} from './oracle-directory'
import { dayMillis, hourMillis, instant } from './wall-clock'

// A simple model of partners, members and requests, written from the contract and docs/architecture.md. The model uses
// plain lists instead of a database, snapshots and queues.

export interface OracleKey {
  readonly token: string
  /** The token is valid in [from, until), in ms. */
  readonly from: number
  until: number
}

export interface OraclePartner {
  readonly id: number
  organization: number | null
  active: boolean
  readonly keys: OracleKey[]
}

export interface OracleMember {
  readonly id: number
  readonly partner: number
  readonly externalUserId: string
  active: boolean
  readonly profile: Record<string, string>
  readonly createdAt: number
  updatedAt: number
}

export interface OracleRequest {
  readonly id: number
  memberId: number | null
  readonly isIntake: boolean
  state: RequestState
  providerId: number | null
  authorizationNumber: string | null
  startsAt: number | null
  /** The provider's UTC offset (minutes) at startsAt, as computed when the slot was booked. */
  localOffsetMinutes: number | null
  acceptedAt: number | null
  declinedAt: number | null
  cancelledAt: number | null
  answers: readonly unknown[] | null
  readonly submittedAt: number
  readonly partner: number
}

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

export interface Keyed {
  readonly key: string
  readonly text: string
}

interface KeptAnswer extends Keyed {
  readonly partner: number
  readonly memberId: number
  readonly answer: PartnerAnswer
  readonly at: number
}

/** Ids and numbers that the service chose, taken from its response. */
export interface Chosen {
  readonly id?: unknown
  readonly authorizationNumber?: unknown
  readonly member?: { readonly id?: unknown }
}

const keptMillis = dayMillis

const languageNames: Readonly<Record<string, string>> = {
  en: 'English',
  fr: 'French',
  'fr-CA': 'French (Canada)',
  es: 'Spanish',
}

export class Oracle {
  readonly members: OracleMember[] = []
  readonly requests: OracleRequest[] = []
  /** The audit lines, oldest first. Each line consists of actor, action, record and outcome. */
  readonly audit: string[] = []
  #kept: KeptAnswer[] = []
  readonly #conflicts: { readonly partner: number; readonly at: number }[] = []
  readonly #idsEver = { member: new Set<unknown>(), request: new Set<unknown>(), number: new Set<unknown>() }

  constructor(
    public now: number,
    readonly partners: OraclePartner[],
    readonly organizations: { readonly id: number; active: boolean }[],
    readonly limits: Pick<Limits, 'openRequests' | 'emailConflicts'>,
    readonly directory = new OracleDirectory(),
  ) {}

  copy(): Oracle {
    const { now, limits } = this
    const copy = new Oracle(now, structuredClone(this.partners), structuredClone(this.organizations), limits)
    copy.directory.regions.push(...structuredClone(this.directory.regions))
    copy.directory.providers.push(...structuredClone(this.directory.providers))
    copy.members.push(...structuredClone(this.members))
    copy.requests.push(...structuredClone(this.requests))
    copy.audit.push(...this.audit)
    copy.#kept.push(...this.#kept)
    copy.#conflicts.push(...this.#conflicts)
    for (const kind of ['member', 'request', 'number'] as const) {
      for (const id of this.#idsEver[kind]) copy.#idsEver[kind].add(id)
    }
    return copy
  }

  /** Returns null if the partner's token is accepted, or the refusal. */
  admit({ keys, active, organization }: OraclePartner, token: string): PartnerAnswer | null {
    const key = keys.find((one) => one.token === token)
    if (!key || !this.isInForce(key)) return refused('token_invalid')
    if (!active) return refused('partner_inactive')
    if (organization === null) return refused('organization_not_configured')
    return this.organizations[organization]?.active ? null : refused('organization_deactivated')
  }

  isInForce({ from, until }: OracleKey): boolean {
    return from <= this.now && this.now < until
  }

  lookUp(partner: number, externalUserId: string): PartnerAnswer {
    const member = this.find(partner, externalUserId)
    if (!member) return refused('member_not_found')
    if (!member.active) return refused('member_deactivated')
    const { profile } = member
    const code = profile.preferredSpokenLanguage ?? 'en'
    return answered(200, {
      id: member.id,
      firstName: profile.firstName,
      lastName: profile.lastName,
      email: profile.email,
      userType: 'member',
      country: profile.country,
      preferredSpokenLanguage: languageNames[code],
      preferredSpokenLanguageCode: code,
      externalUserId,
    })
  }

  /** @param chosen the ids and numbers in the service's response */
  submit(partner: number, body: Body, chosen: Chosen, keyed: Keyed | null): PartnerAnswer {
    const known = this.#refuseDate(body) ?? (keyed && this.#replay(partner, keyed))
    const refusal = known ?? this.#refuse(partner, body)
    if (refusal) return refusal
    const member = this.#storeMember(partner, body, chosen.member?.id)
    const slot = slotOf(body)
    const request: OracleRequest = {
      id: this.#newId('request', chosen.id),
      memberId: member.id,
      isIntake: slot === null,
      state: slot ? 'pending' : 'unassigned',
      providerId: slot?.providerId ?? null,
      authorizationNumber: slot ? this.#newNumber(chosen.authorizationNumber) : null,
      startsAt: slot?.startsAt ?? null,
      localOffsetMinutes: slot && this.#clockOf(slot.providerId, slot.startsAt),
      acceptedAt: null,
      declinedAt: null,
      cancelledAt: null,
      answers: body.phq9Data,
      submittedAt: this.now,
      partner,
    }
    this.requests.push(request)
    const { id, providerId, authorizationNumber } = request
    const answer = answered(201, {
      id,
      providerId,
      authorizationNumber,
      phoneNumber: member.profile.phoneNumber ?? '',
      preferredModality: member.profile.preferredModality ?? '',
      acceptedAt: null,
      declinedAt: null,
      member: { id: member.id, firstName: member.profile.firstName, email: member.profile.email },
      utcStartTime: slot && instant(slot.startsAt),
    })
    if (keyed) this.#kept.push({ ...keyed, partner, memberId: member.id, answer, at: this.now })
    return answer
  }

  #refuseDate({ memberData: { dob } }: Body): PartnerAnswer | null {
    return dob !== undefined && dob > instant(this.now).slice(0, 10) ? refused('field_invalid') : null
  }

  #replay(partner: number, { key, text }: Keyed): PartnerAnswer | null {
    const kept = this.keptAnswers().find((one) => one.partner === partner && one.key === key)
    if (!kept) return null
    return kept.text === text ? { ...kept.answer, replayed: 'true' } : refused('idempotency_key_reused')
  }

  keptAnswers(): readonly KeptAnswer[] {
    return this.#kept.filter(({ at }) => this.now < at + keptMillis)
  }

  #refuse(partner: number, body: Body): PartnerAnswer | null {
    const { email = '' } = body.memberData
    const member = this.find(partner, body.user.external_user_id)
    if (member && !member.active) return refused('member_deactivated')
    const slot = slotOf(body)
    const refusal = slot && this.#refuseSlot(member, slot.providerId, slot.startsAt)
    return refusal ?? this.#refuseEmail(partner, member, email)
  }

  #refuseSlot(member: OracleMember | undefined, providerId: number, startsAt: number): PartnerAnswer | null {
    const theirs = this.requests.filter((held) => holds(held) && member && held.memberId === member.id)
    if (theirs.some((held) => held.providerId === providerId && held.startsAt === startsAt)) {
      return refused('slot_already_yours')
    }
    if (!this.#isActive(providerId)) {
      return refused('provider_unknown')
    }
    if (!this.isFree(providerId, startsAt)) return refused('slot_unavailable')
    if (theirs.some((held) => overlap(held, startsAt))) return refused('slot_conflicts_with_yours')
    const toCome = theirs.filter((held) => (held.startsAt as number) > this.now)
    const most = this.limits.openRequests ?? Number.POSITIVE_INFINITY
    if (toCome.length < most) return null
    const why = `the member has ${most} open requests with a future slot, and may not have more`
    return refused('too_many_open_requests', { message: `user.external_user_id: ${why}` })
  }

  #refuseEmail(partner: number, member: OracleMember | undefined, email: string): PartnerAnswer | null {
    if (fold(member?.profile.email) === fold(email)) return null
    const most = this.limits.emailConflicts ?? Number.POSITIVE_INFINITY
    const past = this.#conflicts.filter((one) => one.partner === partner && one.at > this.now - hourMillis)
    if (past.length >= most) {
      const freeAt = (past.at(-most)?.at as number) + hourMillis
      return refused('email_conflicts_limited', {
        retryAfter: String(Math.ceil((freeAt - this.now) / 1_000)),
      })
    }
    const owner = this.members.find(({ profile }) => fold(profile.email) === fold(email))
    if (!owner) return null
    this.#conflicts.push({ partner, at: this.now })
    this.audit.push(
      `partner ${this.partners[partner]?.id} member.email-conflict member ${owner.id} email_taken`,
    )
    return refused('email_taken')
  }

  #storeMember(partner: number, { user, memberData }: Body, id: unknown): OracleMember {
    const sent = { ...memberData, country: memberData.country?.toUpperCase() as string }
    const known = this.find(partner, user.external_user_id)
    if (known) {
      const isChanged = Object.entries(sent).some(
        ([name, value]) => Reflect.get(known.profile, name) !== value,
      )
      Object.assign(known.profile, sent)
      if (isChanged) known.updatedAt = this.now
      return known
    }
    const member = {
      id: this.#newId('member', id),
      partner,
      externalUserId: user.external_user_id,
      active: true,
      profile: sent,
      createdAt: this.now,
      updatedAt: this.now,
    }
    this.members.push(member)
    return member
  }

  /** Returns the id that the service chose, or -1 if the id is not an integer or was used before. */
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

  #isActive(providerId: number): boolean {
    return this.directory.providers.some((one) => one.id === providerId && isWorking(one))
  }

  #clockOf(providerId: number, at: number): number {
    const provider = this.directory.providers.find((one) => one.id === providerId) as KnownProvider
    return this.directory.clockOf(provider, at)
  }

  /**
   * Returns true if a slot can be booked now. The slot of request `requestId` counts as free.
   * @param isOwn true to ignore the notice, which is at most 4,321 minutes
   */
  isFree(providerId: number, startsAt: number, requestId?: number, isOwn = false): boolean {
    const provider = this.directory.providers.find(({ id }) => id === providerId)
    const slots = provider
      ? this.directory.slotsOf(provider, 'any', isOwn ? startsAt - 4_321 * 60_000 : this.now, startsAt)
      : []
    return slots.length > 0 && !this.#isTaken(providerId, startsAt, requestId)
  }

  /** The starts of the slots that a provider offers, ascending. */
  offered(provider: KnownProvider, region: KnownRegion | 'any'): number[] {
    const held = this.requests.filter((one) => one.providerId === provider.id && holds(one))
    return this.directory
      .slotsOf(provider, region, this.now)
      .filter((startsAt) => !held.some((one) => overlap(one, startsAt)))
  }

  #isTaken(providerId: number, startsAt: number, requestId?: number): boolean {
    return this.requests.some(
      (held) =>
        held.providerId === providerId && held.id !== requestId && holds(held) && overlap(held, startsAt),
    )
  }

  move(id: number, to: 'accepted' | 'declined' | 'closed'): string | null {
    const request = this.requests.find((one) => one.id === id)
    if (!request) return 'record_unknown'
    const isPossible = {
      accepted: request.state === 'pending',
      declined: holds(request, false),
      closed: request.state === 'unassigned',
    }
    if (!isPossible[to]) return 'move_unknown'
    request.state = to
    request[to === 'accepted' ? 'acceptedAt' : 'declinedAt'] = this.now
    const acts = { accepted: 'accept', declined: 'decline', closed: 'close' }
    return this.#record(`request.${acts[to]}`, `request ${id}`)
  }

  reopen(id: number): string | null {
    const request = this.requests.find((one) => one.id === id)
    if (!request) return 'record_unknown'
    const { isIntake, state, memberId, providerId, startsAt } = request
    if (memberId === null || state !== (isIntake ? 'closed' : 'declined')) return 'move_unknown'
    if (isIntake || providerId === null || startsAt === null) {
      Object.assign(request, { state: 'unassigned', declinedAt: null })
      return this.#record('request.reopen', `request ${id}`)
    }
    if (startsAt <= this.now) return 'move_unknown'
    const refusal = this.#place(request, providerId, startsAt)
    return refusal ?? this.#record('request.reopen', `request ${id}`, `: provider ${providerId}`)
  }

  /** Moves a request to another slot. Keeps the provider if `providerId` is null. */
  moveTo(id: number, providerId: number | null, startsAt: number): string | null {
    const request = this.requests.find((one) => one.id === id)
    if (!request) return 'record_unknown'
    const to = providerId ?? request.providerId
    if (request.memberId === null || !holds(request, false) || to === null) return 'move_unknown'
    if (to === request.providerId && startsAt === request.startsAt) return 'move_unknown'
    const refusal = this.#place(request, to, startsAt)
    return refusal ?? this.#record('request.move', `request ${id}`, `: provider ${to}`)
  }

  /** @param number the authorization number that the service chose for a request without a number */
  assign(id: number, providerId: number, startsAt: number | null, number: unknown): string | null {
    const request = this.requests.find((one) => one.id === id)
    if (!request) return 'record_unknown'
    if (!request.isIntake || request.memberId === null) return 'move_unknown'
    if (request.state === 'closed' || request.state === 'cancelled') return 'move_unknown'
    const refusal = this.#place(request, providerId, startsAt)
    if (refusal) return refusal
    request.authorizationNumber ??= this.#newNumber(number)
    return this.#record('request.assign', `request ${id}`, `: provider ${providerId}`)
  }

  #place(request: OracleRequest, providerId: number, startsAt: number | null): string | null {
    const { id, memberId } = request
    if (!this.#isActive(providerId)) return 'move_unknown'
    if (startsAt !== null) {
      const isOwn = request.providerId === providerId && request.startsAt === startsAt && startsAt > this.now
      if (!this.isFree(providerId, startsAt, id, isOwn)) return 'slot_unavailable'
      const others = this.requests.filter((one) => one.id !== id && one.memberId === memberId)
      if (others.some((one) => holds(one) && overlap(one, startsAt))) return 'slot_conflicts_with_yours'
    }
    const localOffsetMinutes = startsAt === null ? null : this.#clockOf(providerId, startsAt)
    Object.assign(request, { state: 'pending', providerId, startsAt, localOffsetMinutes })
    Object.assign(request, { acceptedAt: null, declinedAt: null })
    return null
  }

  /** A partner reads its request. */
  read(partner: number, id: number): PartnerAnswer {
    const own = this.#ownOf(partner, id)
    return 'answer' in own ? own.answer : this.#current(own.request, own.member)
  }

  /** A partner cancels its request. */
  cancel(partner: number, id: number): PartnerAnswer {
    const own = this.#ownOf(partner, id)
    if ('answer' in own) return own.answer
    const { request, member } = own
    if (request.state === 'cancelled') return this.#current(request, member)
    const refusal = this.#refuseChange(request)
    if (refusal) return refusal
    Object.assign(request, { state: 'cancelled', cancelledAt: this.now })
    this.audit.push(`partner ${this.partners[partner]?.id} request.cancel request ${id} done`)
    return this.#current(request, member)
  }

  /** A partner moves its request to another slot. */
  reschedule(partner: number, id: number, providerId: number, startsAt: number): PartnerAnswer {
    const own = this.#ownOf(partner, id)
    if ('answer' in own) return own.answer
    const { request, member } = own
    const isThere = request.providerId === providerId && request.startsAt === startsAt
    if (isThere && holds(request)) return this.#current(request, member)
    const refusal = this.#refuseChange(request)
    if (refusal) return refusal
    if (request.startsAt === null) return refused('request_without_slot')
    const unplaced = this.#place(request, providerId, startsAt)
    if (unplaced) return refused(unplaced, { message: 'utcStartTime: the slot is not available' })
    const end = `done: provider ${providerId}`
    this.audit.push(`partner ${this.partners[partner]?.id} request.reschedule request ${id} ${end}`)
    return this.#current(request, member)
  }

  #ownOf(partner: number, id: number) {
    const request = this.requests.find((one) => one.id === id && one.partner === partner)
    const member = this.members.find((one) => one.id === request?.memberId)
    if (!request || !member) return { answer: refused('request_not_found') }
    return member.active ? { request, member } : { answer: refused('member_deactivated') }
  }

  #refuseChange(request: OracleRequest): PartnerAnswer | null {
    const { state, startsAt } = request
    if (state !== 'unassigned' && !holds(request, false)) {
      return refused('request_closed', { message: `id: the request is ${state}` })
    }
    return startsAt !== null && startsAt <= this.now ? refused('request_started') : null
  }

  #current(request: OracleRequest, { id, profile }: OracleMember): PartnerAnswer {
    const at = (millis: number | null) => (millis === null ? null : new Date(millis).toISOString())
    return answered(200, {
      id: request.id,
      providerId: request.providerId,
      authorizationNumber: request.authorizationNumber,
      phoneNumber: profile.phoneNumber ?? '',
      preferredModality: profile.preferredModality ?? '',
      acceptedAt: at(request.acceptedAt),
      declinedAt: at(request.declinedAt),
      member: { id, firstName: profile.firstName, email: profile.email },
      utcStartTime: request.startsAt === null ? null : instant(request.startsAt),
      state: request.state,
      cancelledAt: at(request.cancelledAt),
    })
  }

  /** Declines a partner's requests since an instant (ms). Skips requests that cannot be declined. */
  declineAll(partner: number, since: number): { readonly declined: number; readonly unassigned: number } {
    const submitted = this.requests.filter(
      (one) => one.partner === partner && one.memberId !== null && one.submittedAt >= since,
    )
    const unassigned = submitted.filter(({ state }) => state === 'unassigned').length
    const declined = submitted.filter(({ id }) => this.move(id, 'declined') === null).length
    return { declined, unassigned }
  }

  heldIn(provider: KnownProvider, absence: Absence): number[] {
    const [from, until] = this.directory.periodOf(provider, absence)
    return this.requests
      .filter((held) => {
        const at = held.startsAt ?? 0
        const isToCome = at + slotMillis > this.now && at < until && from < at + slotMillis
        return held.providerId === provider.id && holds(held) && isToCome
      })
      .map(({ id }) => id)
  }

  issue(partner: OraclePartner, token: string | undefined): string | null {
    if (partner.keys.some(({ from, until }) => this.now < until && from < until)) return 'token_exists'
    partner.keys.push({ token: token ?? '', from: this.now, until: Number.POSITIVE_INFINITY })
    return this.#record('token.issue', `partner ${partner.id}`)
  }

  /** Replaces the valid token at the cutover, and cancels an earlier replacement that has not started. */
  rotate(partner: OraclePartner, cutover: number, token: string | undefined): string | null {
    if (cutover < this.now) return 'field_invalid'
    const inForce = partner.keys.find((key) => this.isInForce(key))
    if (!inForce) return 'record_unknown'
    this.#cancelWaiting(partner)
    inForce.until = cutover
    partner.keys.push({ token: token ?? '', from: cutover, until: Number.POSITIVE_INFINITY })
    return this.#record('token.rotate', `partner ${partner.id}`)
  }

  revoke(partner: OraclePartner): string | null {
    const inForce = partner.keys.find((key) => this.isInForce(key))
    const waits = this.#cancelWaiting(partner)
    if (!inForce && !waits) return 'record_unknown'
    if (inForce) inForce.until = this.now
    return this.#record('token.revoke', `partner ${partner.id}`)
  }

  #cancelWaiting({ keys }: OraclePartner): boolean {
    const waiting = keys.filter(({ from, until }) => this.now < from && from < until)
    for (const key of waiting) key.until = key.from
    return waiting.length > 0
  }

  switchMember(id: number, active: boolean): string | null {
    const member = this.members.find((one) => one.id === id)
    if (!member) return 'record_unknown'
    member.active = active
    return this.#record(`member.${active ? 'reactivate' : 'deactivate'}`, `member ${id}`)
  }

  /** Returns the ids of requests that still hold a slot, or the refusal. */
  erase(id: number): number[] | string {
    const at = this.members.findIndex((one) => one.id === id)
    if (at < 0) return 'record_unknown'
    this.members.splice(at, 1)
    this.#kept = this.#kept.filter(({ memberId }) => memberId !== id)
    const theirs = this.requests.filter((one) => one.memberId === id)
    for (const request of theirs) Object.assign(request, { memberId: null, answers: null })
    this.#record('member.erase', `member ${id}`)
    return theirs.filter((one) => holds(one)).map((one) => one.id)
  }

  findByEmail(email: string): number | null {
    const member = this.members.find(
      ({ profile }) => profile.email !== '' && fold(profile.email) === fold(email),
    )
    this.#record('member.find', member ? `member ${member.id}` : 'null')
    return member?.id ?? null
  }

  readAnswers(id: number): readonly unknown[] | string {
    const request = this.requests.find((one) => one.id === id)
    if (!request) return 'record_unknown'
    this.#record('request.read-screening', `request ${id}`)
    return request.answers ?? []
  }

  /** Clears a member's email address, so that another member can use it. */
  release(id: number): string | null {
    const member = this.members.find((one) => one.id === id)
    if (!member) return 'record_unknown'
    if (member.profile.email === '') return 'move_unknown'
    member.profile.email = ''
    member.updatedAt = this.now
    return this.#record('member.edit', `member ${id}`, ': email')
  }

  load(file: DirectoryFile, idOf: (ref: string) => number): DirectoryLoad {
    this.#record('directory.load', 'null')
    return this.directory.load(file, idOf)
  }

  switchProvider(provider: KnownProvider, active: boolean): null {
    provider.suspended = !active
    if (active) provider.active = true
    return this.#record(`provider.${active ? 'reactivate' : 'deactivate'}`, `provider ${provider.id}`)
  }

  addTimeOff(provider: KnownProvider, absence: Absence) {
    const held = this.heldIn(provider, absence).sort()
    const isKnown = absencesOf(provider).some(
      (one) => one.from === absence.from && one.until === absence.until,
    )
    if (isKnown) return { isKnown, held }
    provider.away = [...provider.away, absence]
    provider.entry = { ...provider.entry }
    this.#record('provider.time-off-add', `provider ${provider.id}`)
    return { isKnown, held }
  }

  removeTimeOff(provider: KnownProvider, { from, until }: Absence) {
    const others = (all: readonly Absence[]) => all.filter((one) => one.from !== from || one.until !== until)
    const [timeOff, away] = [others(provider.entry.timeOff ?? []), others(provider.away)]
    if (timeOff.length + away.length === absencesOf(provider).length) return 'record_unknown'
    const isOfDirectory = timeOff.length < (provider.entry.timeOff ?? []).length
    provider.entry = { ...provider.entry, timeOff }
    provider.away = away
    this.#record('provider.time-off-remove', `provider ${provider.id}`)
    return { isOfDirectory }
  }

  switchPartner(partner: OraclePartner, active: boolean): null {
    partner.active = active
    return this.#record(`partner.${active ? 'reactivate' : 'deactivate'}`, `partner ${partner.id}`)
  }

  /** @param organization an index into the organizations; null for none */
  join(partner: OraclePartner, organization: number | null): null {
    partner.organization = organization
    const now = organization === null ? 'none' : `organization ${this.organizations[organization]?.id}`
    return this.#record('partner.set-organization', `partner ${partner.id}`, `: ${now}`)
  }

  switchOrganization(organization: { readonly id: number; active: boolean }, active: boolean): null {
    organization.active = active
    return this.#record(
      `organization.${active ? 'reactivate' : 'deactivate'}`,
      `organization ${organization.id}`,
    )
  }

  #record(action: string, record: string, values = ''): null {
    this.audit.push(`test ${action} ${record} done${values}`)
    return null
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
