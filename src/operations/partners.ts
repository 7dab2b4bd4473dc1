import type { Act } from '../domain/audit'
import type { PartnerRates } from '../domain/limits'
import { type Organization, type Partner, requireName } from '../domain/partner'
import { type Records, thenShow } from './context'

/** @throws Refusal field_invalid for what cannot be a name, name_taken */
export function addOrganization({ store }: Records, name: string, act: Act): Promise<Organization> {
  requireName(name)
  return store.addOrganization(name, act)
}

/** @throws Refusal field_invalid for what cannot be a name, name_taken */
export function renameOrganization(
  records: Records,
  { id }: Organization,
  name: string,
  act: Act,
): Promise<void> {
  requireName(name)
  return thenShow(records, records.store.renameOrganization(id, name, act))
}

/** All organizations in order of id. */
export function listOrganizations({ store }: Records): Promise<Organization[]> {
  return store.listOrganizations()
}

/** Refuses the API, with 403, to all partners of an organization. */
export function deactivateOrganization(records: Records, { id }: Organization, act: Act): Promise<void> {
  return thenShow(records, records.store.setOrganizationActive(id, false, act))
}

/** Gives the API back to the partners of an organization. */
export function reactivateOrganization(records: Records, { id }: Organization, act: Act): Promise<void> {
  return thenShow(records, records.store.setOrganizationActive(id, true, act))
}

/**
 * Adds a partner, of an organization or of none yet.
 *
 * @throws Refusal field_invalid for what cannot be a name, name_taken
 */
export function addPartner({ store }: Records, name: string, organization: Organization | null, act: Act) {
  requireName(name)
  return store.addPartner(name, organization?.id ?? null, act)
}

/** @throws Refusal field_invalid for what cannot be a name, name_taken */
export function renamePartner(records: Records, { id }: Partner, name: string, act: Act): Promise<void> {
  requireName(name)
  return thenShow(records, records.store.renamePartner(id, name, act))
}

/** All partners in order of id. */
export function listPartners({ store }: Records): Promise<Partner[]> {
  return store.listPartners()
}

/** What partners are called, by id. */
export async function partnerNames({ store }: Records): Promise<ReadonlyMap<number, string>> {
  return new Map((await store.listPartners()).map(({ id, name }) => [id, name]))
}

/** Says which organization a partner acts for; null for none. */
export function setPartnerOrganization(
  records: Records,
  { id }: Partner,
  organization: Organization | null,
  act: Act,
): Promise<void> {
  return thenShow(records, records.store.setPartnerOrganization(id, organization?.id ?? null, act))
}

/** Says what a partner is held to in place of the service's own limits; rates that are not given stay. */
export function setPartnerRates(
  records: Records,
  { id }: Partner,
  rates: Partial<PartnerRates>,
  act: Act,
): Promise<void> {
  return thenShow(records, records.store.setPartnerRates(id, rates, act))
}

/** Refuses a partner's token, with 401. */
export function deactivatePartner(records: Records, { id }: Partner, act: Act): Promise<void> {
  return thenShow(records, records.store.setPartnerActive(id, false, act))
}

/** Takes the token of a deactivated partner again. */
export function reactivatePartner(records: Records, { id }: Partner, act: Act): Promise<void> {
  return thenShow(records, records.store.setPartnerActive(id, true, act))
}
