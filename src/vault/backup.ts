import { createHash, type Hash, hkdfSync } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import type { Decrypter, Encrypter } from 'age-encryption'
import { Refusal, splitAction } from '../domain/errors'
import type { ReportProgress } from '../domain/measures'
import { pause } from '../domain/ports/time'
import type { Protect, Protection } from '../domain/ports/vault'
import { readSecretFile } from './secret-file'

/** The first key that is given is used: the passphrase, the identities or the master key. */
export interface BackupKeys {
  readonly masterKey: Uint8Array
  readonly identityFile?: string | undefined
  readonly passphraseFile?: string | undefined
}

/**
 * Returns a function that encrypts a backup in the age format (age-encryption.org/v1) and verifies the result. If
 * a passphrase is given, only the passphrase decrypts the backup. If not, the master key or any recipient's identity can.
 *
 * @throws Refusal field_invalid for an invalid recipient, database_unusable for an unusable passphrase file
 */
export async function protectBackup(masterKey: Uint8Array, protection: Protection): Promise<Protect> {
  const { recipients, passphraseFile } = protection
  const { Encrypter, identityToRecipient } = await import('age-encryption')
  const encrypter = new Encrypter()
  if (passphraseFile === undefined) {
    encrypter.addRecipient(await identityToRecipient(await backupIdentity(masterKey)))
    for (const recipient of recipients) addRecipient(encrypter, recipient)
  } else {
    encrypter.setPassphrase(readPassphrase(passphraseFile))
  }
  const decrypter = await decrypterFor({ masterKey, passphraseFile })
  return async (plain, sealed, progress = () => {}) => {
    const [written, found] = [createHash('sha256'), createHash('sha256')]
    const encrypt: Passing = {
      transform: (stream) => encrypter.encrypt(stream),
      before: written,
      onShare: (share) => progress('encrypting', share),
    }
    const readBack: Passing = {
      transform: (stream) => decrypter.decrypt(stream),
      after: found,
      onShare: (share) => progress('reading back', share),
    }
    await pass(plain, sealed, encrypt)
    await pass(sealed, null, readBack).catch(() => {})
    if (!written.digest().equals(found.digest()))
      throw unusableBackup('the new backup cannot be decrypted', 'check the disk, then make a new backup')
  }
}

/** @throws Refusal database_unusable if no key decrypts the backup, or if the backup is damaged */
export async function openBackup(
  sealed: string,
  plain: string,
  keys: BackupKeys,
  progress: ReportProgress = () => {},
): Promise<void> {
  if (!startsWith(sealed, firstLine)) throw unusableBackup('the file is not a backup')
  const decrypter = await decrypterFor(keys)
  try {
    await pass(sealed, plain, {
      transform: (stream) => decrypter.decrypt(stream),
      onShare: (share) => progress('decrypting', share),
    })
  } catch (error) {
    // Only system errors have codes. Errors of the library and the cipher have none.
    if ((error as { code?: string }).code !== undefined) throw error
    const isKeyless = error instanceof Error && error.message.startsWith('no identity matched')
    const text = isKeyless ? unopenedBy(keys, sealed) : 'the backup is damaged; use another backup'
    throw new Refusal('database_unusable', ...splitAction(text))
  }
}

const firstLine = 'age-encryption.org/v1\n'

/** Second line of a backup that is encrypted for a passphrase. */
const passphraseLine = '-> scrypt '

function startsWith(path: string, text: string): boolean {
  const start = Buffer.alloc(text.length)
  const file = openSync(path, 'r')
  try {
    return readSync(file, start) === start.length && start.toString('latin1') === text
  } finally {
    closeSync(file)
  }
}

function unopenedBy({ identityFile, passphraseFile }: BackupKeys, sealed: string): string {
  if (passphraseFile !== undefined) return 'the passphrase does not decrypt the backup'
  if (startsWith(sealed, firstLine + passphraseLine)) {
    return 'the backup needs a passphrase; pass it in a file with --passphrase-file'
  }
  if (identityFile !== undefined) return 'no identity in the file decrypts the backup'
  return 'the master key does not decrypt the backup; use the master key from the time of the backup'
}

/** Derives the X25519 key (RFC 7748) for backups from the master key by HKDF (RFC 5869). */
function backupIdentity(masterKey: Uint8Array): Promise<CryptoKey> {
  const scalar = Buffer.from(hkdfSync('sha256', masterKey, '', 'anteroom backup identity', 32))
  // PKCS #8 (RFC 8410) is a fixed header, followed by the key.
  const encoded = Buffer.concat([Buffer.from('302e020100300506032b656e04220420', 'hex'), scalar])
  return crypto.subtle.importKey('pkcs8', encoded, { name: 'X25519' }, false, ['deriveBits'])
}

async function decrypterFor({ masterKey, identityFile, passphraseFile }: BackupKeys): Promise<Decrypter> {
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  if (passphraseFile !== undefined) decrypter.addPassphrase(readPassphrase(passphraseFile))
  else if (identityFile !== undefined) addIdentities(decrypter, identityFile)
  else decrypter.addIdentity(await backupIdentity(masterKey))
  return decrypter
}

function addRecipient(encrypter: Encrypter, recipient: string): void {
  try {
    encrypter.addRecipient(recipient)
  } catch {
    throw new Refusal('field_invalid', '--recipient: must be an age recipient (age1…)')
  }
}

function addIdentities(decrypter: Decrypter, path: string): void {
  const lines = readSecretFile(path, { what: 'identity' }).split(/\r?\n/)
  const identities = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
  try {
    for (const identity of identities) decrypter.addIdentity(identity)
  } catch {
    throw unusableBackup('the identity file may contain only age identities (AGE-SECRET-KEY-1…)')
  }
  if (identities.length === 0) throw unusableBackup('the identity file contains no identity')
}

function readPassphrase(path: string): string {
  const [passphrase = ''] = readSecretFile(path, { what: 'passphrase' }).split(/\r?\n/)
  if (passphrase === '') throw unusableBackup('the passphrase file is empty')
  return passphrase
}

const chunkBytes = 65_536

/** `before` hashes the input. `after` hashes the output. */
interface Passing {
  readonly transform: (stream: ReadableStream<Uint8Array>) => Promise<ReadableStream<Uint8Array>>
  readonly before?: Hash
  readonly after?: Hash
  readonly onShare: (share: number) => void
}

/** Transforms a file into another. If `to` is null, discards the output. */
async function pass(from: string, to: string | null, passing: Passing): Promise<void> {
  const source = openSync(from, 'r')
  const target = to === null ? null : openSync(to, 'w')
  try {
    for await (const chunk of await passing.transform(streamOf(source, passing))) {
      passing.after?.update(chunk)
      if (target !== null) writeAll(target, chunk)
    }
  } finally {
    closeSync(source)
    if (target !== null) closeSync(target)
  }
}

/** Chunks in one event loop turn. Signals and timers run between two turns. */
const chunksAtOnce = 64

function streamOf(file: number, { before, onShare }: Passing): ReadableStream<Uint8Array> {
  const { size } = fstatSync(file)
  let chunks = 0
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const bytes = new Uint8Array(chunkBytes)
    const chunk = bytes.subarray(0, readSync(file, bytes))
    if (chunk.length === 0) return controller.close()
    before?.update(chunk)
    if (++chunks % chunksAtOnce === 0) {
      onShare((chunks * chunkBytes) / size)
      await pause(0)
    }
    controller.enqueue(chunk)
  }
  return new ReadableStream({ pull }, { highWaterMark: 0 })
}

function writeAll(file: number, chunk: Uint8Array): void {
  for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at)
}

function unusableBackup(fault: string, action?: string): Refusal {
  return new Refusal('database_unusable', fault, { action })
}
