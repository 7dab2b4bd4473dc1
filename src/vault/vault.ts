import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import type { HashPurpose, MasterKey, SealedCell, Vault } from '../domain/ports/vault'

export const masterKeyBytes = 32

// A sealed value is: format (1 byte), key id (4), nonce (12), ciphertext, tag (16). The format identifies
// this layout. The key id identifies the master key. Both can change while older values exist.
const format = 2
const keyIdBytes = 4
const nonceBytes = 12
const tagBytes = 16
const hashKeyBytes = 32

const utf8 = new TextEncoder()

export function newMasterKey(): Uint8Array {
  return randomBytes(masterKeyBytes)
}

export function masterKeyOf(bytes: Uint8Array): MasterKey {
  return { vault: createVault(bytes), newDataKey: newMasterKey, vaultOf: createVault }
}

/**
 * Creates a vault with AES-256-GCM (NIST SP 800-38D), which also authenticates the format, key id and cell of a value.
 * @throws RangeError if the key has a wrong length
 */
export function createVault(masterKey: Uint8Array): Vault {
  if (masterKey.length !== masterKeyBytes) throw new RangeError(`a master key has ${masterKeyBytes} bytes`)
  const head = Buffer.concat([Uint8Array.of(format), keyIdOf(masterKey)])
  const sealingKey = createSecretKey(masterKey)

  function seal(plain: Uint8Array, place: SealedCell): Uint8Array {
    const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes))
    const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce)
    cipher.setAAD(bindingOf(head, place))
    return Buffer.concat([head, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }

  function open(sealed: Uint8Array, place: SealedCell): Uint8Array {
    if (!head.every((byte, at) => sealed[at] === byte)) throw new Error('not a value sealed under this key')
    const body = head.length + nonceBytes
    if (sealed.length < body + tagBytes) throw new Error('not a sealed value')
    // slice() copies, which is faster than a view of so few bytes.
    const decipher = createDecipheriv('aes-256-gcm', sealingKey, sealed.slice(head.length, body))
    decipher.setAAD(bindingOf(head, place))
    decipher.setAuthTag(sealed.slice(-tagBytes))
    const plain = decipher.update(sealed.slice(body, -tagBytes))
    // In GCM mode, final() returns no data, but throws if the value was altered.
    decipher.final()
    return plain
  }

  const hashKeys = new Map<HashPurpose, KeyObject>()
  /** Derives an independent key for each purpose by HKDF (RFC 5869). */
  function hashKey(purpose: HashPurpose): KeyObject {
    const known = hashKeys.get(purpose)
    if (known) return known
    const bytes = hkdfSync('sha256', masterKey, '', `anteroom ${purpose}`, hashKeyBytes)
    const made = createSecretKey(Buffer.from(bytes))
    hashKeys.set(purpose, made)
    return made
  }

  return {
    seal,
    keyedHash: (purpose, text) => createHmac('sha256', hashKey(purpose)).update(text).digest(),
    open,
  }
}

/** Identifies a master key without revealing it. */
function keyIdOf(masterKey: Uint8Array): Uint8Array {
  const hash = createHash('sha256').update('anteroom master key id\n').update(masterKey).digest()
  return hash.subarray(0, keyIdBytes)
}

/** Returns the additional authenticated data. The JSON format keeps the parts distinct. */
function bindingOf(head: Uint8Array, { table, column, recordKey, context = [] }: SealedCell): Uint8Array {
  const bound = utf8.encode(JSON.stringify([table, column, recordKey, ...context]))
  const binding = new Uint8Array(head.length + bound.length)
  binding.set(head)
  binding.set(bound, head.length)
  return binding
}
