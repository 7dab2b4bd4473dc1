import { blob, customType, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AuditAction } from '../../src/domain/audit'
import type { NoteKind, RequestState } from '../../src/domain/booking-request'
import type { KeyEndReason } from '../../src/domain/partner'
import type { ChangedNoun } from '../../src/domain/ports/writes'

// Constraints and indexes are only in the migrations. A test compares these columns with the migrations.

/** Column types of SQLite. PostgreSQL's column types are cast to these, so that one query serves both engines. */
export const sqliteColumns = {
  table: sqliteTable,
  /** A primary key. The database generates it, and never reuses it. */
  generatedId: (name = 'id') => integer(name).primaryKey({ autoIncrement: true }),
  ownId: (name = 'id') => integer(name).primaryKey(),
  whole: (name: string) => integer(name),
  flag: (name: string) => integer(name, { mode: 'boolean' }),
  bytes: (name: string) => blob(name, { mode: 'buffer' }),
  text: (name: string) => text(name),
  /** Calls per minute or hour. `off` is stored as 0. */
  rate: customType<{ data: number | 'off'; driverData: number }>({
    dataType: () => 'integer',
    toDriver: (rate) => (rate === 'off' ? 0 : rate),
    fromDriver: (stored) => (stored === 0 ? 'off' : stored),
  }),
}

export type ColumnTypes = typeof sqliteColumns

export function tablesOf({ table, generatedId, ownId, whole, flag, bytes, text, rate }: ColumnTypes) {
  return {
    settings: table('settings', { name: text('name').primaryKey(), value: bytes('value').notNull() }),
    organizations: table('organizations', {
      id: generatedId(),
      name: text('name').notNull(),
      active: flag('active').notNull(),
      createdAt: whole('created_at').notNull(),
    }),
    partners: table('partners', {
      id: generatedId(),
      name: text('name').notNull(),
      organizationId: whole('organization_id'),
      active: flag('active').notNull(),
      createdAt: whole('created_at').notNull(),
      readsPerMinute: rate('reads_per_minute'),
      bookingsPerMinute: rate('bookings_per_minute'),
      intakesPerHour: rate('intakes_per_hour'),
      emailConflictsPerHour: rate('email_conflicts_per_hour'),
      networks: text('networks'),
    }),
    partnerKeys: table('partner_keys', {
      id: generatedId(),
      recordKey: text('record_key').notNull(),
      kid: text('kid').notNull(),
      partnerId: whole('partner_id').notNull(),
      sealedSecret: bytes('sealed_secret').notNull(),
      issuedAt: whole('issued_at').notNull(),
      startsAt: whole('starts_at').notNull(),
      endsAt: whole('ends_at'),
      endReason: text('end_reason').$type<KeyEndReason>(),
      lastUsedAt: whole('last_used_at'),
    }),
    regions: table('regions', {
      id: ownId(),
      countryCode: text('country_code').notNull(),
      code: text('code').notNull(),
      localName: text('local_name').notNull(),
      label: text('label').notNull(),
      active: flag('active').notNull(),
    }),
    providers: table('providers', {
      id: generatedId(),
      ref: text('ref').notNull(),
      firstName: text('first_name').notNull(),
      lastName: text('last_name').notNull(),
      credentials: text('credentials'),
      pronouns: text('pronouns'),
      gender: text('gender'),
      bio: text('bio'),
      timeZone: text('time_zone').notNull(),
      // JSON text. Each provider is parsed separately, so that an invalid list affects only one provider.
      languagesSpoken: text('languages_spoken').notNull(),
      modalities: text('modalities').notNull(),
      workingHours: text('working_hours').notNull(),
      overrides: text('overrides').notNull(),
      timeOff: text('time_off').notNull(),
      minimumNoticeMinutes: whole('minimum_notice_minutes').notNull(),
      active: flag('active').notNull(),
      suspended: flag('suspended').notNull(),
      staffTimeOff: text('staff_time_off').notNull(),
    }),
    licenses: table('licenses', {
      id: generatedId(),
      providerId: whole('provider_id').notNull(),
      regionId: whole('region_id').notNull(),
      from: text('from_date').notNull(),
      until: text('until_date'),
    }),
    inPersonRegions: table('in_person_regions', {
      providerId: whole('provider_id').notNull(),
      regionId: whole('region_id').notNull(),
    }),
    members: table('members', {
      id: generatedId(),
      recordKey: text('record_key').notNull(),
      partnerId: whole('partner_id').notNull(),
      externalUserIdHash: bytes('external_user_id_hash').notNull(),
      emailHash: bytes('email_hash'),
      active: flag('active').notNull(),
      sealedExternalUserId: bytes('sealed_external_user_id').notNull(),
      sealedProfile: bytes('sealed_profile').notNull(),
      createdAt: whole('created_at').notNull(),
      updatedAt: whole('updated_at').notNull(),
    }),
    bookingRequests: table('booking_requests', {
      id: generatedId(),
      recordKey: text('record_key').notNull(),
      partnerId: whole('partner_id'),
      memberId: whole('member_id'),
      isIntake: flag('is_intake').notNull(),
      state: text('state').$type<RequestState>().notNull(),
      providerId: whole('provider_id'),
      authorizationNumber: text('authorization_number'),
      startsAt: whole('starts_at'),
      endsAt: whole('ends_at'),
      localOffsetMinutes: whole('local_offset_minutes'),
      acceptedAt: whole('accepted_at'),
      declinedAt: whole('declined_at'),
      cancelledAt: whole('cancelled_at'),
      sealedScreeningAnswers: bytes('sealed_screening_answers'),
      sealedSentProfile: bytes('sealed_sent_profile'),
      submittedAt: whole('submitted_at').notNull(),
    }),
    requestPositions: table('request_positions', {
      id: ownId('request_id'),
      partnerId: whole('partner_id').notNull(),
      position: whole('position').notNull(),
    }),
    replays: table('replays', {
      id: ownId('request_id'),
      partnerId: whole('partner_id').notNull(),
      keyHash: bytes('key_hash').notNull(),
      bodyHash: bytes('body_hash').notNull(),
      sealedReceipt: bytes('sealed_receipt').notNull(),
      submittedAt: whole('submitted_at').notNull(),
    }),
    requestNotes: table('request_notes', {
      id: generatedId(),
      recordKey: text('record_key').notNull(),
      requestId: whole('request_id').notNull(),
      kind: text('kind').$type<NoteKind>().notNull(),
      at: whole('at').notNull(),
      actor: text('actor').notNull(),
      sealedText: bytes('sealed_text').notNull(),
    }),
    unreadRisks: table('unread_risks', {
      id: text('request_hash').primaryKey(),
      partnerId: whole('partner_id').notNull(),
      sealedRequestId: bytes('sealed_request_id').notNull(),
    }),
    changes: table('changes', {
      version: generatedId('version'),
      noun: text('noun').$type<ChangedNoun>().notNull(),
      recordId: whole('record_id').notNull(),
      requestId: whole('request_id'),
      startsAt: whole('starts_at'),
      endsAt: whole('ends_at'),
      localOffsetMinutes: whole('local_offset_minutes'),
    }),
    audit: table('audit', {
      id: ownId(),
      at: whole('at').notNull(),
      actor: text('actor').notNull(),
      action: text('action').$type<AuditAction>().notNull(),
      record: text('record'),
      outcome: text('outcome').notNull(),
      hash: text('hash').notNull(),
    }),
  }
}

export type Tables = ReturnType<typeof tablesOf>
