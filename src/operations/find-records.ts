import type { Listing } from '../directory/listing'
import type { Act, AuditSubject } from '../domain/audit'
import type { RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import { foldName, type MatchedBy, type Member, matcherOf } from '../domain/member'
import type { Organization, Partner } from '../domain/partner'
import type { NamedProvider, Provider } from '../domain/provider'
import { type Region, regionRef } from '../domain/region'
import { dayMillis } from '../scheduling/calendar'
import type { Context, Records } from './context'
import { noteAct } from './maintenance'
import { noteReadings } from './notebook'

/** Finds an organization by name or id. @throws Refusal record_unknown */
export async function requireOrganization({ store }: Records, nameOrId: string): Promise<Organization> {
  const all = await store.read(({ partners }) => partners.listOrganizations())
  return requireOne(all, nameOrId, 'organization')
}

/** Finds a partner by name or id. @throws Refusal record_unknown */
export async function requirePartner({ store }: Records, nameOrId: string): Promise<Partner> {
  return requireOne(await store.read(({ partners }) => partners.list()), nameOrId, 'partner')
}

/** Finds a provider by ref, id or name. Includes deactivated providers. @throws Refusal record_unknown */
export function requireProvider({ directory }: Context, refOrId: string): Provider {
  const all = directory.listProviders()
  const found = all.find(({ ref }) => ref === refOrId) ?? all.find(({ id }) => String(id) === refOrId)
  if (found) return found
  if (findUnreadable(directory, refOrId)) throw unreadableProvider()
  return requireNamed(all, refOrId)
}

/** Like requireProvider, but reads the database, for commands that load no directory. */
export async function readProvider({ store }: Records, refOrId: string): Promise<Provider> {
  const named = await store.read(({ directory }) => directory.findId(refOrId))
  const id = named ?? (/^[1-9]\d{0,14}$/.test(refOrId) ? Number(refOrId) : 0)
  const find = (id: number) => store.read(({ directory }) => directory.findProviders([id]))
  let found = await find(id)
  if (found.providers.length + found.unreadable.length === 0) {
    found = await find(
      requireNamed(await store.read((facts) => facts.directory.listProviderNames()), refOrId).id,
    )
  }
  if (found.providers[0]) return found.providers[0]
  throw unreadableProvider()
}

function unreadableProvider(): Refusal {
  return new Refusal('record_unknown', 'the record of that provider cannot be read', {
    action: 'run anteroom directory load with a JSON file that has this provider',
  })
}

/** Finds a provider by whole words of the name. Ignores case and accents. */
function requireNamed<T extends NamedProvider>(all: readonly T[], word: string): T {
  const nameOf = ({ firstName, lastName }: T) => `${firstName} ${lastName}`
  const named = all.filter((one) => ` ${foldName(nameOf(one))} `.includes(` ${foldName(word)} `))
  const [found, other] = named
  if (found && !other) return found
  if (found) {
    const list = named.map((one) => `${one.ref} ${nameOf(one)}`).join(', ')
    throw new Refusal('record_unknown', `several providers have that name: ${list}`, { action: 'its ref' })
  }
  const candidates = { noun: 'provider', word, known: all.flatMap((one) => [one.ref, nameOf(one)]) } as const
  throw new Refusal('record_unknown', 'there is no provider with that ref, id or name', { candidates })
}

/** Like requireProvider, but includes providers whose record cannot be read. */
export function requireProviderName(context: Context, refOrId: string): ProviderName {
  return findUnreadable(context.directory, refOrId) ?? requireProvider(context, refOrId)
}

function findUnreadable(directory: Context['directory'], refOrId: string): ProviderName | undefined {
  return directory.listUnreadable().find(({ id, ref }) => ref === refOrId || String(id) === refOrId)
}

/** @throws Refusal move_unknown if searches leave the provider out, for example because its time zone is unknown */
export function requireListing({ directory }: Context, { id, ref }: ProviderName): Listing {
  const listing = directory.findAnyListing(id)
  if (listing) return listing
  throw new Refusal('move_unknown', `provider ${ref} is left out of searches`, {
    action: 'run anteroom doctor',
  })
}

export function readProviders({ store }: Records, items: readonly { readonly providerId: number | null }[]) {
  const ids = [...new Set(items.flatMap(({ providerId }) => providerId ?? []))]
  return store.read(({ directory }) => directory.findProviders(ids))
}

/** Finds a region by code, such as CA-ON, or by name. Ignores case and accents. @throws Refusal region_unknown */
export function requireRegion({ directory }: Context, word: string): Region {
  const found = directory
    .listAllRegions()
    .filter((one) => [regionRef(one), one.localName].some((name) => foldName(name) === foldName(word)))
  if (found[0] && found.length === 1) return found[0]
  const fault = found[0] ? 'several regions have that name' : 'there is no region with that code or name'
  throw new Refusal('region_unknown', fault, { action: 'write it like CA-ON' })
}

/** @throws Refusal record_unknown */
export async function requireRequest({ store }: Records, id: number): Promise<RequestRecord> {
  const found = await store.read(({ requests }) => requests.find(id))
  if (!found) throw new Refusal('record_unknown', 'there is no request with that id')
  return found
}

export type MemberName =
  | { readonly id: number }
  | { readonly partner: string; readonly externalUserId: string }

/** Finds a member. Includes deactivated members. @throws Refusal record_unknown */
export async function requireMember(records: Records, name: MemberName): Promise<Member> {
  const partner = 'id' in name ? null : await requirePartner(records, name.partner)
  const found = await records.store.read(({ members }) =>
    'id' in name ? members.findForStaff(name.id) : members.find((partner as Partner).id, name.externalUserId),
  )
  if (!found) throw new Refusal('record_unknown', 'there is no member with that id')
  return found
}

function requireOne<T extends Organization | Partner>(
  all: readonly T[],
  nameOrId: string,
  noun: 'organization' | 'partner',
): T {
  const found = all.find(({ name }) => name === nameOrId) ?? all.find(({ id }) => String(id) === nameOrId)
  if (found) return found
  const candidates = { noun, word: nameOrId, known: all.map(({ name }) => name) }
  throw new Refusal('record_unknown', `there is no ${noun} with that name or id`, { candidates })
}

/** Returns two audit filters: one for lines about the partner, one for lines caused by the partner. */
export function subjectsOfPartner({ id }: Partner): AuditSubject[] {
  const name = `partner ${id}`
  return [{ record: name }, { actor: name }]
}

/**
 * Returns the audit names of a member and the member's requests, for example `member 3` and `request 8`. The requests of an
 * erased member are unknown. @throws Refusal record_unknown
 */
export async function findMemberRecords({ store }: Records, id: number) {
  const requests = await store.read((facts) => facts.requests.listOf(id))
  const isErased = requests.length === 0 && (await wasErased({ store }, id))
  if (requests.length === 0 && !isErased && !(await store.read(({ members }) => members.findForStaff(id)))) {
    throw new Refusal('record_unknown', 'there is no member with that id')
  }
  return { records: [`member ${id}`, ...requests.map((request) => `request ${request.id}`)], isErased }
}

/** Returns true if a member was erased. Later refused erasures do not matter. */
export async function wasErased({ store }: Pick<Records, 'store'>, id: number): Promise<boolean> {
  const filter = { record: `member ${id}`, actions: ['member.erase'] as const }
  const erasures = await store.read(({ audit }) => audit.list(Number.MAX_SAFE_INTEGER, filter))
  return erasures.some(({ outcome }) => outcome === 'done')
}

/** Number of the newest audit lines in which refusals are counted. */
export const maxCounted = 100_000

/** Counts the UTC day's refused authentications by reason, most frequent first. Default: all partners. @param now ms */
export function countRefusalsToday({ store }: Records, now: number, partner?: Partner) {
  const query = { since: now - (now % dayMillis), most: maxCounted, partnerId: partner?.id }
  return store.read(({ audit }) => audit.countRefusals(query))
}

/** The fields of a provider that are known even if the record cannot be read. */
export type ProviderName = Pick<Provider, 'id' | 'ref'>

/** The number of members read at once, the maximum number shown, and how long a search reads members. */
const [membersAtOnce, maxShown, mostMillis] = [100, 50, 500]

/** At most 50 members: exact matches first, then the newest. `count` is the number of matches. */
export type FoundMembers = Awaited<ReturnType<typeof findMembers>>

export interface FoundMember {
  readonly member: Member
  readonly by: MatchedBy
}

/**
 * Finds members by full e-mail address or external id. Without a clear match, searches parts of names, phone numbers and
 * addresses. The audit log records the caller, the number found and each member shown. @param text not empty
 */
export async function findMembers(records: Records, text: string, act: Act) {
  const owner = text.includes('@') ? await findByEmail(records, text, act) : null
  const named = await findNamed(records, text, owner)
  // A text with a digit or an @ is no name. If an id or address equals this text, no other member can match.
  const isClear = named.length > 0 && /[\d@]/.test(text)
  const all = isClear
    ? { found: named, count: named.length, searched: null }
    : await lookThrough(records, text, named)
  const line = { ...act, action: 'member.find' as const }
  await noteReadings(records, [
    { ...line, record: null, outcome: `${all.count} found` },
    ...all.found
      // findByEmail has already recorded the owner of the address.
      .filter(({ member }) => member.id !== owner?.id)
      .map(({ member }) => ({ ...line, record: `member ${member.id}`, outcome: 'done' })),
  ])
  return all
}

/** Finds a member of any partner by e-mail address. The audit log records the caller. */
export async function findByEmail(records: Records, email: string, act: Act): Promise<Member | null> {
  const member = await records.store.read(({ members }) => members.findByEmail(email))
  await noteAct(records, act, 'member.find', member && `member ${member.id}`)
  return member
}

/** Finds exact matches, without reading all members. */
async function findNamed({ store }: Records, text: string, owner: Member | null): Promise<FoundMember[]> {
  const partners = await store.read((facts) => facts.partners.list())
  const byExternalId = await Promise.all(
    partners.map(({ id }) => store.read(({ members }) => members.find(id, text))),
  )
  return [
    ...(owner ? [{ member: owner, by: 'e-mail' } as const] : []),
    ...byExternalId.flatMap((member) =>
      member && member.id !== owner?.id ? [{ member, by: "partner's id" } as const] : [],
    ),
  ]
}

/**
 * Searches the newest members first. Stops after half a second, because each member must be decrypted. `searched` is then
 * the number of newest members that were searched; null if all were.
 */
async function lookThrough({ store, clock }: Records, text: string, named: readonly FoundMember[]) {
  const matches = matcherOf(text)
  const found = named.slice(0, maxShown)
  const until = clock.now() + mostMillis
  let [before, searched, count] = [Number.MAX_SAFE_INTEGER, 0, named.length]
  for (;;) {
    const read = await store.read(({ members }) => members.list(before, membersAtOnce))
    for (const member of read) {
      const by = named.some((one) => one.member.id === member.id) ? null : matches(member)
      if (by && ++count <= maxShown) found.push({ member, by })
    }
    searched += read.length
    if (read.length < membersAtOnce) return { found, count, searched: null }
    if (clock.now() >= until) return { found, count, searched }
    before = read.at(-1)?.id as number
    // Other work of this process can run between two batches.
    await new Promise(setImmediate)
  }
}
