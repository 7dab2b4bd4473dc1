import { type BookingRequest, type Receipt, slotMillis } from '../../src/domain/booking-request'
import type { KeptAnswer } from '../../src/domain/decide-replay'
import { mostForgottenBeside } from '../../src/domain/decide-replay'
import {
  conflictAsked,
  type HeldSlot,
  type SlotHolder,
  type SubmissionFacts,
} from '../../src/domain/decide-submission'
import type { Member } from '../../src/domain/member'
import type { Vault } from '../../src/domain/vault'
import type { Change } from '../../src/domain/writes'
import type { SealedMember } from '../sealed/binding'
import { emailHash, openProfile } from '../sealed/members'
import { toKeptAnswer } from '../sealed/replays'
import { type Asked, type GroupRows, versionOf } from './submission-facts'

/** Who holds which slot of which provider. */
interface Holder extends SlotHolder {
  readonly providerId: number
}

/** An answer that is kept: of an earlier transaction, or of one before it in the same group, with what was sent. */
type Kept = GroupRows['kept'][number] | { readonly body: string; readonly answer: KeptAnswer }

/**
 * What holds for a group of submissions: of one moment, and beside it what those of the group that were decided first are
 * about to store.
 */
export class GroupFacts {
  readonly #members: Map<string, Member | GroupRows['members'][number]>
  readonly #owners: Map<string, number>
  readonly #holders: Holder[]
  readonly #held: (HeldSlot & { readonly memberId: number })[]
  readonly #kept: Map<string, Kept>
  readonly #expired: number[]
  readonly #givenBack = new Set<string>()
  readonly #conflicts: ReadonlyMap<string, number>

  /** @param oldest the oldest version that one of the group was decided on */
  constructor(
    private readonly vault: Vault,
    private readonly read: GroupRows,
    private readonly oldest: number,
  ) {
    this.#members = new Map(read.members.map((row) => [row[2], row]))
    this.#owners = new Map(read.owners)
    this.#holders = read.holders.map(([requestId, memberId, providerId, startsAt]) => {
      return { requestId, memberId, providerId, startsAt }
    })
    this.#held = read.held.map(([memberId, requestId, startsAt]) => ({ memberId, requestId, startsAt }))
    this.#kept = new Map(read.kept.map((row) => [row[2], row]))
    this.#expired = read.expired.map(([requestId]) => requestId)
    this.#conflicts = new Map(read.conflicts.map(([...asked]) => [asked.slice(0, 3).join(' '), asked[3]]))
  }

  /** Whether a request is stored under a record key, where that was asked for. */
  isStored(recordKey: string): boolean {
    return this.read.stored.some(([key]) => key === recordKey)
  }

  /** An id for a new member or request. */
  takeId(noun: 'member' | 'request'): number {
    const ids = noun === 'member' ? this.read.memberIds : this.read.requestIds
    const id = ids.shift()
    if (id === undefined) throw new Error(`more ids were needed than were taken: ${noun}`)
    return id
  }

  /** What the sealed values of the members who were there are bound to, by id. */
  get sealedMembers(): ReadonlyMap<number, SealedMember> {
    return new Map(this.read.members.map((row) => [row[0], toSealedMember(row)]))
  }

  /** Whether one of the group asks for an address that another of it is about to give back. */
  isGivenBack({ names }: Asked): boolean {
    return this.#givenBack.has(hex(names.address))
  }

  /** What decides about one of the group. @throws Refusal database_unusable where what is sealed cannot be opened */
  factsOf(asked: Asked): SubmissionFacts {
    const { draft, names } = asked
    const { slot } = draft
    const member = this.#memberOf(asked)
    const { actor, after, back } = conflictAsked(draft)
    return {
      since: this.#since(versionOf(asked)),
      member,
      emailOwnerId: this.#owners.get(hex(names.address)) ?? null,
      holders: slot ? this.#holders.filter(isTouching(slot)) : [],
      held: slot && member ? this.#held.filter(({ memberId }) => memberId === member.id) : [],
      conflictAt: this.#conflicts.get(`${actor} ${after} ${back}`) ?? null,
      kept: names.retry && this.#keptOf(asked, hex(names.retry)),
      expired: names.retry ? this.#expired.splice(0, mostForgottenBeside) : [],
    }
  }

  /** Takes what one of the group is about to store. @param receipt what is kept of it for its retries */
  note({ draft, names }: Asked, request: BookingRequest, receipt: Receipt | null): void {
    const { slot, retry, submittedAt } = draft
    const { member } = request
    const before = this.#members.get(hex(names.member))
    const addressBefore = before && 'profile' in before && hex(emailHash(this.vault, before.profile.email))
    if (addressBefore && addressBefore !== hex(names.address)) this.#givenBack.add(addressBefore)
    this.#members.set(hex(names.member), member)
    this.#owners.set(hex(names.address), member.id)
    if (slot) {
      this.#holders.push({ ...slot, requestId: request.id, memberId: member.id })
      this.#held.push({ memberId: member.id, requestId: request.id, startsAt: slot.startsAt })
    }
    if (names.retry && retry && receipt) {
      const answer = { requestId: request.id, submittedAt, receipt }
      this.#kept.set(hex(names.retry), { body: retry.body, answer })
    }
  }

  /** Opened once: a profile that was read is remembered as it was. */
  #memberOf({ draft, names }: Asked): Member | null {
    const known = this.#members.get(hex(names.member))
    if (!known || 'profile' in known) return known ?? null
    const [id, , , partnerId, active, sealed] = known
    const sealedProfile = Buffer.from(sealed, 'hex')
    const profile = openProfile(this.vault, { ...toSealedMember(known), id, sealedProfile })
    // That the id is theirs need not be read: the profile opens under no other.
    const member = { id, partnerId, externalUserId: draft.externalUserId, active, profile }
    this.#members.set(hex(names.member), member)
    return member
  }

  /** Null where some of what changed may be kept no longer. */
  #since(version: number): Change[] | null {
    const { since } = this.read
    if (since[0]?.[0] !== this.oldest) return null
    const later = since.filter(([number, noun]) => number > version && noun !== 'taken')
    return later.map(([, noun, recordId]) => ({ noun, recordId }))
  }

  #keptOf({ draft: { partnerId, retry } }: Asked, key: string): KeptAnswer | null {
    const kept = this.#kept.get(key)
    if (!kept || !retry) return null
    if ('answer' in kept) return kept.body === retry.body ? kept.answer : { ...kept.answer, receipt: null }
    const [id, , , body, sealed, submittedAt] = kept
    const [keyHash, bodyHash, sealedReceipt] = [bytes(key), bytes(body), bytes(sealed)]
    const row = { id, partnerId, keyHash, bodyHash, sealedReceipt, submittedAt }
    return toKeptAnswer(this.vault, row, partnerId, retry)
  }
}

function hex(hash: Buffer): string {
  return hash.toString('hex')
}

function bytes(text: string): Buffer {
  return Buffer.from(text, 'hex')
}

function toSealedMember([, recordKey, hash, partnerId]: GroupRows['members'][number]): SealedMember {
  return { recordKey, partnerId, externalUserIdHash: bytes(hash) }
}

function isTouching(slot: { readonly providerId: number; readonly startsAt: number }) {
  return ({ providerId, startsAt }: Holder) =>
    providerId === slot.providerId && Math.abs(startsAt - slot.startsAt) < slotMillis
}
