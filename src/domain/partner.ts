import { Refusal } from './errors'
import type { PartnerRates } from './limits'

const mostNameCharacters = 200

/**
 * Holds a text to be a name that an organization or a partner can have: 1 to 200 characters, none of them a control
 * character, no dash before it, and no space at either end. Commands take a name or an id, and `none` for no
 * organization: a name that is one of those would cut off somebody else.
 *
 * @throws Refusal field_invalid
 */
export function requireName(name: string): void {
  const fault = nameFault(name)
  if (fault) throw new Refusal('field_invalid', `name: ${fault}`)
}

function nameFault(name: string): string | null {
  if (name === '') return 'must not be empty'
  if ([...name].length > mostNameCharacters) return `must have at most ${mostNameCharacters} characters`
  // Those that reorder or hide text among them: two names must not look like one.
  if (
    /[\p{Cc}\p{Zl}\p{Zp}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u.test(name) ||
    !name.isWellFormed()
  )
    return 'must not hold a control character'
  if (/^\d+$/.test(name)) return 'must not be a number, which would be taken for an id'
  if (/^none$/i.test(name)) return 'must not be none, which would be taken for no organization'
  if (name.startsWith('-')) return 'must not begin with a dash, which would be taken for an option'
  return name === name.trim() ? null : 'must not begin or end with a space'
}

/** The legal body that a partner acts for. */
export interface Organization {
  readonly id: number
  readonly name: string
  readonly active: boolean
}

/** A platform that calls the API. Without an organization it can be authenticated and nothing more. */
export interface Partner extends PartnerRates {
  readonly id: number
  readonly name: string
  readonly active: boolean
  readonly organization: Organization | null
}

/**
 * What signs a partner's token. At any instant at most one key of a partner is in force: from `startsAt`
 * (inclusive) until `endsAt` (exclusive; null while nothing ends it), both ms since 1970-01-01T00:00Z.
 */
export interface PartnerKey {
  /** The key's public id, in the token's header. */
  readonly kid: string
  readonly secret: Uint8Array
  readonly issuedAt: number
  readonly startsAt: number
  readonly endsAt: number | null
  readonly partner: Partner
}

/** A key to be: its public id, its secret and the instant (ms) from which it is in force. */
export type NewKey = Pick<PartnerKey, 'kid' | 'secret' | 'startsAt'>

/** Why a key has an end: another took its place, the operator ended it, or it never began. */
export type KeyEndReason = 'rotated' | 'revoked' | 'cancelled'

/** What may be told of a key: everything but its secret. Instants in ms. */
export interface KeyRecord extends Omit<PartnerKey, 'secret' | 'partner'> {
  /** Of the record; the key's public id is its kid. */
  readonly id: number
  readonly partnerId: number
  readonly endReason: KeyEndReason | null
  /** To the minute; null for a key that was never used. */
  readonly lastUsedAt: number | null
}

/** How a key stands at a moment (ms). */
export function keyStateAt({ startsAt, endsAt }: Pick<KeyRecord, 'startsAt' | 'endsAt'>, now: number) {
  // One that was cancelled ends where it would have started.
  if (endsAt !== null && (endsAt <= now || endsAt <= startsAt)) return 'ended'
  return startsAt > now ? 'waiting' : 'in force'
}

/** Who a request comes from, once its token has been verified and its organization found in order. */
export interface Caller {
  readonly partner: Partner
  readonly organization: Organization
}
