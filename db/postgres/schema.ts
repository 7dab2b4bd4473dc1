import { bigint, boolean, customType, pgTable, text } from 'drizzle-orm/pg-core'
import type { AuditAction } from '../../src/domain/audit'
import type { NoteKind, RequestState } from '../../src/domain/booking-request'
import type { KeyEndReason } from '../../src/domain/partner'
import type { ChangedNoun } from '../../src/domain/writes'

// The tables as queries see them. Constraints stand in the migrations, which a test compares with this page.

const whole = (name?: string) => (name ? bigint(name, { mode: 'number' }) : bigint({ mode: 'number' }))
const id = () => whole().primaryKey().generatedByDefaultAsIdentity()
const flag = (name?: string) => (name ? boolean(name) : boolean()).notNull()
const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
/** So many in a minute; 0 stands for off. */
const rateOverride = customType<{ data: number | 'off'; driverData: number | string }>({
  dataType: () => 'bigint',
  toDriver: (rate) => (rate === 'off' ? 0 : rate),
  fromDriver: (stored) => (Number(stored) === 0 ? 'off' : Number(stored)),
})

export const settings = pgTable('settings', {
  name: text().primaryKey(),
  value: bytes().notNull(),
})

export const organizations = pgTable('organizations', {
  id: id(),
  name: text().notNull(),
  active: flag(),
  createdAt: whole('created_at').notNull(),
})

export const partners = pgTable('partners', {
  id: id(),
  name: text().notNull(),
  organizationId: whole('organization_id'),
  active: flag(),
  createdAt: whole('created_at').notNull(),
  readsPerMinute: rateOverride('reads_per_minute'),
  bookingsPerMinute: rateOverride('bookings_per_minute'),
})

export const partnerKeys = pgTable('partner_keys', {
  id: id(),
  recordKey: text('record_key').notNull(),
  kid: text().notNull(),
  partnerId: whole('partner_id').notNull(),
  sealedSecret: bytes('sealed_secret').notNull(),
  issuedAt: whole('issued_at').notNull(),
  startsAt: whole('starts_at').notNull(),
  endsAt: whole('ends_at'),
  endReason: text('end_reason').$type<KeyEndReason>(),
  lastUsedAt: whole('last_used_at'),
})

export const regions = pgTable('regions', {
  id: whole().primaryKey(),
  countryCode: text('country_code').notNull(),
  code: text().notNull(),
  localName: text('local_name').notNull(),
  label: text().notNull(),
  active: flag(),
})

export const providers = pgTable('providers', {
  id: id(),
  ref: text().notNull(),
  firstName: text('first_name').notNull(),
  lastName: text('last_name').notNull(),
  credentials: text(),
  pronouns: text(),
  gender: text(),
  bio: text(),
  timeZone: text('time_zone').notNull(),
  // JSON, read record by record, so that one which cannot be read stops no other.
  languagesSpoken: text('languages_spoken').notNull(),
  modalities: text().notNull(),
  workingHours: text('working_hours').notNull(),
  overrides: text().notNull(),
  timeOff: text('time_off').notNull(),
  minimumNoticeMinutes: whole('minimum_notice_minutes').notNull(),
  active: flag(),
  suspended: flag(),
  staffTimeOff: text('staff_time_off').notNull(),
})

export const licenses = pgTable('licenses', {
  id: id(),
  providerId: whole('provider_id').notNull(),
  regionId: whole('region_id').notNull(),
  from: text('from_date').notNull(),
  until: text('until_date'),
})

export const inPersonRegions = pgTable('in_person_regions', {
  providerId: whole('provider_id').notNull(),
  regionId: whole('region_id').notNull(),
})

export const members = pgTable('members', {
  id: id(),
  recordKey: text('record_key').notNull(),
  partnerId: whole('partner_id').notNull(),
  externalUserIdHash: bytes('external_user_id_hash').notNull(),
  emailHash: bytes('email_hash'),
  active: flag(),
  sealedExternalUserId: bytes('sealed_external_user_id').notNull(),
  sealedProfile: bytes('sealed_profile').notNull(),
  createdAt: whole('created_at').notNull(),
  updatedAt: whole('updated_at').notNull(),
})

export const bookingRequests = pgTable('booking_requests', {
  id: id(),
  recordKey: text('record_key').notNull(),
  memberId: whole('member_id'),
  isIntake: flag('is_intake'),
  state: text().$type<RequestState>().notNull(),
  providerId: whole('provider_id'),
  authorizationNumber: text('authorization_number'),
  startsAt: whole('starts_at'),
  endsAt: whole('ends_at'),
  localOffsetMinutes: whole('local_offset_minutes'),
  acceptedAt: whole('accepted_at'),
  declinedAt: whole('declined_at'),
  sealedScreeningAnswers: bytes('sealed_screening_answers'),
  submittedAt: whole('submitted_at').notNull(),
})

export const replays = pgTable('replays', {
  id: whole('request_id').primaryKey(),
  partnerId: whole('partner_id').notNull(),
  keyHash: bytes('key_hash').notNull(),
  bodyHash: bytes('body_hash').notNull(),
  sealedReceipt: bytes('sealed_receipt').notNull(),
  submittedAt: whole('submitted_at').notNull(),
})

export const requestNotes = pgTable('request_notes', {
  id: id(),
  recordKey: text('record_key').notNull(),
  requestId: whole('request_id').notNull(),
  kind: text().$type<NoteKind>().notNull(),
  at: whole().notNull(),
  actor: text().notNull(),
  sealedText: bytes('sealed_text').notNull(),
})

export const changes = pgTable('changes', {
  version: whole().primaryKey().generatedByDefaultAsIdentity(),
  noun: text().$type<ChangedNoun>().notNull(),
  recordId: whole('record_id').notNull(),
  requestId: whole('request_id'),
  startsAt: whole('starts_at'),
  endsAt: whole('ends_at'),
  localOffsetMinutes: whole('local_offset_minutes'),
})

export const audit = pgTable('audit', {
  id: whole().primaryKey(),
  at: whole().notNull(),
  actor: text().notNull(),
  action: text().$type<AuditAction>().notNull(),
  record: text(),
  outcome: text().notNull(),
  hash: text().notNull(),
})

/** Only on PostgreSQL. */
export const nodes = pgTable('nodes', {
  id: text().primaryKey(),
  note: text().notNull(),
  seenAt: whole('seen_at').notNull(),
})
