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

/** The length of a master key. */
export const masterKeyBytes = 32

// A sealed value is: format (1 byte), key id (4), nonce (12), ciphertext, tag (16). The format byte names all the
// rest, and the key id the master key, so that both can change beside what is already sealed.
const format = 2
const keyIdBytes = 4
const nonceBytes = 12
const tagBytes = 16
const hashKeyBytes = 32

const utf8 = new TextEncoder()

/** A new random master key. */
export function newMasterKey(): Uint8Array {
  return randomBytes(masterKeyBytes)
}

/** A master key as an operator keeps it, in bytes. */
export function masterKeyOf(bytes: Uint8Array): MasterKey {
  return { vault: createVault(bytes), newDataKey: newMasterKey, vaultOf: createVault }
}

/** A vault that seals with AES-256-GCM (NIST SP 800-38D) under a master key; place and head are authenticated. */
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
    // Copies: so few bytes are copied sooner than a view of them is made.
    const decipher = createDecipheriv('aes-256-gcm', sealingKey, sealed.slice(head.length, body))
    decipher.setAAD(bindingOf(head, place))
    decipher.setAuthTag(sealed.slice(-tagBytes))
    const plain = decipher.update(sealed.slice(body, -tagBytes))
    // In this mode nothing is left to come: it throws unless all is as it was sealed.
    decipher.final()
    return plain
  }

  const hashKeys = new Map<HashPurpose, KeyObject>()
  /** HKDF (RFC 5869): a key for each purpose, none of which tells another. */
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

/** By which a master key is told from others without telling it. */
function keyIdOf(masterKey: Uint8Array): Uint8Array {
  const hash = createHash('sha256').update('anteroom master key id\n').update(masterKey).digest()
  return hash.subarray(0, keyIdBytes)
}

/** What is authenticated beside the value. JSON keeps the parts apart, whatever they hold. */
function bindingOf(head: Uint8Array, { table, column, recordKey, context = [] }: SealedCell): Uint8Array {
  const bound = utf8.encode(JSON.stringify([table, column, recordKey, ...context]))
  const binding = new Uint8Array(head.length + bound.length)
  binding.set(head)
  binding.set(bound, head.length)
  return binding
}
