import type { Act } from '../domain/audit'
import {
  decideOrganization,
  decidePartner,
  decidePartnerNetworks,
  decidePartnerOrganization,
  decidePartnerRates,
  decideRename,
} from '../domain/decisions/partners'
import type { Kind } from '../domain/errors'
import { limitFor } from '../domain/limits'
import { type Organization, type Partner, requireName } from '../domain/partner'
import type { Facts } from '../domain/ports/store'
import { type Decision, decideState } from '../domain/ports/writes'
import { hourMillis } from '../scheduling/calendar'
import { type Records, thenShow } from './context'

/** @throws Refusal field_invalid for an invalid name, name_taken */
export function addOrganization({ store }: Records, name: string, act: Act): Promise<Organization> {
  requireName(name)
  return store.change(
    act,
    ({ partners }) => [partners.findOrganizationNamed(name)],
    (known) => decideOrganization(known, name, act),
  )
}

/** @throws Refusal field_invalid for an invalid name, name_taken */
export function renameOrganization(records: Records, { id }: Organization, name: string, act: Act) {
  requireName(name)
  const renamed = records.store.change(
    act,
    ({ partners }) => [partners.findOrganization(id), partners.findOrganizationNamed(name)],
    (organization, known) => decideRename('organization', organization, known, name),
  )
  return thenShow(records, renamed)
}

export function listOrganizations({ store }: Records): Promise<Organization[]> {
  return store.read(({ partners }) => partners.listOrganizations())
}

/** The API rejects the partners of a deactivated organization with HTTP 403. */
export function setOrganizationActive(records: Records, { id }: Organization, active: boolean, act: Act) {
  const changed = records.store.change(
    act,
    ({ partners }) => [partners.findOrganization(id)],
    (organization) => decideState('organization', organization, active),
  )
  return thenShow(records, changed)
}

function organizationFor({ partners }: Facts, organization: Organization | null) {
  return organization && partners.findOrganization(organization.id)
}

/** Adds a partner, with or without an organization. @throws Refusal field_invalid for an invalid name, name_taken */
export function addPartner({ store }: Records, name: string, organization: Organization | null, act: Act) {
  requireName(name)
  return store.change(
    act,
    (facts) => [facts.partners.findNamed(name), organizationFor(facts, organization)],
    (known, found) => decidePartner(known, organization && (found ?? undefined), name, act),
  )
}

/** @throws Refusal field_invalid for an invalid name, name_taken */
export function renamePartner(records: Records, { id }: Partner, name: string, act: Act): Promise<void> {
  requireName(name)
  const renamed = records.store.change(
    act,
    ({ partners }) => [partners.find(id), partners.findNamed(name)],
    (partner, known) => decideRename('partner', partner, known, name),
  )
  return thenShow(records, renamed)
}

export function listPartners({ store }: Records): Promise<Partner[]> {
  return store.read(({ partners }) => partners.list())
}

export async function partnerNames(records: Records): Promise<ReadonlyMap<number, string>> {
  return new Map((await listPartners(records)).map(({ id, name }) => [id, name]))
}

/** Sets or removes (null) a partner's organization. */
export function setPartnerOrganization(
  records: Records,
  { id }: Partner,
  organization: Organization | null,
  act: Act,
): Promise<void> {
  const changed = records.store.change(
    act,
    (facts) => [facts.partners.find(id), organizationFor(facts, organization)],
    (partner, found) => decidePartnerOrganization(partner, organization && (found ?? undefined)),
  )
  return thenShow(records, changed)
}

/** Lists the partners from half of their limit of e-mail conflicts on. Counts the hour before `now` (ms). */
export async function listEmailConflicts({ store }: Records, serviceLimit: number | null, now: number) {
  const [partners, counts] = await store.read(({ partners, audit }) =>
    Promise.all([partners.list(), audit.countEmailConflicts(now - hourMillis)]),
  )
  return partners.flatMap(({ id, name, emailConflictsPerHour }) => {
    const limit = limitFor(serviceLimit, emailConflictsPerHour, Number)
    const countOf = (kind: Kind) =>
      counts.find(({ partnerId, reason }) => partnerId === id && reason === kind)?.count ?? 0
    const conflicts = countOf('email_taken')
    if (limit === null || conflicts < limit / 2) return []
    return [{ partnerId: id, partner: name, conflicts, limit, refused: countOf('email_conflicts_limited') }]
  })
}

/** Makes an operation that changes one partner. */
function changing<Value>(decide: (partner: Partner | null, value: Value) => Decision) {
  return (records: Records, { id }: Partner, value: Value, act: Act): Promise<void> => {
    const decideOn = (found: Partner | null) => decide(found, value)
    return thenShow(
      records,
      records.store.change(act, ({ partners }) => [partners.find(id)], decideOn),
    )
  }
}

/** Sets a partner's rate limits in place of the defaults. Omitted rates stay unchanged. */
export const setPartnerRates = changing(decidePartnerRates)

/** Sets the networks (comma-separated CIDR) from which a partner's tokens are accepted; null for any. */
export const setPartnerNetworks = changing(decidePartnerNetworks)

/** The API rejects the token of a deactivated partner with HTTP 401. */
export const setPartnerActive = changing((found, active: boolean) => decideState('partner', found, active))
