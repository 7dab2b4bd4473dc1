import type { Act } from './audit'
import { Refusal } from './errors'
import type { Organization, Partner } from './partner'
import { type Decision, outcome } from './writes'

/** @param known the organization of that name, if there is one */
export function decideOrganization(
  known: Organization | null,
  name: string,
  { at }: Act,
): Decision<Organization> {
  if (known) return new Refusal('name_taken', 'there is an organization of that name')
  const row = { name, active: true, createdAt: at }
  return {
    ...outcome('organization.add', 'organization', null, [{ add: 'organization', row }]),
    answer: ([id]) => ({ id: id as number, name, active: true }),
  }
}

export function decideOrganizationState(organization: Organization | null, active: boolean): Decision {
  if (!organization) return unknown('organization')
  const { id } = organization
  const action = active ? 'organization.reactivate' : 'organization.deactivate'
  return outcome(action, 'organization', id, [{ set: 'organization', id, to: { active } }])
}

/**
 * @param known the partner of that name, if there is one
 * @param organization the one that it acts for; undefined if there is none of the id that was named, null for none
 */
export function decidePartner(
  known: Partner | null,
  organization: Organization | null | undefined,
  name: string,
  { at }: Act,
): Decision<Partner> {
  if (organization === undefined) return unknown('organization')
  if (known) return new Refusal('name_taken', 'there is a partner of that name')
  const row = { name, organizationId: organization?.id ?? null, active: true, createdAt: at }
  return {
    ...outcome('partner.add', 'partner', null, [{ add: 'partner', row }]),
    answer: ([id]) => ({ id: id as number, name, active: true, organization }),
  }
}

export function decidePartnerState(partner: Partner | null, active: boolean): Decision {
  if (!partner) return unknown('partner')
  const { id } = partner
  const action = active ? 'partner.reactivate' : 'partner.deactivate'
  return outcome(action, 'partner', id, [{ set: 'partner', id, to: { active } }])
}

/** @param organization as in decidePartner */
export function decidePartnerOrganization(
  partner: Partner | null,
  organization: Organization | null | undefined,
): Decision {
  if (!partner) return unknown('partner')
  if (organization === undefined) return unknown('organization')
  const to = { organizationId: organization?.id ?? null }
  return outcome('partner.set-organization', 'partner', partner.id, [{ set: 'partner', id: partner.id, to }])
}

function unknown(noun: string): Refusal {
  return new Refusal('record_unknown', `there is no such ${noun}`)
}
