import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Vault } from '../domain/vault'

/** The length of a master key. */
export const masterKeyBytes = 32

// A sealed value is: format (1 byte), nonce (12), ciphertext, tag (16). The format byte names all the rest,
// so that another cipher can come later beside what is already sealed.
const format = 1
const nonceBytes = 12
const tagBytes = 16

/** A new random master key. */
export function newMasterKey(): Uint8Array {
  return randomBytes(masterKeyBytes)
}

/** A vault that seals with AES-256-GCM (NIST SP 800-38D) under a master key; the record key is authenticated. */
export function createVault(masterKey: Uint8Array): Vault {
  if (masterKey.length !== masterKeyBytes) throw new RangeError(`a master key has ${masterKeyBytes} bytes`)
  return {
    seal(plain, recordKey) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', masterKey, nonce)
      cipher.setAAD(Buffer.from(recordKey))
      const body = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([Uint8Array.of(format), nonce, body, cipher.getAuthTag()])
    },
    open(sealed, recordKey) {
      if (sealed[0] !== format || sealed.length < 1 + nonceBytes + tagBytes)
        throw new Error('not a sealed value')
      const decipher = createDecipheriv('aes-256-gcm', masterKey, sealed.subarray(1, 1 + nonceBytes))
      decipher.setAAD(Buffer.from(recordKey))
      decipher.setAuthTag(sealed.subarray(-tagBytes))
      return Buffer.concat([decipher.update(sealed.subarray(1 + nonceBytes, -tagBytes)), decipher.final()])
    },
  }
}
