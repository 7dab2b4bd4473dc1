import type { Directory } from '../directory/directory'
import type { Act } from '../domain/audit'
import type { RequestRecord } from '../domain/booking-request'
import { type ActorSpan, nothing, personActions, takeLine, touch } from '../domain/decisions/affected'
import {
  type DueMember,
  decideDueErasure,
  decideEdit,
  decideEmailRelease,
  decideErasure,
  decideExport,
  dueAmong,
  type MemberExport,
} from '../domain/decisions/members'
import { Refusal } from '../domain/errors'
import { foldName, type Member, type MemberEdit, type MemberProfile } from '../domain/member'
import type { Partner } from '../domain/partner'
import type { Facts } from '../domain/ports/store'
import { pause, type ZoneData } from '../domain/ports/time'
import { decideState } from '../domain/ports/writes'
import { homeZonesOf, type Region, regionRef } from '../domain/region'
import { slotMinutes } from '../scheduling/availability'
import { dayMinutes, minuteMillis } from '../scheduling/calendar'
import { formatLocal, offsetAt, type TimeZone, toLocal } from '../scheduling/time-zone'
import type { Context, Records } from './context'
import { wasErased } from './find-records'
import { matchingLines, tryPurge } from './maintenance'

/** Finds a member by external id and records the look-up. @throws Refusal member_not_found, or member_deactivated */
export async function lookUpMember(
  { store, notebook }: Context,
  { id }: Partner,
  externalId: string,
  now: number,
): Promise<Member> {
  const member = await store.read(({ members }) => members.find(id, externalId))
  if (!member) throw new Refusal('member_not_found', 'no member has this id')
  // Recorded for deactivated members too, because the answer reveals that the member exists.
  notebook.noteLookUp(id, member.id, now)
  if (!member.active) throw new Refusal('member_deactivated', 'the member is deactivated')
  return member
}

/**
 * Corrects or clears fields. The audit log records their names. @param asked as shown in the confirmation prompt
 * @throws Refusal email_taken, move_unknown if nothing would change, not_confirmed if the member changed meanwhile
 */
export function editMember(
  { store }: Records,
  id: number,
  edit: MemberEdit,
  act: Act,
  asked: Member | null = null,
): Promise<void> {
  return store.change(
    act,
    ({ members }) => [members.findById(id), members.findByEmail(edit.email ?? '')],
    (member, owner) => decideEdit(member, owner, asked, edit, act),
    { isAlone: true },
  )
}

/** Empties a member's e-mail address, so that another member can use it. @throws Refusal move_unknown if there is none */
export function releaseEmail({ store }: Records, { id }: Member, act: Act): Promise<void> {
  const release = (member: Member | null) => decideEmailRelease(member, act)
  return store.change(act, ({ members }) => [members.findById(id)], release, { isAlone: true })
}

/** The API answers look-ups and bookings of a deactivated member with HTTP 403. */
export function setMemberActive({ store }: Records, { id }: Pick<Member, 'id'>, active: boolean, act: Act) {
  const decide = (member: Member | null) => decideState('member', member, active)
  return store.change(act, ({ members }) => [members.findForStaff(id)], decide, { isAlone: true })
}

/** Returns a member's requests and what partners sent with them, oldest first. Empty for an erased member. */
export async function readHistory({ store }: Records, member: Member | null) {
  const id = member?.id ?? 0
  const sent = await store.read((facts) => facts.requests.sentProfilesOf(id))
  const requests = await store.read((facts) => facts.requests.listOf(id))
  return { sent, requests: requests.map((request): RequestRecord => ({ ...request, member })) }
}

/** Returns all data about a member, including screening answers. The audit log records the export. */
export async function exportMember({ store }: Records, { id }: Member, act: Act): Promise<MemberExport> {
  // Reads before the transaction, because reading may take long.
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

/** Finishes an interrupted erasure. Returns null if no member with this id was erased. */
export async function finishErasure({ store, maintenance }: Records, id: number) {
  if (await store.read(({ members }) => members.findForStaff(id))) return null
  return (await wasErased({ store }, id)) ? purge({ maintenance }) : null
}

/** Removes a member from the records. Returns the ids of the requests that keep a slot. */
export function storeErasure({ store }: Pick<Records, 'store'>, id: number, act: Act): Promise<number[]> {
  return store.change(
    act,
    ({ members, requests, notes }) => [members.findForStaff(id), requests.listOf(id), notes.ofMembers([id])],
    decideErasure,
    { isAlone: true, isLarge: true },
  )
}

/** Erases a member. The requests stay, without personal data. `holding` are the ids of those that keep a slot. */
export async function eraseMember({ store, maintenance }: Records, { id }: Member, act: Act) {
  const holding = await storeErasure({ store }, id, act)
  return { holding, ...(await purge({ maintenance })) }
}

const [dueAtOnce, erasedAtOnce, pauseMillis] = [1_000, 50, 25]

/** Yields the members whose last request ended before `before` (ms). Decrypts nothing. */
export async function* membersDue({ store }: Records, before: number): AsyncGenerator<DueMember> {
  const idsAfter = (id: number) => store.read(({ members }) => members.idsAfter(id, dueAtOnce))
  for (let ids = await idsAfter(0); ids.length > 0; ids = await idsAfter(ids.at(-1) as number)) {
    yield* dueAmong(await store.read(({ requests }) => requests.endsOf(ids)), before)
    // Other work of this process can run between two batches.
    await new Promise(setImmediate)
  }
}

/**
 * Erases members in batches, with pauses for other writers. Leaves out members that have an open or newer request by
 * then. Returns the ids of erased members.
 */
export async function eraseDue(
  { store, maintenance }: Records,
  ids: readonly number[],
  before: number,
  act: Act,
) {
  const erased: number[] = []
  for (let start = 0; start < ids.length; start += erasedAtOnce) {
    if (start > 0) await pause(pauseMillis)
    const some = ids.slice(start, start + erasedAtOnce)
    const done = await store.change(
      act,
      ({ requests, notes }) => [requests.endsOf(some), notes.ofMembers(some)],
      (requests, notes) => decideDueErasure(requests, notes, before),
      { isAlone: true, isLarge: true },
    )
    erased.push(...done)
  }
  return { erased, ...(await purge({ maintenance })) }
}

/** `isPurged` is false if the storage still contains traces. `keptIn` names the places that still keep the data, for staff. */
async function purge({ maintenance }: Pick<Records, 'maintenance'>) {
  return { isPurged: await tryPurge({ maintenance }), keptIn: await maintenance.keptAfterErasure() }
}

/** Finds the members whose data was seen or changed in `spans`, in order of id. `member` is null after an erasure. */
export async function listAffected({ store }: Records, spans: readonly ActorSpan[]) {
  const found = nothing()
  for (const span of spans) {
    const { actor, since, until } = span
    for (const action of personActions) {
      const filter = { actor: actor ?? undefined, since, until, actions: [action] }
      for await (const line of matchingLines({ store }, filter)) takeLine(found, line, span)
    }
    // A booking of a known member leaves no audit line.
    const partnerId = Number(/^partner (\d+)$/.exec(actor ?? '')?.[1] ?? 0)
    const submitted = { partnerId, submittedFrom: since, submittedUntil: until - 1 }
    const owned = partnerId ? await store.read(({ requests }) => requests.listOwned(submitted)) : []
    for (const { memberId } of owned)
      if (memberId !== null) touch(found.members, memberId, ['request.submit'])
  }
  const ids = [...found.requests.keys()]
  for (let start = 0; start < ids.length; start += requestsAtOnce) {
    const some = ids.slice(start, start + requestsAtOnce)
    for (const request of await store.read(({ requests }) => requests.findAll(some))) {
      if (!request?.member) continue
      touch(found.members, request.member.id, found.requests.get(request.id) ?? [])
      found.requests.delete(request.id)
    }
    await pause(0)
  }
  const members = []
  for (const [id, actions] of [...found.members].sort(([one], [other]) => one - other)) {
    members.push({ id, member: await store.read((facts) => facts.members.findForStaff(id)), actions })
  }
  // The requests that are left belong to people who were erased.
  const { unnamed, actors, requests } = found
  return { members, unnamed, actors, erasedRequests: requests.size }
}

const requestsAtOnce = 100

export type Clocks = Pick<ZoneData, 'find' | 'zonesOf'>

/** A member's local time, derived from country and state. */
export type MemberTime = NonNullable<ReturnType<typeof memberTimeIn>>

type Home = Pick<MemberProfile, 'country' | 'state'>

/** The possible time zones of a member, likeliest first; none if they cannot be determined. */
export type Zones = readonly TimeZone[]

export function memberZones(clocks: Clocks, home: Home): Zones {
  return homeZonesOf(home, clocks.zonesOf).flatMap((name): Zones => {
    const zone = clocks.find(name)
    return zone ? [{ ...zone, name }] : []
  })
}

/** Returns true if a slot is from 08:00 to 21:00 in all zones of a member. @param start minutes */
export function isDaytime(zones: Zones, start: number): boolean {
  return zones.every((zone) => {
    const minute = toLocal(zone, start) % dayMinutes
    return 8 * 60 <= minute && minute + slotMinutes <= 21 * 60
  })
}

/** Returns a member's local time at `at` (ms); null if it cannot be determined. */
export function memberTimeAt(clocks: Clocks, home: Home, at: number): MemberTime | null {
  return memberTimeIn(memberZones(clocks, home), at)
}

export function memberTimeIn(found: Zones, at: number) {
  const minute = at / minuteMillis
  const offset = (zone: TimeZone) => offsetAt(zone, Math.floor(minute))
  const [earliest] = found.toSorted((a, b) => offset(a) - offset(b))
  const [latest] = found.toSorted((a, b) => offset(b) - offset(a))
  if (!earliest || !latest) return null
  const distinct = found.filter(
    (zone, place) => found.findIndex((other) => offset(other) === offset(zone)) === place,
  )
  return {
    /** For example `Tue 2026-12-01 09:00`. The latest possible time is usually the same. */
    earliest: formatLocal(earliest, minute),
    latest: formatLocal(latest, minute),
    /** One possible IANA zone for each distinct time, likeliest first. */
    zones: distinct.map(({ name }) => name) as readonly string[],
  }
}

/** A member's location, derived from country and state. */
export interface Whereabouts {
  /** Null if the state is missing or matches no active region. */
  readonly region: Region | null
  readonly candidates: readonly Region[]
}

/** Finds a member's active region by state code (ON, CA-ON) or local name. Ignores case and accents. */
export function whereaboutsOf(directory: Directory, { country, state }: Home): Whereabouts {
  const candidates = directory.listRegions(country)
  const [first] = candidates
  if (candidates.length === 1 && first?.code === country) return { region: first, candidates }
  const named = foldName(state ?? '')
  const isNamed = (region: Region) =>
    [region.code, regionRef(region), region.localName].some((name) => foldName(name) === named)
  return { region: candidates.find(isNamed) ?? null, candidates }
}
