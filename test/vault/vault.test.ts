import { describe, expect, test } from 'bun:test'
import { externalUserIdHash } from '../../db/sealed/members'
import { newRecordKey } from '../../src/domain/ports/vault'
import { createVault, masterKeyBytes, newMasterKey } from '../../src/vault/vault'

const key = newMasterKey()
const vault = createVault(key)
const place = { table: 'partner_keys', column: 'sealed_secret', recordKey: 'record-1', context: [3, 'kid-1'] }
const secret = Buffer.from('Several days, and more than half of them at night')

describe('vault: a sealed value', () => {
  test.each([
    ['no bytes', Buffer.alloc(0)],
    ['a text', secret],
    ['every byte', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['a large value', Buffer.alloc(300_000, 'x')],
  ])('sealing and opening returns %s unchanged', (_, plain) => {
    const opened = vault.open(vault.seal(plain, place), place)
    expect(Buffer.from(opened).equals(plain)).toBe(true)
  })

  test('a sealed value consists of the format byte 2, the master key id, a 12-byte nonce, the ciphertext and a 16-byte tag', () => {
    const [one, other] = [
      vault.seal(secret, place),
      vault.seal(Buffer.alloc(3), { ...place, table: 'settings' }),
    ]
    expect(one[0]).toBe(2)
    expect(Buffer.from(one.subarray(0, 5)).equals(other.subarray(0, 5))).toBe(true)
    expect(
      Buffer.from(one.subarray(1, 5)).equals(createVault(newMasterKey()).seal(secret, place).subarray(1, 5)),
    ).toBe(false)
    expect(one.length).toBe(1 + 4 + 12 + secret.length + 16)
  })

  test('a sealed value contains no four bytes of the plaintext', () => {
    const sealed = Buffer.from(vault.seal(secret, place))
    for (let at = 0; at + 4 <= secret.length; at++) {
      expect(sealed.includes(secret.subarray(at, at + 4))).toBe(false)
    }
  })

  test('sealing never repeats a nonce or a ciphertext', () => {
    const sealed = Array.from({ length: 5_000 }, () => Buffer.from(vault.seal(secret, place)))
    expect(new Set(sealed.map((value) => value.subarray(5, 17).toString('hex'))).size).toBe(5_000)
    expect(new Set(sealed.map((value) => value.subarray(17).toString('hex'))).size).toBe(5_000)
  })
})

// The hashes, the key id and the binding of a sealed value to its record must never change. Otherwise existing
// databases could not find their records or open their sealed values.
describe('vault: the storage format that all releases share', () => {
  const fixed = createVault(Uint8Array.from({ length: masterKeyBytes }, (_, at) => at))
  const sealed = '0230025e9ace80d3a16b45af87796115907f56c0fbfe6a5b2d8805aa7ffe0a7035932375c2a4ec277d00957530'

  test.each([
    ['audit line', 'e1e436fa368b916b11f91c5487b4fd38c74147b9ff31bf5298da620c5d5f8c26'],
    ['audit head', '424a31509c8c195466eb4452b7e42c46a93c31de89ddd0161d801735f1ccabea'],
    ['external id', 'de86315868b315da79e2e278483f4d39730539f38f27181f6f65f744014bfe72'],
    ['email', '6b61b93aa6f1fd1b0f15c32d8875f6ce02dde64088e9dbb3f8f6e66689fa708c'],
    ['idempotency key', 'de47a5df78d373d903e87d8cf35e6c5744b22a8e765d5d4fc134ff65a761661f'],
    ['request body', 'b50cb5bf4a17d9b19f98b8d7d551819ff45e1fc2a84978e543e0b333c79a3bb7'],
  ] as const)('the keyed hash of a text with the purpose "%s" is fixed', (purpose, hash) =>
    expect(Buffer.from(fixed.keyedHash(purpose, 'robin@example.com')).toString('hex')).toBe(hash),
  )

  test('the hash of an external user id is fixed and depends on the partner', () => {
    const hashes = [1, 2].map((partnerId) => externalUserIdHash(fixed, partnerId, 'robin').toString('hex'))
    expect(hashes).toEqual([
      '4f81045e8a67986cb2ce1c860cc61d40c1bb39e297573985bf9bdc00041b2769',
      '7e7c150271cc4d9daad46e7f9c8864f9640b52144ab29fdb24102973db61a046',
    ])
  })

  test('the first five bytes of a sealed value are fixed', () => {
    expect(Buffer.from(fixed.seal(secret, place).subarray(0, 5)).toString('hex')).toBe('0230025e9a')
  })

  test('a value that an earlier release sealed can be opened', () => {
    const opened = fixed.open(Buffer.from(sealed, 'hex'), place)
    expect(Buffer.from(opened).toString()).toBe('Several days')
  })
})

describe('vault: opening a sealed value', () => {
  const sealed = vault.seal(secret, place)

  test('opening with another record key fails', () => {
    expect(() => vault.open(sealed, { ...place, recordKey: 'record-2' })).toThrow()
    expect(() => vault.open(sealed, { ...place, recordKey: '' })).toThrow()
  })

  test.each([
    ['another table', { table: 'booking_requests' }],
    ['another column', { column: 'kid' }],
    ['another partner', { context: [4, 'kid-1'] }],
    ['another kid', { context: [3, 'kid-2'] }],
    ['no partner and no kid', { context: [] }],
    [
      'a column and record key that concatenate to the same text',
      { column: 'sealed_secretrecord-1', recordKey: '' },
    ],
  ])('opening with %s fails', (_, different) => {
    expect(() => vault.open(sealed, { ...place, ...different })).toThrow()
  })

  test('opening with another master key fails', () => {
    expect(() => createVault(newMasterKey()).open(sealed, place)).toThrow()
  })

  test('opening fails if any byte was changed', () => {
    for (let at = 0; at < sealed.length; at++) {
      for (const bit of [0x01, 0x80]) {
        const changed = Uint8Array.from(sealed)
        changed[at] = (changed[at] as number) ^ bit
        expect(() => vault.open(changed, place), `byte ${at}`).toThrow()
      }
    }
  })

  test('opening fails if the value was shortened or extended', () => {
    for (let length = 0; length < sealed.length; length++) {
      expect(() => vault.open(sealed.subarray(0, length), place), `${length} bytes`).toThrow()
    }
    expect(() => vault.open(Buffer.concat([sealed, Uint8Array.of(0)]), place)).toThrow()
  })

  test('the error of a failed opening shows no plaintext', () => {
    const changed = Uint8Array.from(sealed)
    changed[24] = (changed[24] as number) ^ 1
    let errorText = ''
    try {
      vault.open(changed, place)
    } catch (error) {
      errorText = `${error} ${(error as Error).stack}`
    }
    expect(errorText).toContain('Error')
    expect(errorText).not.toContain('Several')
  })
})

test('vault: a master key has 32 random bytes, and other lengths are rejected', () => {
  expect(newMasterKey().length).toBe(masterKeyBytes)
  expect(Buffer.from(newMasterKey()).equals(newMasterKey())).toBe(false)
  for (const length of [0, 16, 31, 33, 64]) {
    expect(() => createVault(new Uint8Array(length))).toThrow('a master key has 32 bytes')
  }
})

test('vault: record keys never repeat', () => {
  expect(new Set(Array.from({ length: 5_000 }, newRecordKey)).size).toBe(5_000)
})
