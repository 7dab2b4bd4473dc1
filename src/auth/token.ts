import { randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import type { PartnerKey } from '../domain/partner'

/** A new key's public id and secret, random both. The secret has the length of the hash (RFC 7518 §3.2). */
export function newKey(): Pick<PartnerKey, 'kid' | 'secret'> {
  return { kid: randomBytes(12).toString('base64url'), secret: randomBytes(32) }
}

/** The token of a key: a JWT signed with HS256, without an end (contract, Authentication 4). Always the same text. */
export function signToken(key: Pick<PartnerKey, 'kid' | 'secret' | 'issuedAt'>): Promise<string> {
  return new SignJWT({})
    .setProtectedHeader({ alg: 'HS256', kid: key.kid, typ: 'JWT' })
    .setIssuedAt(Math.floor(key.issuedAt / 1000))
    .sign(key.secret)
}
