import type { Act } from '../domain/audit'
import type { MemberExport } from '../domain/decide-member'
import { Refusal } from '../domain/errors'
import { type MatchedBy, type Member, matcherOf } from '../domain/member'
import type { Partner } from '../domain/partner'
import type { Store } from '../domain/store'
import { wasErased } from './audit-subjects'
import type { Context, Records } from './context'
import { tryPurge } from './purge'

/**
 * The member whom a partner knows by an id of its own, which the audit log keeps.
 *
 * @param now ms
 * @throws Refusal member_not_found, or member_deactivated
 */
export async function lookUpMember(
  { store, notebook }: Context,
  { id }: Partner,
  externalId: string,
  now: number,
): Promise<Member> {
  const member = await store.findMember(id, externalId)
  if (!member) throw new Refusal('member_not_found', 'no member has this id')
  // That there is such a member is told in either case.
  notebook.noteLookUp(id, member.id, now)
  if (!member.active) throw new Refusal('member_deactivated', 'the member is deactivated')
  return member
}

/** How many members are read at once to be looked through, and how many are shown of those found. */
const [membersAtOnce, mostShown] = [1_000, 50]

/** Members who were looked for, and how many there are. */
export interface FoundMembers {
  /** In order of id, 50 at most. */
  readonly found: readonly FoundMember[]
  readonly count: number
}

export interface FoundMember {
  readonly member: Member
  readonly by: MatchedBy
}

/**
 * The members whom a text tells of: by their whole e-mail address or partner's id at once, and by a part of their name,
 * phone number or address once all were looked through. The audit log keeps who asked, how many were found, and who was
 * shown.
 *
 * @param text not empty
 */
export async function findMembers(records: Records, text: string, act: Act): Promise<FoundMembers> {
  const owner = text.includes('@') ? await records.store.findMemberByEmail(text, act) : null
  const named = await findNamed(records, text, owner)
  // What has a digit or an @ and is somebody's whole id or address is no part of a name.
  const isClear = named.length > 0 && /[\d@]/.test(text)
  const all = isClear ? { found: named, count: named.length } : await lookThrough(records.store, text, named)
  const line = { ...act, action: 'member.find' as const }
  await records.store.appendAudit([
    { ...line, record: null, outcome: `${all.count} found` },
    ...all.found
      // That the address was looked for is noted already, with whose it is.
      .filter(({ member }) => member.id !== owner?.id)
      .map(({ member }) => ({ ...line, record: `member ${member.id}`, outcome: 'done' })),
  ])
  return all
}

/** By what is found without a look at anybody else. */
async function findNamed({ store }: Records, text: string, owner: Member | null): Promise<FoundMember[]> {
  const partners = await store.listPartners()
  const theirs = await Promise.all(partners.map(({ id }) => store.findMember(id, text)))
  return [
    ...(owner ? [{ member: owner, by: 'e-mail' } as const] : []),
    ...theirs.flatMap((member) =>
      member && member.id !== owner?.id ? [{ member, by: "partner's id" } as const] : [],
    ),
  ]
}

async function lookThrough(store: Store, text: string, named: readonly FoundMember[]): Promise<FoundMembers> {
  const matches = matcherOf(text)
  const found: FoundMember[] = []
  let count = 0
  let read = await store.listMembers(0, membersAtOnce)
  while (read.length > 0) {
    for (const member of read) {
      const by = named.find((one) => one.member.id === member.id)?.by ?? matches(member)
      if (by === null) continue
      count++
      if (found.length < mostShown) found.push({ member, by })
    }
    read = await store.listMembers(read.at(-1)?.id as number, membersAtOnce)
  }
  return { found, count }
}

/** Lets another member have the e-mail address of one, who has none then. @throws Refusal move_unknown without one */
export function releaseEmail({ store }: Records, { id }: Member, act: Act): Promise<void> {
  return store.releaseEmail(id, act)
}

/** Refuses a member's look-ups and bookings for them, with 403. */
export function deactivateMember({ store }: Records, { id }: Pick<Member, 'id'>, act: Act): Promise<void> {
  return store.setMemberActive(id, false, act)
}

/** Lets a member be looked up and booked for again. */
export function reactivateMember({ store }: Records, { id }: Member, act: Act): Promise<void> {
  return store.setMemberActive(id, true, act)
}

/** All that is held on a member, answers included; the audit log keeps who had it. */
export function exportMember({ store }: Records, { id }: Member, act: Act): Promise<MemberExport> {
  return store.exportMember(id, act)
}

/** What the erasure of a member has left. */
export interface Erasure {
  /** The ids of their requests whose slots stay taken. */
  readonly holding: readonly number[]
  /** Whether the engine has removed all traces too: until it has, what was erased can be read from where it lies. */
  readonly isPurged: boolean
  /** Where it still is all the same, for staff to know. */
  readonly keptIn: string
}

/** Takes the last step of an erasure that was killed or kept from it. Null if nobody of that id was erased. */
export async function finishErasure(
  { store, upkeep }: Records,
  id: number,
): Promise<Omit<Erasure, 'holding'> | null> {
  if (await store.findMemberById(id)) return null
  return (await wasErased({ store }, id)) ? purge({ upkeep }) : null
}

/** Removes a member for good; the bare facts of their requests stay, tied to nobody. */
export async function eraseMember({ store, upkeep }: Records, { id }: Member, act: Act): Promise<Erasure> {
  const holding = await store.eraseMember(id, act)
  return { holding, ...(await purge({ upkeep })) }
}

async function purge({ upkeep }: Pick<Records, 'upkeep'>): Promise<Omit<Erasure, 'holding'>> {
  return { isPurged: await tryPurge({ upkeep }), keptIn: await upkeep.keptAfterErasure() }
}
