import { compactVerify, errors, SignJWT } from 'jose'
import { isWithin } from '../domain/addresses'
import { Refusal } from '../domain/errors'
import { memo } from '../domain/memo'
import type { Partner, PartnerKey } from '../domain/partner'
import { type RandomSource, secureRandom } from '../domain/ports/random'

/** Returns a random id and a random secret. The secret is as long as a SHA-256 hash (RFC 7518 §3.2). */
export function newKey(random: RandomSource = secureRandom): Pick<PartnerKey, 'kid' | 'secret'> {
  return { kid: Buffer.from(random(12)).toString('base64url'), secret: random(32) }
}

/** Returns a JWT signed with HS256, without expiry (contract, Authentication 4). The same key gives the same token. */
export function signToken(key: Pick<PartnerKey, 'kid' | 'secret' | 'issuedAt'>): Promise<string> {
  return new SignJWT({})
    .setProtectedHeader({ alg: 'HS256', kid: key.kid, typ: 'JWT' })
    .setIssuedAt(Math.floor(key.issuedAt / 1000))
    .sign(key.secret)
}

/** The messages must reveal nothing about the service (contract, Authentication 8). */
export const authenticationRefusals = {
  token_invalid: 'the token is missing, malformed or not valid',
  missing_claim: 'the token lacks a required claim',
  partner_not_found: 'the token does not belong to a known partner',
  partner_inactive: 'the partner is deactivated',
} as const

type AuthenticationKind = keyof typeof authenticationRefusals

// Errors are created once, because capturing a stack trace takes longer than the check of a token.
const refusals = Object.fromEntries(
  Object.entries(authenticationRefusals).map(([kind, words]) => [
    kind,
    new Refusal(kind as AuthenticationKind, words),
  ]),
) as Record<AuthenticationKind, Refusal>

/** For a valid token from outside its partner's networks. The caller must not see the difference. */
export const outsideNetworks = new Refusal('token_invalid', authenticationRefusals.token_invalid)

// Caches the last verified and the last forged token of each key. A change of a
// partner creates new key objects, so the old cache entries are not used.
const verified = new WeakMap<PartnerKey, string>()
const forged = new WeakMap<PartnerKey, string>()

/**
 * Returns the key that signed a token. Returns a promise only if the signature must still be verified.
 *
 * @param now in ms
 * @param address of the caller; if omitted, the partner's networks are not checked
 * @throws Refusal token_invalid, missing_claim, partner_not_found or partner_inactive. Checks in the documented order,
 *   so that only a token with a valid signature reveals the state of a partner.
 */
export function authenticate(
  token: string,
  findKey: (kid: string) => PartnerKey | null,
  now: number,
  address?: string,
): PartnerKey | Promise<PartnerKey> {
  const key = findKey(kidOf(token))
  if (!key) throw refusals.partner_not_found
  if (forged.get(key) === token) throw refusals.token_invalid
  if (verified.get(key) === token) return held(key, now, address)
  return verify(token, key).then(() => held(key, now, address))
}

function held(key: PartnerKey, now: number, address?: string): PartnerKey {
  if (!isInForce(key, now)) throw refusals.token_invalid
  if (!isInside(key.partner, address)) throw outsideNetworks
  if (!key.partner.active) throw refusals.partner_inactive
  return key
}

function isInside({ networks }: Partner, address: string | undefined): boolean {
  return address === undefined || isWithin(networks, address)
}

/** Returns the partner that a token names, without verifying the token. Returns null for an unknown key. */
export function claimedPartner(token: string, findKey: (kid: string) => PartnerKey | null): Partner | null {
  return findKey(claimedKid(token) ?? '')?.partner ?? null
}

const claimedKid = memo(1_000, (token) => {
  const end = token.indexOf('.')
  try {
    const { kid } = parseHeader(token.slice(0, Math.max(0, end)))
    return typeof kid === 'string' ? kid : null
  } catch {
    return null
  }
})

/** Returns the key of a token if the token was verified before and is still valid. */
export function recognize(
  token: string,
  findKey: (kid: string) => PartnerKey | null,
  now: number,
  address?: string,
): PartnerKey | null {
  const key = findKey(claimedKid(token) ?? '')
  if (!key || verified.get(key) !== token || !isInForce(key, now)) return null
  return isInside(key.partner, address) && key.partner.active ? key : null
}

function isInForce({ startsAt, endsAt }: PartnerKey, now: number): boolean {
  return startsAt <= now && (endsAt === null || now < endsAt)
}

/** Returns the kid of a well-formed HS256 token. @throws Refusal token_invalid or missing_claim */
export const kidOf = memo(1_000, (token) => {
  const segment = /^([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+$/.exec(token)?.[1]
  if (segment === undefined) throw refusals.token_invalid
  const header = parseHeader(segment)
  // The algorithm is fixed: the sender of a token must not choose it (RFC 8725 §2.1).
  if (header.alg !== 'HS256' || 'crit' in header) throw refusals.token_invalid
  if (typeof header.kid !== 'string' || header.kid === '') throw refusals.missing_claim
  return header.kid
})

function parseHeader(segment: string): Record<string, unknown> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(segment, 'base64url'))
    const header: unknown = JSON.parse(text)
    if (typeof header === 'object' && header !== null && !Array.isArray(header)) return { ...header }
  } catch {
    // The segment is not UTF-8 or not JSON. The token is rejected below.
  }
  throw refusals.token_invalid
}

async function verify(token: string, key: PartnerKey): Promise<void> {
  // base64url decoders accept several texts for one signature; only the canonical text is accepted here.
  const signature = token.slice(token.lastIndexOf('.') + 1)
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) throw refusals.token_invalid
  try {
    await compactVerify(token, key.secret, { algorithms: ['HS256'] })
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) forged.set(key, token)
    throw refusals.token_invalid
  }
  verified.set(key, token)
}
