import type { RequestRecord } from '../domain/booking-request'
import { type CopyNote, requireCopied } from '../domain/copy-note'
import { Refusal } from '../domain/errors'
import type { Member } from '../domain/member'
import type { Organization, Partner } from '../domain/partner'
import type { Provider } from '../domain/provider'
import { type Region, regionRef } from '../domain/region'
import type { Context, Records } from './context'
import type { ProviderName } from './providers'

/** What the database notes of its copy. @throws Refusal record_unknown where it notes none */
export async function requireCopyNote({ upkeep }: Records): Promise<CopyNote> {
  return requireCopied(await upkeep.findCopyNote())
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
  const why = isUnreadable
    ? 'the record of that provider cannot be read; directory load mends it, with a JSON file that has them'
    : 'there is no provider of that ref or id'
  throw new Refusal('record_unknown', why)
}

/** The same where what they are called is enough: of those too whose record cannot be read. */
export function requireProviderName(context: Context, refOrId: string): ProviderName {
  const unreadable = context.directory.listUnreadable()
  const found = unreadable.find(({ id, ref }) => ref === refOrId || String(id) === refOrId)
  return found ?? requireProvider(context, refOrId)
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

function requireOne<T extends Organization | Partner>(all: readonly T[], nameOrId: string, noun: string): T {
  const found = all.find(({ name }) => name === nameOrId) ?? all.find(({ id }) => String(id) === nameOrId)
  if (!found) throw new Refusal('record_unknown', `there is no ${noun} of that name or id`)
  return found
}
