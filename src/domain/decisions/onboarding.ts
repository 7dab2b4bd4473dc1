import type { Act } from '../audit'
import { Refusal } from '../errors'
import type { PartnerRates } from '../limits'
import type { Organization, Partner } from '../partner'
import { type Decision, decideState, outcome, setting, unknownRecord } from '../ports/writes'

/** @param known the organization of that name, if there is one */
export function decideOrganization(
  known: Organization | null,
  name: string,
  { at }: Act,
): Decision<Organization> {
  if (known) return nameTaken('organization')
  const row = { name, active: true, createdAt: at }
  return {
    ...outcome('organization.add', 'organization', null, [{ add: 'organization', row }]),
    answer: ([id]) => ({ id: id as number, name, active: true }),
  }
}

/** @param known the organization of the new name, if there is one */
export function decideOrganizationRename(
  organization: Organization | null,
  known: Organization | null,
  name: string,
): Decision {
  return decideRename('organization', organization, known, name)
}

export function decideOrganizationState(organization: Organization | null, active: boolean): Decision {
  return decideState('organization', organization, active)
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
  if (organization === undefined) return unknownRecord('organization')
  if (known) return nameTaken('partner')
  const told = { name, active: true, readsPerMinute: null, bookingsPerMinute: null }
  const row = { ...told, organizationId: organization?.id ?? null, createdAt: at }
  return {
    ...outcome('partner.add', 'partner', null, [{ add: 'partner', row }]),
    answer: ([id]) => ({ id: id as number, ...told, organization }),
  }
}

/** @param known the partner of the new name, if there is one */
export function decidePartnerRename(partner: Partner | null, known: Partner | null, name: string): Decision {
  return decideRename('partner', partner, known, name)
}

export function decidePartnerState(partner: Partner | null, active: boolean): Decision {
  return decideState('partner', partner, active)
}

/** @param organization as in decidePartner */
export function decidePartnerOrganization(
  partner: Partner | null,
  organization: Organization | null | undefined,
): Decision {
  if (!partner) return unknownRecord('partner')
  if (organization === undefined) return unknownRecord('organization')
  const organizationId = organization?.id ?? null
  return setting('partner.set-organization', 'partner', partner.id, { organizationId })
}

/** @param rates those that change */
export function decidePartnerRates(partner: Partner | null, rates: Partial<PartnerRates>): Decision {
  if (!partner) return unknownRecord('partner')
  return setting('partner.set-rates', 'partner', partner.id, rates)
}

function decideRename(
  noun: 'organization' | 'partner',
  record: { readonly id: number } | null,
  known: object | null,
  name: string,
): Decision {
  if (!record) return unknownRecord(noun)
  return known ? nameTaken(noun) : setting(`${noun}.rename`, noun, record.id, { name })
}

function nameTaken(noun: 'organization' | 'partner'): Refusal {
  return new Refusal('name_taken', `there is ${noun === 'partner' ? 'a' : 'an'} ${noun} of that name`)
}
