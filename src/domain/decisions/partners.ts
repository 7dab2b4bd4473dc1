import type { Act } from '../audit'
import { Refusal } from '../errors'
import { noRates, type PartnerRates } from '../limits'
import {
  type KeyEndReason,
  type KeyRecord,
  keyStateAt,
  type NewKey,
  type Organization,
  type Partner,
} from '../partner'
import { type Decision, outcome, setting, unknownRecord, type Write, withOutcome } from '../ports/writes'
import { networksOutcome, organizationOutcome, ratesOutcome } from './audit-trail'

/** @param known the organization that already has this name; null if the name is free */
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

/** @param organization null to set no organization; undefined if the id is unknown */
export function decidePartner(
  known: Partner | null,
  organization: Organization | null | undefined,
  name: string,
  { at }: Act,
): Decision<Partner> {
  if (organization === undefined) return unknownRecord('organization')
  if (known) return nameTaken('partner')
  const named = { name, active: true, networks: null, ...noRates }
  const row = { ...named, organizationId: organization?.id ?? null, createdAt: at }
  return {
    ...withOutcome(
      outcome('partner.add', 'partner', null, [{ add: 'partner', row }]),
      organizationOutcome(organization),
    ),
    answer: ([id]) => ({ id: id as number, ...named, organization }),
  }
}

/** @param organization null to set no organization; undefined if the id is unknown */
export function decidePartnerOrganization(
  partner: Partner | null,
  organization: Organization | null | undefined,
): Decision {
  if (!partner) return unknownRecord('partner')
  if (organization === undefined) return unknownRecord('organization')
  const organizationId = organization?.id ?? null
  const set = setting('partner.set-organization', 'partner', partner.id, { organizationId })
  return withOutcome(set, organizationOutcome(organization))
}

export function decidePartnerRates(partner: Partner | null, rates: Partial<PartnerRates>): Decision {
  if (!partner) return unknownRecord('partner')
  const set = setting('partner.set-rates', 'partner', partner.id, rates)
  return withOutcome(set, ratesOutcome({ ...partner, ...rates }))
}

/** @param networks comma-separated; null for any */
export function decidePartnerNetworks(partner: Partner | null, networks: string | null): Decision {
  if (!partner) return unknownRecord('partner')
  const set = setting('partner.set-networks', 'partner', partner.id, { networks })
  return withOutcome(set, networksOutcome({ networks }))
}

/** @param known the record that already has this name; null if the name is free */
export function decideRename(
  noun: 'organization' | 'partner',
  record: { readonly id: number } | null,
  known: object | null,
  name: string,
): Decision {
  if (!record) return unknownRecord(noun)
  return known ? nameTaken(noun) : setting(`${noun}.rename`, noun, record.id, { name })
}

function nameTaken(noun: 'organization' | 'partner'): Refusal {
  return new Refusal('name_taken', `${noun === 'partner' ? 'a' : 'an'} ${noun} with this name already exists`)
}

export interface KeyFacts {
  readonly partner: Partner | null
  readonly keys: readonly KeyRecord[]
}

/** Adds a key. Refuses if the partner already has a key in force or a waiting key. */
export function decideIssue({ partner, keys }: KeyFacts, key: NewKey, { at }: Act): Decision {
  if (!partner) return unknownRecord('partner')
  if (currentKeys(keys, at).length > 0) {
    return new Refusal('token_exists', 'the partner already has a token', {
      action: 'run anteroom token rotate',
    })
  }
  return outcome('token.issue', 'partner', partner.id, [addKey(partner, key, at)])
}

/** Replaces the key in force, without overlap (contract, Authentication 5). Cancels waiting keys. */
export function decideRotation({ partner, keys }: KeyFacts, key: NewKey, { at }: Act): Decision {
  if (!partner) return unknownRecord('partner')
  if (key.startsAt < at) return new Refusal('field_invalid', 'the cutover must not be in the past')
  if (!currentKeys(keys, at).some((known) => keyStateAt(known, at) === 'in force')) {
    return new Refusal('record_unknown', 'the partner has no token to rotate', {
      action: 'run anteroom token issue',
    })
  }
  return outcome('token.rotate', 'partner', partner.id, [
    ...endKeys(keys, at, key.startsAt, 'rotated'),
    addKey(partner, key, at),
  ])
}

/** Ends the key in force and cancels waiting keys. */
export function decideRevocation({ partner, keys }: KeyFacts, { at }: Act): Decision {
  if (!partner) return unknownRecord('partner')
  const ended = endKeys(keys, at, at, 'revoked')
  return ended.length > 0
    ? outcome('token.revoke', 'partner', partner.id, ended)
    : new Refusal('record_unknown', 'the partner has no token to revoke')
}

/** Cancels the waiting key. The key in force then has no end. */
export function decideCancellation({ partner, keys }: KeyFacts, { at }: Act): Decision {
  if (!partner) return unknownRecord('partner')
  const { current, waiting } = currentAndWaiting(keys, at)
  if (waiting.length === 0) {
    return new Refusal('record_unknown', 'the partner has no waiting token to cancel')
  }
  const cancelled = waiting.map((key) => cancel(key))
  // Reopen the current key after the cancellations, because only one key of a partner may have no end.
  const reopened: Write[] = current
    ? [{ set: 'key', id: current.id, to: { endsAt: null, endReason: null } }]
    : []
  return outcome('token.cancel', 'partner', partner.id, [...cancelled, ...reopened])
}

/** Returns the key in force at an instant (ms) and the keys that wait for their cutover. */
export function currentAndWaiting(keys: readonly KeyRecord[], at: number) {
  const open = currentKeys(keys, at)
  const isWaiting = (key: KeyRecord) => keyStateAt(key, at) === 'waiting'
  return { current: open.find((key) => !isWaiting(key)) ?? null, waiting: open.filter(isWaiting) }
}

function currentKeys(keys: readonly KeyRecord[], at: number): KeyRecord[] {
  // A revoked key stays revoked, even if the clock is set back.
  return keys.filter((key) => keyStateAt(key, at) !== 'ended' && key.endReason !== 'revoked')
}

function endKeys(keys: readonly KeyRecord[], at: number, endsAt: number, endReason: KeyEndReason): Write[] {
  return currentKeys(keys, at).map((key) =>
    keyStateAt(key, at) === 'waiting' ? cancel(key) : { set: 'key', id: key.id, to: { endsAt, endReason } },
  )
}

function cancel({ id, startsAt }: KeyRecord): Write {
  return { set: 'key', id, to: { endsAt: startsAt, endReason: 'cancelled' } }
}

function addKey({ id: partnerId }: Partner, key: NewKey, issuedAt: number): Write {
  return { add: 'key', row: { ...key, partnerId, issuedAt, endsAt: null, endReason: null } }
}
