import { Refusal } from '../domain/errors'
import type { Organization, Partner } from '../domain/partner'
import type { Context } from './context'

/** The organization of a name or an id. @throws Refusal record_unknown */
export async function requireOrganization({ store }: Context, nameOrId: string): Promise<Organization> {
  return requireOne(await store.listOrganizations(), nameOrId, 'organization')
}

/** The partner of a name or an id. @throws Refusal record_unknown */
export async function requirePartner({ store }: Context, nameOrId: string): Promise<Partner> {
  return requireOne(await store.listPartners(), nameOrId, 'partner')
}

function requireOne<T extends { id: number; name: string }>(
  all: readonly T[],
  nameOrId: string,
  noun: string,
): T {
  const found = all.find(({ name }) => name === nameOrId) ?? all.find(({ id }) => String(id) === nameOrId)
  if (!found) throw new Refusal('record_unknown', `there is no ${noun} of that name or id`)
  return found
}
