import type { AuditSubject } from '../domain/audit'
import type { RequestRecord } from '../domain/booking-request'
import { Refusal, type RefusalCount } from '../domain/errors'
import type { Member } from '../domain/member'
import type { Organization, Partner } from '../domain/partner'
import { type CopyNote, requireCopied } from '../domain/ports/database-copy'
import type { Provider } from '../domain/provider'
import { type Region, regionRef } from '../domain/region'
import { dayMillis } from '../scheduling/calendar'
import type { Context, Records } from './context'

/** What the database notes of its copy. @throws Refusal record_unknown where it notes none */
export async function requireCopyNote({ maintenance }: Records): Promise<CopyNote> {
  return requireCopied(await maintenance.findCopyNote())
}

/** The organization of a name or an id. @throws Refusal record_unknown */
export async function requireOrganization({ store }: Records, nameOrId: string): Promise<Organization> {
  return requireOne(
    await store.read(({ partners }) => partners.listOrganizations()),
    nameOrId,
    'organization',
  )
}

/** The partner of a name or an id. @throws Refusal record_unknown */
export async function requirePartner({ store }: Records, nameOrId: string): Promise<Partner> {
  return requireOne(await store.read(({ partners }) => partners.list()), nameOrId, 'partner')
}

/** The provider of a ref or an id, deactivated or not. @throws Refusal record_unknown */
export function requireProvider({ directory }: Context, refOrId: string): Provider {
  const all = directory.listProviders()
  const found = all.find(({ ref }) => ref === refOrId) ?? all.find(({ id }) => String(id) === refOrId)
  if (found) return found
  const isUnreadable = directory
    .listUnreadable()
    .some(({ id, ref }) => ref === refOrId || String(id) === refOrId)
  throw isUnreadable
    ? unreadableProvider()
    : unknownProvider(
        refOrId,
        all.map(({ ref }) => ref),
      )
}

/** The same from the database, for commands that load no directory. */
export async function readProvider({ store }: Records, refOrId: string): Promise<Provider> {
  const named = await store.read(({ directory }) => directory.findId(refOrId))
  const id = named ?? (/^[1-9]\d{0,14}$/.test(refOrId) ? Number(refOrId) : 0)
  const { providers, unreadable } = await store.read(({ directory }) => directory.findProviders([id]))
  if (providers[0]) return providers[0]
  if (unreadable.length > 0) throw unreadableProvider()
  throw unknownProvider(refOrId, await store.read(({ directory }) => directory.listProviderRefs()))
}

function unreadableProvider(): Refusal {
  return new Refusal('record_unknown', 'the record of that provider cannot be read', {
    hint: 'anteroom directory load, with a JSON file that has this provider',
  })
}

function unknownProvider(word: string, known: readonly string[]): Refusal {
  const candidates = { noun: 'provider', word, known } as const
  return new Refusal('record_unknown', 'there is no provider with that ref or id', { candidates })
}

/** The same where what they are called is enough: of those too whose record cannot be read. */
export function requireProviderName(context: Context, refOrId: string): ProviderName {
  const unreadable = context.directory.listUnreadable()
  const found = unreadable.find(({ id, ref }) => ref === refOrId || String(id) === refOrId)
  return found ?? requireProvider(context, refOrId)
}

/** The providers of slots or requests. */
export function readProviders({ store }: Records, those: readonly { readonly providerId: number | null }[]) {
  const ids = [...new Set(those.flatMap(({ providerId }) => providerId ?? []))]
  return store.read(({ directory }) => directory.findProviders(ids))
}

/** The region that commands and directory files call CA-ON, in any case. @throws Refusal region_unknown */
export function requireRegion({ directory }: Context, ref: string): Region {
  const found = directory.listAllRegions().find((region) => regionRef(region) === ref.toUpperCase())
  if (!found)
    throw new Refusal('region_unknown', 'there is no region of that code; they are written as CA-ON')
  return found
}

/** @throws Refusal record_unknown */
export async function requireRequest({ store }: Records, id: number): Promise<RequestRecord> {
  const found = await store.read(({ requests }) => requests.find(id))
  if (!found) throw new Refusal('record_unknown', 'there is no request of that id')
  return found
}

/** How an operator names a member: by the service's id, or as a partner does. */
export type MemberName =
  | { readonly id: number }
  | { readonly partner: string; readonly externalUserId: string }

/** The member of a name, deactivated or not. @throws Refusal record_unknown */
export async function requireMember(records: Records, name: MemberName): Promise<Member> {
  const partner = 'id' in name ? null : await requirePartner(records, name.partner)
  const found = await records.store.read(({ members }) =>
    'id' in name ? members.findForStaff(name.id) : members.find((partner as Partner).id, name.externalUserId),
  )
  if (!found) throw new Refusal('record_unknown', 'there is no member of that id')
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

/** Whose lines are those that concern a partner: what it did, and what was done about it. */
export function subjectsOfPartner({ id }: Partner): AuditSubject[] {
  const name = `partner ${id}`
  return [{ record: name }, { actor: name }]
}

/** What lines of the audit log name where they tell who has seen a person. */
export interface MemberRecords {
  /** The member, and each of their requests. */
  readonly records: readonly string[]
  /** Then no request is known to have been theirs. */
  readonly isErased: boolean
}

/**
 * The records of a member, who may have been erased.
 *
 * @throws Refusal record_unknown for one who was never there: nobody must read that as seen by no one
 */
export async function findMemberRecords({ store }: Records, id: number): Promise<MemberRecords> {
  const member = `member ${id}`
  const requests = (await store.read((facts) => facts.requests.listOf(id))).map(
    (request) => `request ${request.id}`,
  )
  const isErased = requests.length === 0 && (await wasErased({ store }, id))
  if (requests.length === 0 && !isErased && !(await store.read(({ members }) => members.findForStaff(id)))) {
    throw new Refusal('record_unknown', 'there is no member of that id')
  }
  return { records: [member, ...requests], isErased }
}

/** Whether a member was erased, whatever was tried of them since: by two at once, say, of whom the second is refused. */
export async function wasErased({ store }: Pick<Records, 'store'>, id: number): Promise<boolean> {
  const filter = { record: `member ${id}`, actions: ['member.erase'] as const }
  const erasures = await store.read(({ audit }) => audit.list(Number.MAX_SAFE_INTEGER, filter))
  return erasures.some(({ outcome }) => outcome === 'done')
}

/** In how many of the newest lines of the audit log refusals are counted. */
export const mostCounted = 100_000

/**
 * Why and how often authentication was refused on the day (UTC) of `now` (ms), to all or to one partner, most often first.
 */
export function countRefusalsToday(
  { store }: Records,
  now: number,
  partner?: Partner,
): Promise<RefusalCount[]> {
  const asked = { since: now - (now % dayMillis), most: mostCounted, partnerId: partner?.id }
  return store.read(({ audit }) => audit.countRefusals(asked))
}

/** Enough to switch a provider off and on, be their record one that cannot be read. */
export type ProviderName = Pick<Provider, 'id' | 'ref'>
