import { blob, customType, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AuditAction } from '../../src/domain/audit'
import type { NoteKind, RequestState } from '../../src/domain/booking-request'
import type { KeyEndReason } from '../../src/domain/partner'
import type { ChangedNoun } from '../../src/domain/writes'

// The tables as queries see them. Constraints stand in the migrations, which a test compares with this page.

const flag = () => integer({ mode: 'boolean' }).notNull()
const bytes = () => blob({ mode: 'buffer' }).notNull()
/** So many in a minute; 0 stands for off. */
const rateOverride = customType<{ data: number | 'off'; driverData: number }>({
  dataType: () => 'integer',
  toDriver: (rate) => (rate === 'off' ? 0 : rate),
  fromDriver: (stored) => (stored === 0 ? 'off' : stored),
})

export const settings = sqliteTable('settings', {
  name: text().primaryKey(),
  value: bytes(),
})

export const organizations = sqliteTable('organizations', {
  id: integer().primaryKey(),
  name: text().notNull(),
  active: flag(),
  createdAt: integer('created_at').notNull(),
})

export const partners = sqliteTable('partners', {
  id: integer().primaryKey(),
  name: text().notNull(),
  organizationId: integer('organization_id'),
  active: flag(),
  createdAt: integer('created_at').notNull(),
  readsPerMinute: rateOverride('reads_per_minute'),
  bookingsPerMinute: rateOverride('bookings_per_minute'),
})

export const partnerKeys = sqliteTable('partner_keys', {
  id: integer().primaryKey(),
  recordKey: text('record_key').notNull(),
  kid: text().notNull(),
  partnerId: integer('partner_id').notNull(),
  sealedSecret: blob('sealed_secret', { mode: 'buffer' }).notNull(),
  issuedAt: integer('issued_at').notNull(),
  startsAt: integer('starts_at').notNull(),
  endsAt: integer('ends_at'),
  endReason: text('end_reason').$type<KeyEndReason>(),
  lastUsedAt: integer('last_used_at'),
})

export const regions = sqliteTable('regions', {
  id: integer().primaryKey(),
  countryCode: text('country_code').notNull(),
  code: text().notNull(),
  localName: text('local_name').notNull(),
  label: text().notNull(),
  active: flag(),
})

export const providers = sqliteTable('providers', {
  id: integer().primaryKey(),
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
  minimumNoticeMinutes: integer('minimum_notice_minutes').notNull(),
  active: flag(),
  suspended: flag(),
  staffTimeOff: text('staff_time_off').notNull(),
})

export const licenses = sqliteTable('licenses', {
  id: integer().primaryKey(),
  providerId: integer('provider_id').notNull(),
  regionId: integer('region_id').notNull(),
  from: text('from_date').notNull(),
  until: text('until_date'),
})

export const inPersonRegions = sqliteTable('in_person_regions', {
  providerId: integer('provider_id').notNull(),
  regionId: integer('region_id').notNull(),
})

export const members = sqliteTable('members', {
  id: integer().primaryKey({ autoIncrement: true }),
  recordKey: text('record_key').notNull(),
  partnerId: integer('partner_id').notNull(),
  externalUserIdHash: blob('external_user_id_hash', { mode: 'buffer' }).notNull(),
  emailHash: blob('email_hash', { mode: 'buffer' }),
  active: flag(),
  sealedExternalUserId: blob('sealed_external_user_id', { mode: 'buffer' }).notNull(),
  sealedProfile: blob('sealed_profile', { mode: 'buffer' }).notNull(),
  createdAt: integer('created_at').notNull(),
  updatedAt: integer('updated_at').notNull(),
})

export const bookingRequests = sqliteTable('booking_requests', {
  id: integer().primaryKey({ autoIncrement: true }),
  recordKey: text('record_key').notNull(),
  memberId: integer('member_id'),
  isIntake: integer('is_intake', { mode: 'boolean' }).notNull(),
  state: text().$type<RequestState>().notNull(),
  providerId: integer('provider_id'),
  authorizationNumber: text('authorization_number'),
  startsAt: integer('starts_at'),
  endsAt: integer('ends_at'),
  localOffsetMinutes: integer('local_offset_minutes'),
  acceptedAt: integer('accepted_at'),
  declinedAt: integer('declined_at'),
  sealedScreeningAnswers: blob('sealed_screening_answers', { mode: 'buffer' }),
  submittedAt: integer('submitted_at').notNull(),
})

export const replays = sqliteTable('replays', {
  id: integer('request_id').primaryKey(),
  partnerId: integer('partner_id').notNull(),
  keyHash: blob('key_hash', { mode: 'buffer' }).notNull(),
  bodyHash: blob('body_hash', { mode: 'buffer' }).notNull(),
  sealedReceipt: blob('sealed_receipt', { mode: 'buffer' }).notNull(),
  submittedAt: integer('submitted_at').notNull(),
})

export const requestNotes = sqliteTable('request_notes', {
  id: integer().primaryKey({ autoIncrement: true }),
  recordKey: text('record_key').notNull(),
  requestId: integer('request_id').notNull(),
  kind: text().$type<NoteKind>().notNull(),
  at: integer().notNull(),
  actor: text().notNull(),
  sealedText: blob('sealed_text', { mode: 'buffer' }).notNull(),
})

export const changes = sqliteTable('changes', {
  version: integer().primaryKey({ autoIncrement: true }),
  noun: text().$type<ChangedNoun>().notNull(),
  recordId: integer('record_id').notNull(),
})

export const audit = sqliteTable('audit', {
  id: integer().primaryKey({ autoIncrement: true }),
  at: integer().notNull(),
  actor: text().notNull(),
  action: text().$type<AuditAction>().notNull(),
  record: text(),
  outcome: text().notNull(),
  hash: text().notNull(),
})
