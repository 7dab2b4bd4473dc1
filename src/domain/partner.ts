import { Refusal } from './errors'
import type { PartnerRates } from './limits'

const maxNameCharacters = 200

/** Rejects an invalid name. Commands read a number as an id, and `none` as no organization. @throws Refusal field_invalid */
export function requireName(name: string): void {
  const fault = nameFault(name)
  if (fault) throw new Refusal('field_invalid', `name: ${fault}`)
}

function nameFault(name: string): string | null {
  if (name === '') return 'must not be empty'
  if ([...name].length > maxNameCharacters) return `must have at most ${maxNameCharacters} characters`
  // Also rejects characters that reorder or hide text, because two names must not look the same.
  if (
    /[\p{Cc}\p{Zl}\p{Zp}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u.test(name) ||
    !name.isWellFormed()
  )
    return 'must not contain a control character'
  if (/^\d+$/.test(name)) return 'must not be a number, because commands read it as an id'
  if (/^none$/i.test(name)) return 'must not be none, because commands read it as no organization'
  if (name.startsWith('-')) return 'must not begin with a dash, because commands read it as an option'
  return name === name.trim() ? null : 'must not begin or end with a space'
}

/** The legal body that a partner acts for. */
export interface Organization {
  readonly id: number
  readonly name: string
  readonly active: boolean
}

/** A platform that calls the API. A partner without an organization can only authenticate. */
export interface Partner extends PartnerRates {
  readonly id: number
  readonly name: string
  readonly active: boolean
  readonly organization: Organization | null
  /** The networks that may use its tokens, separated by commas; null for any. */
  readonly networks: string | null
}

/** A key is in force from `startsAt` (ms) until `endsAt` (ms, exclusive). A partner has at most one key in force. */
export interface PartnerKey {
  /** The key's public id in the token header. */
  readonly kid: string
  readonly secret: Uint8Array
  readonly issuedAt: number
  readonly startsAt: number
  readonly endsAt: number | null
  readonly partner: Partner
}

export type NewKey = Pick<PartnerKey, 'kid' | 'secret' | 'startsAt'>

/** Rotated: replaced by another key. Revoked: ended by the operator. Cancelled: ended before it started. */
export type KeyEndReason = 'rotated' | 'revoked' | 'cancelled'

/** A key without its secret. Instants in ms. */
export interface KeyRecord extends Omit<PartnerKey, 'secret' | 'partner'> {
  readonly id: number
  readonly partnerId: number
  readonly endReason: KeyEndReason | null
  /** Accurate to the minute; null for a key that was never used. */
  readonly lastUsedAt: number | null
}

/** Returns the state of a key at `now` (ms). */
export function keyStateAt({ startsAt, endsAt }: Pick<KeyRecord, 'startsAt' | 'endsAt'>, now: number) {
  // A cancelled key has the same start and end.
  if (endsAt !== null && (endsAt <= now || endsAt <= startsAt)) return 'ended'
  return startsAt > now ? 'waiting' : 'in force'
}

/** The partner and organization of an authenticated request. */
export interface Caller {
  readonly partner: Partner
  readonly organization: Organization
}
