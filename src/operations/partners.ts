import type { Act } from '../domain/audit'
import { type Organization, type Partner, requireName } from '../domain/partner'
import type { Records } from './context'

/**
 * Adds a partner, of an organization or of none yet.
 *
 * @throws Refusal field_invalid for what cannot be a name, name_taken
 */
export function addPartner(
  { store }: Records,
  name: string,
  organization: Organization | null,
  act: Act,
): Promise<Partner> {
  requireName(name)
  return store.addPartner(name, organization?.id ?? null, act)
}

/** All partners in order of id. */
export function listPartners({ store }: Records): Promise<Partner[]> {
  return store.listPartners()
}

/** Says which organization a partner acts for; null for none. */
export async function setPartnerOrganization(
  { store, directory }: Records,
  { id }: Partner,
  organization: Organization | null,
  act: Act,
): Promise<void> {
  await store.setPartnerOrganization(id, organization?.id ?? null, act)
  await directory?.catchUp()
}

/** Refuses a partner's token, with 401. */
export function deactivatePartner(records: Records, partner: Partner, act: Act) {
  return setActive(records, partner, false, act)
}

/** Takes the token of a deactivated partner again. */
export function reactivatePartner(records: Records, partner: Partner, act: Act) {
  return setActive(records, partner, true, act)
}

async function setActive(
  { store, directory }: Records,
  { id }: Partner,
  active: boolean,
  act: Act,
): Promise<void> {
  await store.setPartnerActive(id, active, act)
  await directory?.catchUp()
}
