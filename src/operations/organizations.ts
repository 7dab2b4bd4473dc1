import type { Act } from '../domain/audit'
import { type Organization, requireName } from '../domain/partner'
import { type Records, thenShow } from './context'

/** @throws Refusal field_invalid for what cannot be a name, name_taken */
export function addOrganization({ store }: Records, name: string, act: Act): Promise<Organization> {
  requireName(name)
  return store.addOrganization(name, act)
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
