import type { AuditEntry } from '../../src/domain/audit'
import { slotMillis } from '../../src/domain/booking-request'
import {
  emailConflictQuery,
  type SubmissionDraft,
  type SubmissionFacts,
} from '../../src/domain/decisions/submission'
import type { Vault } from '../../src/domain/ports/vault'
import type { ChangedNoun } from '../../src/domain/ports/writes'
import type { SealedMember } from '../sealed/binding'
import { emailHash, externalUserIdHash, openProfile } from '../sealed/members'
import { keyHash, toKeptAnswer } from '../sealed/requests'
import type { Connection } from './client/connection'

/** Keyed hashes of the values that a submission searches for and locks. */
export interface Keys {
  readonly member: Buffer
  readonly address: Buffer
  /** Null without an idempotency key. */
  readonly retry: Buffer | null
}

export function keysOf(vault: Vault, { partnerId, externalUserId, member, retry }: SubmissionDraft): Keys {
  return {
    member: externalUserIdHash(vault, partnerId, externalUserId),
    address: emailHash(vault, member.email),
    retry: retry && keyHash(vault, partnerId, retry),
  }
}

export interface FoundFacts {
  readonly facts: SubmissionFacts
  /** Id of the known member, or a new id for a new member. */
  readonly memberId: number
  readonly requestId: number
  readonly sealedMembers: ReadonlyMap<number, SealedMember>
}

const holds = "state IN ('pending', 'accepted') AND starts_at IS NOT NULL"

/** A single statement, so that all facts are from one snapshot. */
const reading = `SELECT coalesce(member.id, nextval('members_id_seq')), nextval('booking_requests_id_seq'),
  member.record_key, member.active, member.sealed_profile,
  kept.request_id, kept.body_hash, kept.sealed_receipt, kept.submitted_at,
  (SELECT id FROM members WHERE email_hash = $3::bytea),
  (SELECT json_agg(json_build_array(id, member_id, starts_at)) FROM booking_requests
    WHERE ${holds} AND provider_id = $5::int8 AND int8range(starts_at, ends_at) && int8range($6::int8, $6::int8 + ${slotMillis}))::text,
  (SELECT json_agg(json_build_array(id, starts_at)) FROM booking_requests
    WHERE ${holds} AND member_id = member.id AND starts_at > $7::int8)::text,
  (SELECT count(*) FROM booking_requests WHERE member_id = member.id AND state = 'unassigned'),
  (SELECT json_agg(json_build_array(version, noun, record_id) ORDER BY version) FROM changes
    WHERE version >= $8::int8 AND (noun <> 'taken' OR version = $8::int8))::text,
  (SELECT at FROM audit WHERE action = 'member.email-conflict' AND actor = $9::text AND at > $10::int8
    ORDER BY at DESC LIMIT 1 OFFSET $11::int8)
FROM (SELECT) AS one
  LEFT JOIN members AS member ON member.partner_id = $1::int8 AND member.external_user_id_hash = $2::bytea
  LEFT JOIN replays AS kept ON kept.partner_id = $1::int8 AND kept.key_hash = $4::bytea`

/** A row of the statement. The server returns int8 as text, and lists as JSON text or null. */
type FoundRow = readonly [
  ...ids: [memberId: string, requestId: string],
  ...member: [recordKey: string, active: boolean, sealedProfile: Buffer] | [null, null, null],
  ...kept:
    | [requestId: string, bodyHash: Buffer, sealedReceipt: Buffer, submittedAt: string]
    | [null, null, null, null],
  emailOwnerId: string | null,
  ...lists: [holders: string | null, held: string | null, openIntakes: string, since: string | null],
  conflictAt: string | null,
]

export function submissionQueries(connection: Connection, vault: Vault) {
  return {
    /** @throws Refusal database_unusable if a sealed value cannot be opened */
    async read(draft: SubmissionDraft, keys: Keys): Promise<FoundFacts> {
      const [row] = (await connection.run(reading, parametersOf(draft, keys))) as unknown as [FoundRow]
      const [memberId, requestId, , , , , , , , emailOwnerId, holders, held, openIntakes, since, conflictAt] =
        row
      const facts = {
        since: changesSince(draft, parse(since)),
        member: memberIn(vault, draft, keys, row),
        emailOwnerId: numberOf(emailOwnerId),
        holders: parse<[number, number | null, number]>(holders).map(([requestId, memberId, startsAt]) => {
          return { requestId, memberId, startsAt }
        }),
        held: parse<[number, number]>(held).map(([requestId, startsAt]) => ({ requestId, startsAt })),
        openIntakes: Number(openIntakes),
        conflictAt: numberOf(conflictAt),
        kept: keptIn(vault, draft, keys, row),
      }
      return {
        facts,
        memberId: Number(memberId),
        requestId: Number(requestId),
        sealedMembers: new Map(facts.member && [[facts.member.id, sealedMemberIn(draft, keys, row)]]),
      }
    },

    /** Stores an audit line until settleAuditQueue appends it to the log. */
    queue: (entry: AuditEntry): Promise<unknown> =>
      connection.run('INSERT INTO audit_queue (entry) VALUES ($1)', [JSON.stringify(entry)]),

    isStored: async (recordKey: string): Promise<boolean> =>
      (await connection.run('SELECT 1 FROM booking_requests WHERE record_key = $1', [recordKey])).length > 0,
  }
}

function parametersOf(draft: SubmissionDraft, keys: Keys): readonly unknown[] {
  const { partnerId, slot, submittedAt } = draft
  const { actor, after, back } = emailConflictQuery(draft)
  return [
    ...[partnerId, keys.member, keys.address, keys.retry],
    ...[slot?.providerId ?? null, slot?.startsAt ?? null, submittedAt - slotMillis],
    ...[versionOf(draft), actor, after, back - 1],
  ]
}

/** On this engine a version is a number. */
function versionOf({ version }: SubmissionDraft): number {
  return version as unknown as number
}

/** Returns the changes since the draft's version; null if that version is missing, because changes may be missing too. */
function changesSince(draft: SubmissionDraft, changes: [number, ChangedNoun, number][]) {
  const [first, ...later] = changes
  return first?.[0] === versionOf(draft) ? later.map(([, noun, recordId]) => ({ noun, recordId })) : null
}

function sealedMemberIn({ partnerId }: SubmissionDraft, keys: Keys, [, , recordKey]: FoundRow): SealedMember {
  return { recordKey: recordKey ?? '', partnerId, externalUserIdHash: keys.member }
}

function memberIn(vault: Vault, draft: SubmissionDraft, keys: Keys, row: FoundRow) {
  const [memberId, , recordKey, active, sealedProfile] = row
  if (recordKey === null || active === null || sealedProfile === null) return null
  const { partnerId, externalUserId } = draft
  const id = Number(memberId)
  // The external id need not be opened: with a wrong hash of it, the profile could not be opened.
  const profile = openProfile(vault, { ...sealedMemberIn(draft, keys, row), id, sealedProfile })
  return { id, partnerId, externalUserId, active, profile }
}

function keptIn(vault: Vault, { partnerId, retry }: SubmissionDraft, keys: Keys, row: FoundRow) {
  const [, , , , , requestId, bodyHash, sealedReceipt, submittedAt] = row
  if (!retry || !keys.retry || requestId === null || bodyHash === null || sealedReceipt === null) return null
  const ids = { id: Number(requestId), partnerId, submittedAt: Number(submittedAt) }
  return toKeptAnswer(vault, { ...ids, keyHash: keys.retry, bodyHash, sealedReceipt }, partnerId, retry)
}

function parse<T>(list: string | null): T[] {
  return list === null ? [] : JSON.parse(list)
}

function numberOf(value: string | null): number | null {
  return value === null ? null : Number(value)
}
