import { createHash, type Hash, hkdfSync } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import type { Decrypter, Encrypter } from 'age-encryption'
import { Refusal } from '../domain/errors'
import type { ReportProgress } from '../domain/measures'
import { pause } from '../domain/ports/time'
import type { Protect, Protection } from '../domain/ports/vault'
import { readSecretFile } from './secret-file'

/** What opens an encrypted backup. */
export interface BackupKeys {
  readonly masterKey: Uint8Array
  /** The path of a file of age identities that open it instead. */
  readonly identityFile?: string | undefined
  /** The path of a file with the passphrase that opens it instead. */
  readonly passphraseFile?: string | undefined
}

/**
 * A backup encrypted in the age format (age-encryption.org/v1): for the identity that the master key stands for, and
 * whoever else is named, or for a passphrase alone. It is decrypted again before it is called made.
 *
 * @throws Refusal field_invalid for what is no recipient, database_unusable as readSecretFile does
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
    if (!written.digest().equals(found.digest())) throw unusable('the backup could not be read back')
  }
}

/**
 * Writes what an encrypted backup holds to another file, whole and authenticated, or throws.
 *
 * @throws Refusal database_unusable for keys that do not open it, or a backup that is not as it was written
 */
export async function openBackup(
  sealed: string,
  plain: string,
  keys: BackupKeys,
  progress: ReportProgress = () => {},
): Promise<void> {
  if (!isEncrypted(sealed)) throw unusable('the file is no backup')
  const decrypter = await decrypterFor(keys)
  try {
    await pass(sealed, plain, {
      transform: (stream) => decrypter.decrypt(stream),
      onShare: (share) => progress('decrypting', share),
    })
  } catch (error) {
    // The system's errors have codes; the library's and those of the cipher have none.
    if ((error as { code?: string }).code !== undefined) throw error
    const isKeyless = error instanceof Error && error.message.startsWith('no identity matched')
    throw unusable(
      isKeyless ? unopenedBy(keys, sealed) : 'the backup is damaged: it is not as it was written',
    )
  }
}

const firstLine = 'age-encryption.org/v1\n'

/** What follows where it opens with a passphrase. */
const passphraseLine = '-> scrypt '

function isEncrypted(path: string): boolean {
  return startsWith(path, firstLine)
}

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
  if (passphraseFile !== undefined) return 'the passphrase does not open the backup'
  if (startsWith(sealed, firstLine + passphraseLine)) {
    return 'the backup opens with a passphrase: give it in a file by --passphrase-file'
  }
  if (identityFile !== undefined) return 'no identity of the file opens the backup'
  return 'the master key does not open the backup: it takes the one of the time when it was made'
}

/** The X25519 key (RFC 7748) that a master key stands for where backups are concerned, derived by HKDF (RFC 5869). */
function backupIdentity(masterKey: Uint8Array): Promise<CryptoKey> {
  const scalar = Buffer.from(hkdfSync('sha256', masterKey, '', 'anteroom backup identity', 32))
  // PKCS #8 (RFC 8410): a fixed head, and the key.
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
    throw new Refusal('field_invalid', '--recipient: not an age recipient as age1…')
  }
}

/** An age identity file: a key a line, and comments. */
function addIdentities(decrypter: Decrypter, path: string): void {
  const lines = readSecretFile(path, { what: 'identity' }).split(/\r?\n/)
  const identities = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
  try {
    for (const identity of identities) decrypter.addIdentity(identity)
  } catch {
    throw unusable('the identity file holds something else than age identities as AGE-SECRET-KEY-1…')
  }
  if (identities.length === 0) throw unusable('the identity file holds no identity')
}

/** The first line of a file. */
function readPassphrase(path: string): string {
  const [passphrase = ''] = readSecretFile(path, { what: 'passphrase' }).split(/\r?\n/)
  if (passphrase === '') throw unusable('the passphrase file holds no passphrase')
  return passphrase
}

/** More than this much of a file is never in memory. */
const chunkBytes = 65_536

/** What becomes of a file's bytes on their way. */
interface Passing {
  readonly transform: (stream: ReadableStream<Uint8Array>) => Promise<ReadableStream<Uint8Array>>
  /** Hashes what goes in. */
  readonly before?: Hash
  /** Hashes what comes out. */
  readonly after?: Hash
  readonly onShare: (share: number) => void
}

/** Passes what a file holds through a transformation into another file, or nowhere. */
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

/** A turn of the event loop is given up after so many chunks: signals and timers are to be heard. */
const chunksAtOnce = 64

function streamOf(file: number, { before, onShare: tellShare }: Passing): ReadableStream<Uint8Array> {
  const { size } = fstatSync(file)
  let chunks = 0
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const bytes = new Uint8Array(chunkBytes)
    const chunk = bytes.subarray(0, readSync(file, bytes))
    if (chunk.length === 0) return controller.close()
    before?.update(chunk)
    if (++chunks % chunksAtOnce === 0) {
      tellShare((chunks * chunkBytes) / size)
      await pause(0)
    }
    controller.enqueue(chunk)
  }
  return new ReadableStream({ pull }, { highWaterMark: 0 })
}

function writeAll(file: number, chunk: Uint8Array): void {
  for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at)
}

function unusable(message: string): Refusal {
  return new Refusal('database_unusable', message)
}
