import type { Act } from './audit'
import { Refusal } from './errors'
import { type KeyEndReason, type KeyRecord, keyStateAt, type NewKey, type Partner } from './partner'
import { type Decision, outcome, unknownRecord, type Write } from './writes'

/** A partner, and all the keys that it ever had. */
export interface KeyFacts {
  readonly partner: Partner | null
  readonly keys: readonly KeyRecord[]
}

/** A partner's first key, or the first after the last was revoked: in force from the key's start on. */
export function decideIssue({ partner, keys }: KeyFacts, key: NewKey, { at }: Act): Decision {
  if (!partner) return unknownRecord('partner')
  if (currentKeys(keys, at).length > 0) {
    return new Refusal('token_exists', 'the partner has a token; rotate replaces it')
  }
  return outcome('token.issue', 'partner', partner.id, [addKey(partner, key, at)])
}

/**
 * A key that takes the place of the one in force when it starts, with no overlap (contract, Authentication 5); one
 * that waited never will.
 */
export function decideRotation({ partner, keys }: KeyFacts, key: NewKey, { at }: Act): Decision {
  if (!partner) return unknownRecord('partner')
  if (key.startsAt < at) return new Refusal('field_invalid', 'the cutover must not be in the past')
  if (!currentKeys(keys, at).some((known) => keyStateAt(known, at) === 'in force')) {
    return new Refusal('record_unknown', 'the partner has no token to rotate; issue makes one')
  }
  return outcome('token.rotate', 'partner', partner.id, [
    ...endKeys(keys, at, key.startsAt, 'rotated'),
    addKey(partner, key, at),
  ])
}

/** Ends the key in force at once and cancels one that waits. */
export function decideRevocation({ partner, keys }: KeyFacts, { at }: Act): Decision {
  if (!partner) return unknownRecord('partner')
  const ended = endKeys(keys, at, at, 'revoked')
  return ended.length > 0
    ? outcome('token.revoke', 'partner', partner.id, ended)
    : new Refusal('record_unknown', 'the partner has no token that could be revoked')
}

function currentKeys(keys: readonly KeyRecord[], at: number): KeyRecord[] {
  // What was revoked stays so, even if the clock was set back since.
  return keys.filter((key) => keyStateAt(key, at) !== 'ended' && key.endReason !== 'revoked')
}

function endKeys(keys: readonly KeyRecord[], at: number, endsAt: number, endReason: KeyEndReason): Write[] {
  return currentKeys(keys, at).map((key) => {
    const isCancelled = keyStateAt(key, at) === 'waiting'
    const to = isCancelled ? { endsAt: key.startsAt, endReason: 'cancelled' as const } : { endsAt, endReason }
    return { set: 'key', id: key.id, to }
  })
}

function addKey({ id: partnerId }: Partner, key: NewKey, issuedAt: number): Write {
  return { add: 'key', row: { ...key, partnerId, issuedAt, endsAt: null, endReason: null } }
}
