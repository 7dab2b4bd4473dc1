import { describe, expect, test } from 'bun:test'
import { newRecordKey } from '../../src/domain/vault'
import { createVault, masterKeyBytes, newMasterKey } from '../../src/vault/vault'

const vault = createVault(newMasterKey())
const secret = Buffer.from('Several days, and more than half of them at night')

describe('what is sealed', () => {
  test.each([
    ['nothing', Buffer.alloc(0)],
    ['a text', secret],
    ['every byte', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['a large value', Buffer.alloc(300_000, 'x')],
  ])('comes out as it went in: %s', (_, plain) => {
    const opened = vault.open(vault.seal(plain, 'record-1'), 'record-1')
    expect(Buffer.from(opened).equals(plain)).toBe(true)
  })

  test('is format 1, a nonce of 12 bytes, as many bytes as went in, and a tag of 16', () => {
    const sealed = vault.seal(secret, 'record-1')
    expect(sealed[0]).toBe(1)
    expect(sealed.length).toBe(1 + 12 + secret.length + 16)
  })

  test('shows nothing of what went in', () => {
    const sealed = Buffer.from(vault.seal(secret, 'record-1'))
    for (let at = 0; at + 4 <= secret.length; at++) {
      expect(sealed.includes(secret.subarray(at, at + 4))).toBe(false)
    }
  })

  test('never has the same nonce, nor looks the same', () => {
    const sealed = Array.from({ length: 5_000 }, () => Buffer.from(vault.seal(secret, 'record-1')))
    expect(new Set(sealed.map((value) => value.subarray(1, 13).toString('hex'))).size).toBe(5_000)
    expect(new Set(sealed.map((value) => value.subarray(13).toString('hex'))).size).toBe(5_000)
  })
})

describe('opening is refused', () => {
  const sealed = vault.seal(secret, 'record-1')

  test('under the key of another record', () => {
    expect(() => vault.open(sealed, 'record-2')).toThrow()
    expect(() => vault.open(sealed, '')).toThrow()
  })

  test('under another master key', () => {
    expect(() => createVault(newMasterKey()).open(sealed, 'record-1')).toThrow()
  })

  test('when any one byte was changed', () => {
    for (let at = 0; at < sealed.length; at++) {
      for (const bit of [0x01, 0x80]) {
        const changed = Uint8Array.from(sealed)
        changed[at] = (changed[at] as number) ^ bit
        expect(() => vault.open(changed, 'record-1'), `byte ${at}`).toThrow()
      }
    }
  })

  test('when anything was cut off or added', () => {
    for (let length = 0; length < sealed.length; length++) {
      expect(() => vault.open(sealed.subarray(0, length), 'record-1'), `${length} bytes`).toThrow()
    }
    expect(() => vault.open(Buffer.concat([sealed, Uint8Array.of(0)]), 'record-1')).toThrow()
  })

  test('without a word of what is inside', () => {
    const changed = Uint8Array.from(sealed)
    changed[20] = (changed[20] as number) ^ 1
    let said = ''
    try {
      vault.open(changed, 'record-1')
    } catch (error) {
      said = `${error} ${(error as Error).stack}`
    }
    expect(said).toContain('Error')
    expect(said).not.toContain('Several')
  })
})

test('a master key has 32 random bytes, and no other length is taken', () => {
  expect(newMasterKey().length).toBe(masterKeyBytes)
  expect(Buffer.from(newMasterKey()).equals(newMasterKey())).toBe(false)
  for (const length of [0, 16, 31, 33, 64]) {
    expect(() => createVault(new Uint8Array(length))).toThrow('a master key has 32 bytes')
  }
})

test('record keys never come twice', () => {
  expect(new Set(Array.from({ length: 5_000 }, newRecordKey)).size).toBe(5_000)
})
