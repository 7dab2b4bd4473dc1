import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import {
  authenticate,
  claimedPartner,
  newKey as newKidAndSecret,
  outsideNetworks,
  recognize,
  signToken,
} from '../../src/auth/token'
import type { PartnerKey } from '../../src/domain/partner'

const now = Date.parse('2026-12-01T12:00:00Z')
const partner = {
  id: 1,
  name: 'P',
  active: true,
  organization: null,
  readsPerMinute: null,
  bookingsPerMinute: null,
  intakesPerHour: null,
  emailConflictsPerHour: null,
  networks: null,
}

function newKey(different: Partial<PartnerKey> = {}): PartnerKey {
  const kid = randomBytes(12).toString('base64url')
  return { kid, secret: randomBytes(32), issuedAt: now, startsAt: now, endsAt: null, partner, ...different }
}

async function judge(token: string, key: PartnerKey, at = now) {
  const find = (kid: string) => (kid === key.kid ? key : null)
  try {
    const found = authenticate(token, find, at)
    return found instanceof Promise ? ['later', await found.catch(({ kind }) => kind)] : ['at once', found]
  } catch (error) {
    return ['at once', (error as { kind: string }).kind]
  }
}

describe('auth: a verified token', () => {
  test('a verified token is accepted without a second verification until its key is replaced', async () => {
    const key = newKey()
    const token = await signToken(key)
    expect(await judge(token, key)).toEqual(['later', key])
    expect(await judge(token, key)).toEqual(['at once', key])
    const same = { ...key }
    expect(await judge(token, same)).toEqual(['later', same])
    expect(await judge(token, { ...key, secret: randomBytes(32) })).toEqual(['later', 'token_invalid'])
  })

  test('a verified token is rejected if the key is not valid, the kid is unknown or the partner is deactivated', async () => {
    const key = newKey({ endsAt: now + 1_000 })
    const token = await signToken(key)
    await judge(token, key)
    expect(await judge(token, key, now - 1)).toEqual(['at once', 'token_invalid'])
    expect(await judge(token, key, now + 1_000)).toEqual(['at once', 'token_invalid'])
    expect(await judge(token, key)).toEqual(['at once', key])
    expect(await judge(token, newKey())).toEqual(['at once', 'partner_not_found'])
    const inactive = { ...key, partner: { ...partner, active: false } }
    expect(await judge(token, inactive)).toEqual(['later', 'partner_inactive'])
    expect(await judge(token, inactive)).toEqual(['at once', 'partner_inactive'])
    expect(recognize(token, () => inactive, now)).toBeNull()
  })
})

describe('auth: a forged token', () => {
  test('a forged token is rejected without a second verification until its key is replaced', async () => {
    const key = newKey()
    const secret = randomBytes(32)
    const forged = await signToken({ ...key, secret })
    expect(await judge(forged, key)).toEqual(['later', 'token_invalid'])
    expect(await judge(forged, key)).toEqual(['at once', 'token_invalid'])
    const replaced = { ...key, secret }
    expect(await judge(forged, replaced)).toEqual(['later', replaced])
    expect(await judge(forged, replaced)).toEqual(['at once', replaced])
  })

  test('a forged token is never recognized, and does not affect a genuine token of the same key', async () => {
    const key = newKey()
    const [token, forged] = [await signToken(key), await signToken({ ...key, secret: randomBytes(32) })]
    const find = () => key
    for (let round = 0; round < 3; round++) {
      expect((await judge(forged, key))[1]).toBe('token_invalid')
      expect((await judge(token, key))[1]).toEqual(key)
      expect(claimedPartner(forged, find)).toEqual(partner)
      expect([recognize(forged, find, now), recognize(token, find, now)]).toEqual([null, key])
    }
  })
})

test('auth: a flood of 2,500 forged tokens does not evict a valid token from the cache', async () => {
  const key = newKey()
  const token = await signToken(key)
  await judge(token, key)
  for (let nth = 0; nth < 2_500; nth++) {
    const { kid } = newKey()
    const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid })).toString('base64url')
    expect(await judge(`${header}.e30.AAAA`, key)).toEqual(['at once', 'partner_not_found'])
  }
  expect(await judge(token, key)).toEqual(['at once', key])
})

test('auth: each new key has a secret of 32 bytes and a unique kid (RFC 7518 section 3.2)', () => {
  const [one, other] = [newKidAndSecret(), newKidAndSecret()]
  expect([one.secret.length, one.kid.length]).toEqual([32, 16])
  expect(one.secret).not.toEqual(other.secret)
  expect(one.kid).not.toBe(other.kid)
})

test("auth: a valid token from outside its partner's networks is rejected like a forged one", async () => {
  const key = newKey({ partner: { ...partner, networks: '10.0.0.0/8' } })
  const [token, find] = [await signToken(key), () => key]
  await expect(authenticate(token, find, now, '192.0.2.7')).rejects.toBe(outsideNetworks)
  expect(() => authenticate(token, find, now, '192.0.2.7')).toThrow(outsideNetworks)
  expect(outsideNetworks).toMatchObject({
    kind: 'token_invalid',
    message: 'the token is missing, malformed or not valid',
  })
  expect(authenticate(token, find, now, '10.0.0.7')).toBe(key)
  expect(authenticate(token, find, now)).toBe(key)
  expect([recognize(token, find, now, '192.0.2.7'), recognize(token, find, now, '10.0.0.7')]).toEqual([
    null,
    key,
  ])
  const inactive = { ...key, partner: { ...key.partner, active: false } }
  await expect(authenticate(token, () => inactive, now, '192.0.2.7')).rejects.toBe(outsideNetworks)
})
