import type { Directory } from '../directory/directory'
import type { Act } from '../domain/audit'
import {
  decideEmailRelease,
  decideErasure,
  decideExport,
  decideFinding,
  decideMemberState,
  type MemberExport,
} from '../domain/decisions/members'
import { Refusal } from '../domain/errors'
import { foldName, type MatchedBy, type Member, type MemberProfile, matcherOf } from '../domain/member'
import type { Partner } from '../domain/partner'
import type { Facts, Store } from '../domain/ports/store'
import type { ZoneData } from '../domain/ports/time'
import { homeZonesOf, type Region, regionRef } from '../domain/region'
import { minuteMillis } from '../scheduling/calendar'
import { formatLocal, offsetAt, type TimeZone } from '../scheduling/time-zone'
import type { Context, Records } from './context'
import { wasErased } from './find-records'
import { tryPurge } from './maintenance'

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
  const member = await store.read(({ members }) => members.find(id, externalId))
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
  const owner = text.includes('@') ? await findByEmail(records, text, act) : null
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

/** The member, of whichever partner, who has an e-mail address; the audit log keeps who asked. */
export function findByEmail({ store }: Records, email: string, act: Act): Promise<Member | null> {
  return store.change(act, ({ members }) => [members.findByEmail(email)], decideFinding)
}

/** By what is found without a look at anybody else. */
async function findNamed({ store }: Records, text: string, owner: Member | null): Promise<FoundMember[]> {
  const partners = await store.read((facts) => facts.partners.list())
  const theirs = await Promise.all(
    partners.map(({ id }) => store.read(({ members }) => members.find(id, text))),
  )
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
  const readAfter = (id: number) => store.read(({ members }) => members.list(id, membersAtOnce))
  let read = await readAfter(0)
  while (read.length > 0) {
    for (const member of read) {
      const by = named.find((one) => one.member.id === member.id)?.by ?? matches(member)
      if (by === null) continue
      count++
      if (found.length < mostShown) found.push({ member, by })
    }
    read = await readAfter(read.at(-1)?.id as number)
  }
  return { found, count }
}

/** Lets another member have the e-mail address of one, who has none then. @throws Refusal move_unknown without one */
export function releaseEmail({ store }: Records, { id }: Member, act: Act): Promise<void> {
  return store.change(
    act,
    ({ members }) => [members.findById(id)],
    (member) => decideEmailRelease(member, act),
    { isAlone: true },
  )
}

/** Refuses a member's look-ups and bookings for them, with 403. */
export function deactivateMember(records: Records, member: Pick<Member, 'id'>, act: Act): Promise<void> {
  return setMemberActive(records, member, false, act)
}

/** Lets a member be looked up and booked for again. */
export function reactivateMember(records: Records, member: Member, act: Act): Promise<void> {
  return setMemberActive(records, member, true, act)
}

function setMemberActive(
  { store }: Records,
  { id }: Pick<Member, 'id'>,
  active: boolean,
  act: Act,
): Promise<void> {
  return store.change(
    act,
    ({ members }) => [members.findForStaff(id)],
    (member) => decideMemberState(member, active),
    { isAlone: true },
  )
}

/** All that is held on a member, answers included; the audit log keeps who had it. */
export async function exportMember({ store }: Records, { id }: Member, act: Act): Promise<MemberExport> {
  // Read before the change, because it may take long.
  const held = await store.read((facts) => heldOn(facts, id))
  return store.change(
    act,
    ({ members }) => [members.findForStaff(id)],
    (member) => decideExport(member && held),
  )
}

async function heldOn({ members, requests, notes }: Facts, id: number): Promise<MemberExport | null> {
  const member = await members.findById(id)
  if (!member) return null
  const all = []
  for (const request of await requests.listWithAnswers(id)) {
    all.push({ ...request, notes: await notes.listOf(request.id) })
  }
  return { member, ...(await members.timesOf(id)), requests: all }
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
  { store, maintenance }: Records,
  id: number,
): Promise<Omit<Erasure, 'holding'> | null> {
  if (await store.read(({ members }) => members.findForStaff(id))) return null
  return (await wasErased({ store }, id)) ? purge({ maintenance }) : null
}

/** Removes a member from the records, and returns the ids of their requests whose slots stay taken. */
export function storeErasure({ store }: Pick<Records, 'store'>, id: number, act: Act): Promise<number[]> {
  return store.change(
    act,
    ({ members, requests, notes }) => [members.findForStaff(id), requests.listOf(id), notes.idsOfMember(id)],
    decideErasure,
    { isAlone: true, isLarge: true },
  )
}

/** Removes a member for good; the bare facts of their requests stay, tied to nobody. */
export async function eraseMember(
  { store, maintenance }: Records,
  { id }: Member,
  act: Act,
): Promise<Erasure> {
  const holding = await storeErasure({ store }, id, act)
  return { holding, ...(await purge({ maintenance })) }
}

async function purge({ maintenance }: Pick<Records, 'maintenance'>): Promise<Omit<Erasure, 'holding'>> {
  return { isPurged: await tryPurge({ maintenance }), keptIn: await maintenance.keptAfterErasure() }
}

/** By what the clocks of members are told. */
export type Clocks = Pick<ZoneData, 'find' | 'zonesOf'>

/** What the clock shows where a member is, as far as what they told of the place allows. */
export interface MemberTime {
  /** As `Tue 2026-12-01 09:00`: the earliest and the latest that it may be there, mostly the same. */
  readonly earliest: string
  readonly latest: string
  /** The zones (IANA) that it may be told by, the likeliest first. */
  readonly zones: readonly string[]
}

/**
 * The time at an instant where a member is; null where it cannot be told.
 *
 * @param at ms
 */
export function memberTimeAt(
  zones: Clocks,
  profile: Pick<MemberProfile, 'country' | 'state'>,
  at: number,
): MemberTime | null {
  const minute = at / minuteMillis
  const found = homeZonesOf(profile, zones.zonesOf).flatMap((name): readonly TimeZone[] => {
    const zone = zones.find(name)
    return zone ? [{ ...zone, name }] : []
  })
  const offset = (zone: TimeZone) => offsetAt(zone, Math.floor(minute))
  const [earliest] = found.toSorted((a, b) => offset(a) - offset(b))
  const [latest] = found.toSorted((a, b) => offset(b) - offset(a))
  if (!earliest || !latest) return null
  // One zone of each time is enough to tell it by.
  const distinct = found.filter(
    (zone, place) => found.findIndex((other) => offset(other) === offset(zone)) === place,
  )
  return {
    earliest: formatLocal(earliest, minute),
    latest: formatLocal(latest, minute),
    zones: distinct.map(({ name }) => name),
  }
}

/** Where a member is, as far as their country and state tell it. */
export interface Whereabouts {
  /** Null where it cannot be told: no state, or one that names no active region. */
  readonly region: Region | null
  /** The country's active regions: the member is in one of them, or in none that is known. */
  readonly candidates: readonly Region[]
}

/**
 * The active region that a member is in: the one of a country that is not divided, else the one that their
 * state names, by code (ON, CA-ON) or local name; neither case nor accents matter.
 */
export function whereaboutsOf(
  directory: Directory,
  { country, state }: Pick<MemberProfile, 'country' | 'state'>,
): Whereabouts {
  const candidates = directory.listRegions(country)
  const [first] = candidates
  if (candidates.length === 1 && first?.code === country) return { region: first, candidates }
  const named = foldName(state ?? '')
  const isNamed = (region: Region) =>
    [region.code, regionRef(region), region.localName].some((name) => foldName(name) === named)
  return { region: candidates.find(isNamed) ?? null, candidates }
}
