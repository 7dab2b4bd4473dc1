import type { Act } from '../audit'
import { Refusal } from '../errors'
import { type KeyEndReason, type KeyRecord, keyStateAt, type NewKey, type Partner } from '../partner'
import { type Decision, outcome, unknownRecord, type Write } from '../ports/writes'

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

/** Cancels the key that waits for its cutover; the one in force goes on as if none had been planned. */
export function decideCancellation({ partner, keys }: KeyFacts, { at }: Act): Decision {
  if (!partner) return unknownRecord('partner')
  const { current, waiting } = standingKeys(keys, at)
  if (waiting.length === 0) {
    return new Refusal('record_unknown', 'no token of the partner waits for its cutover')
  }
  const cancelled = waiting.map((key) => cancel(key))
  // Behind those: of a partner's keys one alone may be without an end.
  const goesOn: Write[] = current
    ? [{ set: 'key', id: current.id, to: { endsAt: null, endReason: null } }]
    : []
  return outcome('token.cancel', 'partner', partner.id, [...cancelled, ...goesOn])
}

/** Which of a partner's keys is in force at an instant (ms), and which wait for their cutover: mostly none, or one. */
export function standingKeys(keys: readonly KeyRecord[], at: number) {
  const standing = currentKeys(keys, at)
  const isWaiting = (key: KeyRecord) => keyStateAt(key, at) === 'waiting'
  return {
    current: standing.find((key) => !isWaiting(key)) ?? null,
    waiting: standing.filter(isWaiting),
  }
}

function currentKeys(keys: readonly KeyRecord[], at: number): KeyRecord[] {
  // What was revoked stays so, even if the clock was set back since.
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
