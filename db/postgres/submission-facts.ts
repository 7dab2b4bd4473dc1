import { type Placeholder, sql } from 'drizzle-orm'
import { slotMillis } from '../../src/domain/booking-request'
import { expiredBy, mostForgottenBeside } from '../../src/domain/decide-replay'
import { conflictAsked, type SubmissionDraft } from '../../src/domain/decide-submission'
import type { Vault } from '../../src/domain/vault'
import type { ChangedNoun } from '../../src/domain/writes'
import { emailHash, externalUserIdHash } from '../sealed/members'
import { keyHash } from '../sealed/replays'
import { type Drizzle, placeholders } from './drizzle'
import { GroupFacts } from './group-facts'
import { hashList, idList, wordList } from './id-list'

/** By what a submission finds people, addresses and earlier answers: keyed hashes, which it locks too. */
export interface Names {
  readonly member: Buffer
  readonly address: Buffer
  /** Null without an idempotency key. */
  readonly retry: Buffer | null
}

export function namesOf(vault: Vault, { partnerId, externalUserId, member, retry }: SubmissionDraft): Names {
  return {
    member: externalUserIdHash(vault, partnerId, externalUserId),
    address: emailHash(vault, member.email),
    retry: retry && keyHash(vault, partnerId, retry),
  }
}

/** All of them. */
export function hashesOf({ member, address, retry }: Names): Buffer[] {
  return retry ? [member, address, retry] : [member, address]
}

/** A submission that is to be decided with others. */
export interface Asked {
  readonly draft: SubmissionDraft
  readonly names: Names
  /** Of the request that it may become. */
  readonly recordKey: string
}

/** The one statement that reads everything about a group of submissions. */
export function submissionQueries(db: Drizzle, vault: Vault) {
  const statement = readingStatement(db)
  // Up to when answers were found to be gone, in ms: the index has them for as long as a transaction elsewhere may see them
  // (xmin horizon), hours with a pg_dump, and each group would pass over all of them. What is left there the chores remove.
  let forgottenUntil = 0
  return {
    /** @param isAgain whether some of them may have been stored by an attempt of which no answer came */
    async read(group: readonly Asked[], isAgain: boolean): Promise<GroupFacts> {
      const parameters = parametersOf(group, isAgain)
      const [row] = await statement.execute({ ...parameters, expiredFrom: forgottenUntil })
      // Each a text of JSON.
      const told = Object.entries(row as Record<keyof GroupRows, string>)
      const rows = Object.fromEntries(told.map(([name, text]) => [name, JSON.parse(text)])) as GroupRows
      const { expiredUntil, expiredMost } = parameters
      const isAll = rows.expired.length < expiredMost
      const [, newest = 0] = isAll ? [0, expiredUntil] : (rows.expired.at(-1) ?? [])
      forgottenUntil = Math.max(forgottenUntil, newest)
      return new GroupFacts(vault, rows, Math.min(...group.map(versionOf)))
    },
  }
}

// What is known of one after the other of those that were asked for: the fence keeps the planner from reading a table whole
// because it thinks that it is small, or that many were asked for.
const fence = sql`offset 0`

function readingStatement(db: Drizzle) {
  const open = placeholders(
    ...['partnerIds', 'memberHashes', 'addressHashes', 'providerIds', 'startsAts', 'heldFrom'],
    ...[
      'retryPartners',
      'retryHashes',
      'expiredFrom',
      'expiredUntil',
      'expiredMost',
      'since',
      'actors',
      'afters',
      'backs',
    ],
    ...['recordKeys', 'count'],
  ) as Record<string, Placeholder>
  const asked = sql`unnest(${open.partnerIds}::int8[], ${open.memberHashes}::bytea[]) as asked(partner_id, hash)`
  const theirs = sql`from members where partner_id = asked.partner_id and external_user_id_hash = asked.hash`
  const holds = sql`state in ('pending', 'accepted') and starts_at is not null`
  const slots = sql`unnest(${open.providerIds}::int8[], ${open.startsAts}::int8[]) as slot(provider_id, starts_at)`
  const touches = sql`int8range(starts_at, ends_at) && int8range(slot.starts_at, slot.starts_at + ${sql.raw(String(slotMillis))})`
  const retries = sql`unnest(${open.retryPartners}::int8[], ${open.retryHashes}::bytea[]) as retry(partner_id, hash)`
  const subjects = sql`unnest(${open.actors}::text[], ${open.afters}::int8[], ${open.backs}::int8[]) as subject(actor, after, back)`
  return db
    .select({
      members: list(
        sql`json_build_array(id, record_key, encode(asked.hash, 'hex'), asked.partner_id, active, encode(sealed_profile, 'hex'))`,
        sql`${asked}, lateral (select * ${theirs} ${fence}) as member`,
      ),
      owners: list(
        sql`json_build_array(encode(address.hash, 'hex'), id)`,
        sql`unnest(${open.addressHashes}::bytea[]) as address(hash),
          lateral (select id from members where email_hash = address.hash ${fence}) as owner`,
      ),
      holders: list(
        sql`json_build_array(id, member_id, slot.provider_id, holder.starts_at)`,
        sql`${slots}, lateral (select id, member_id, starts_at from booking_requests
          where ${holds} and provider_id = slot.provider_id and ${touches} ${fence}) as holder`,
      ),
      held: list(
        sql`json_build_array(member.id, held.id, held.starts_at)`,
        sql`${asked}, lateral (select id ${theirs} ${fence}) as member, lateral (select id, starts_at from booking_requests
          where ${holds} and member_id = member.id and starts_at > ${open.heldFrom}::int8 ${fence}) as held`,
      ),
      kept: list(
        sql`json_build_array(request_id, retry.partner_id, encode(key_hash, 'hex'), encode(body_hash, 'hex'), encode(sealed_receipt, 'hex'), submitted_at)`,
        sql`${retries}, lateral (select * from replays
          where partner_id = retry.partner_id and key_hash = retry.hash ${fence}) as kept`,
      ),
      expired: list(
        sql`json_build_array(request_id, submitted_at) order by submitted_at`,
        sql`(select request_id, submitted_at from replays
          where submitted_at between ${open.expiredFrom}::int8 and ${open.expiredUntil}::int8
          order by submitted_at limit ${open.expiredMost}::int8) as expired`,
      ),
      since: list(
        sql`json_build_array(version, noun, record_id) order by version`,
        sql`changes where version >= ${open.since}::int8 and (noun <> 'taken' or version = ${open.since}::int8)`,
      ),
      conflicts: list(
        sql`json_build_array(subject.actor, subject.after, subject.back, conflict.at)`,
        sql`${subjects}, lateral (select at from audit
          where action = 'member.email-conflict' and actor = subject.actor and at > subject.after
          order by at desc limit 1 offset subject.back - 1) as conflict`,
      ),
      stored: list(
        sql`json_build_array(record_key, id)`,
        sql`booking_requests where record_key = any(${open.recordKeys}::text[])`,
      ),
      memberIds: list(sql`nextval('members_id_seq')`, sql`${asked} where not exists (select 1 ${theirs})`),
      requestIds: list(sql`nextval('booking_requests_id_seq')`, sql`generate_series(1, ${open.count}::int4)`),
    })
    .from(sql`(select) as one`)
    .prepare('')
}

/** Rows as one text of JSON. */
function list(row: ReturnType<typeof sql>, from: ReturnType<typeof sql>) {
  return sql<string>`(select coalesce(json_agg(${row}), '[]')::text from ${from})`
}

function parametersOf(group: readonly Asked[], isAgain: boolean) {
  const drafts = group.map(({ draft }) => draft)
  const slots = drafts.flatMap(({ slot }) => slot ?? [])
  const members = onceEach(group, ({ names }) => names.member)
  const retries = onceEach(group, ({ names }) => names.retry)
  const earliest = Math.min(...drafts.map(({ submittedAt }) => submittedAt))
  const conflicts = drafts.map(conflictAsked)
  return {
    partnerIds: idList(members.map(({ draft }) => draft.partnerId)),
    memberHashes: hashList(members.map(({ names }) => names.member)),
    addressHashes: hashList(onceEach(group, ({ names }) => names.address).map(({ names }) => names.address)),
    providerIds: idList(slots.map(({ providerId }) => providerId)),
    startsAts: idList(slots.map(({ startsAt }) => startsAt)),
    heldFrom: earliest - slotMillis,
    retryPartners: idList(retries.map(({ draft }) => draft.partnerId)),
    retryHashes: hashList(retries.map(({ names }) => names.retry as Buffer)),
    expiredUntil: expiredBy(earliest),
    expiredMost: mostForgottenBeside * retries.length,
    since: Math.min(...group.map(versionOf)),
    actors: wordList(conflicts.map(({ actor }) => actor)),
    afters: idList(conflicts.map(({ after }) => after)),
    backs: idList(conflicts.map(({ back }) => back)),
    recordKeys: wordList(isAgain ? group.map(({ recordKey }) => recordKey) : []),
    count: group.length,
  }
}

/** Of those who ask for the same, the first: what is held would be told as often as it is asked for. */
function onceEach(group: readonly Asked[], hashOf: (asked: Asked) => Buffer | null): Asked[] {
  const firsts = new Map<string, Asked>()
  for (const asked of group) {
    const hash = hashOf(asked)?.toString('hex')
    if (hash !== undefined && !firsts.has(hash)) firsts.set(hash, asked)
  }
  return [...firsts.values()]
}

/** A version is a number on this engine. */
export function versionOf({ draft }: Asked): number {
  return draft.version as unknown as number
}

/** What the statement tells, as it is told. */
export interface GroupRows {
  /** The id, record key and hash, the partner, whether active, and the sealed profile in hex. */
  readonly members: [number, string, string, number, boolean, string][]
  /** The address' hash, and the member's id. */
  readonly owners: [string, number][]
  /** The request, the member, the provider, and when it starts. */
  readonly holders: [number, number | null, number, number][]
  /** The member, the request, and when it starts. */
  readonly held: [number, number, number][]
  /** The request, the partner, the hashes of key and body, the sealed receipt, and when it was submitted. */
  readonly kept: [number, number, string, string, string, number][]
  /** The request, and when it was submitted. */
  readonly expired: [number, number][]
  /** The version, and what was changed. */
  readonly since: [number, ChangedNoun, number][]
  /** What was asked for, and when the conflict was. */
  readonly conflicts: [string, number, number, number][]
  /** The record key, and the request. */
  readonly stored: [string, number][]
  readonly memberIds: number[]
  readonly requestIds: number[]
}
