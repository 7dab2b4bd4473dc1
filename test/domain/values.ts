import fc from 'fast-check'
import type { Act } from '../../src/domain/audit'
import { type RequestRecord, requestStates, slotMillis } from '../../src/domain/booking-request'
import type { SlotHolder } from '../../src/domain/decisions/submission'
import { Refusal } from '../../src/domain/errors'
import type { Member, MemberProfile } from '../../src/domain/member'
import type { Organization, Partner } from '../../src/domain/partner'
import type { Version } from '../../src/domain/ports/directory-feed'
import type { Change, Outcome } from '../../src/domain/ports/writes'
import { defaultStaffFields, type Provider } from '../../src/domain/provider'
import type { Region } from '../../src/domain/region'

// Sample values for tests of decisions, without a database.

export const nine = Date.UTC(2026, 11, 2, 9)
export const minutes = (count: number) => count * 60_000
export const now = Date.UTC(2026, 11, 1, 12)
export const act: Act = { actor: 'olive', at: now }

export const version = {} as Version

export const profile: MemberProfile = {
  email: 'robin@example.com',
  firstName: 'Robin',
  lastName: 'Sample',
  country: 'CA',
  preferredName: 'Rob',
  preferredPronouns: null,
  dob: '1990-01-01',
  gender: null,
  maritalStatus: null,
  clientType: null,
  leaveVoicemail: null,
  phoneNumber: '+1 416 555 0100',
  streetAddress: null,
  suite: null,
  city: null,
  state: 'ON',
  zipCode: null,
  reasonForSeekingSupport: null,
  preferredModality: null,
  preferredSpokenLanguage: 'fr-CA',
}

export const member: Member = { id: 7, partnerId: 3, externalUserId: 'robin', active: true, profile }

export const organization: Organization = { id: 2, name: 'Harbour', active: true }
export const partner: Partner = {
  id: 3,
  name: 'Harbourlight',
  active: true,
  readsPerMinute: null,
  bookingsPerMinute: null,
  intakesPerHour: null,
  emailConflictsPerHour: null,
  networks: null,
  organization,
}

export const ontario: Region = {
  id: 1,
  countryCode: 'CA',
  code: 'ON',
  localName: 'Ontario',
  label: 'Province',
  active: true,
}

/** An unassigned intake. */
export const intake: RequestRecord = {
  id: 11,
  isIntake: true,
  state: 'unassigned',
  providerId: null,
  authorizationNumber: null,
  startsAt: null,
  localOffsetMinutes: null,
  acceptedAt: null,
  declinedAt: null,
  cancelledAt: null,
  submittedAt: now,
  member,
}

/** A pending booking of provider 5 at nine. */
export const booking: RequestRecord = {
  ...intake,
  id: 12,
  isIntake: false,
  state: 'pending',
  providerId: 5,
  authorizationNumber: 'AUTH-1',
  startsAt: nine,
  localOffsetMinutes: -300,
}

export const provider: Provider = {
  id: 5,
  ref: 'first',
  firstName: 'Marlow',
  lastName: 'Fernhill',
  credentials: null,
  pronouns: null,
  gender: null,
  bio: null,
  timeZone: 'America/Toronto',
  languagesSpoken: ['en'],
  modalities: ['in-video'],
  workingHours: [{ weekdays: ['monday'], start: '09:00', end: '17:00' }],
  overrides: [],
  timeOff: [{ from: '2026-12-27', until: '2026-12-31' }],
  minimumNoticeMinutes: 30,
  active: true,
  ...defaultStaffFields,
  licenses: [{ regionId: 1, from: '2020-01-01', until: null }],
  inPersonRegionIds: [1],
}

/** Another member's request, whose slot overlaps the slot at nine. */
export const stranger: SlotHolder = { requestId: 90, memberId: 8, startsAt: nine + minutes(15) }

export const change = fc.record<Change>({
  noun: fc.constantFrom('partner', 'region', 'provider', 'taken'),
  recordId: fc.integer({ min: 1, max: 8 }),
})

export const changes = fc.option(fc.array(change, { maxLength: 3 }))

export const holders = fc.array(
  fc.record<SlotHolder>({
    requestId: fc.integer({ min: 10, max: 14 }),
    memberId: fc.option(fc.constantFrom(7, 8)),
    startsAt: fc.constantFrom(nine, nine + minutes(15), nine - minutes(15)),
  }),
  { maxLength: 2 },
)

export const requests = fc.record<RequestRecord>({
  id: fc.integer({ min: 10, max: 14 }),
  isIntake: fc.boolean(),
  state: fc.constantFrom(...requestStates),
  providerId: fc.option(fc.constantFrom(5, 6)),
  authorizationNumber: fc.option(fc.constant('AUTH-1')),
  startsAt: fc.option(fc.constantFrom(nine, nine + slotMillis)),
  localOffsetMinutes: fc.option(fc.constant(-300)),
  acceptedAt: fc.option(fc.constant(now)),
  declinedAt: fc.option(fc.constant(now)),
  cancelledAt: fc.option(fc.constant(now)),
  submittedAt: fc.constant(now),
  member: fc.option(fc.constant(member)),
})

export function endOf(decision: object | 'stale'): string {
  if (decision === 'stale') return decision
  const noted = 'writes' in decision && 'answer' in decision && (decision as Outcome<unknown>)
  const answer = noted && noted.writes.length === 0 ? noted.answer([]) : decision
  return answer instanceof Refusal ? answer.kind : 'done'
}

/** The outcome of a decision. @throws if it was refused or is stale */
export function done<D extends object>(decision: D | 'stale'): Exclude<D, Refusal> {
  if (decision === 'stale' || decision instanceof Refusal) throw new Error(`not done: ${endOf(decision)}`)
  return decision as Exclude<D, Refusal>
}
