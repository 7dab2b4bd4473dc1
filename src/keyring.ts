import { chownSync, existsSync, linkSync, lstatSync, realpathSync, rmSync, statSync } from 'node:fs'
import type { MasterKeySource } from './config'
import { Refusal } from './domain/errors'
import type { DatabaseLocation } from './domain/ports/database'
import type { Purpose } from './domain/ports/database-copy'
import type { Keyring } from './domain/ports/vault'
import { asidePath, isThere, listUnfinished, nameFile } from './files/durable'
import { protectBackup } from './vault/backup'
import {
  createMasterKey,
  parseMasterKey,
  readMasterKey,
  readMasterKeyCredential,
  readMasterKeyDescriptor,
} from './vault/master-key-file'
import { masterKeyOf } from './vault/vault'

/** A database, and where its master key is. */
interface Keeping {
  readonly source: MasterKeySource
  readonly place: DatabaseLocation
  readonly purpose: Purpose
  /** Whether to make a key file with a database that is not there. */
  readonly create: boolean
}

/** Reads the master key of a database, once. @throws Refusal database_unusable */
export async function openKeyring({ source, place, purpose, create }: Keeping) {
  const found = await place.find()
  const isNew = create && found === null
  const next = isNew ? null : nextKeyOf(source, found?.owner)
  const hasRotated = next !== null && (await place.isSealedUnder(purpose, masterKeyOf(next.key)))
  if (hasRotated) takePlace(next.path, next.key, next.file)
  const key = hasRotated ? next.key : readKey(source, found?.owner, isNew)
  const keyring: Keyring = {
    hasRotated,
    protect: (protection) => protectBackup(key, protection),
    rotate: (newKeyFile, putInForce) => rotate(source, key, newKeyFile, putInForce),
  }
  return { key, keyring }
}

/** The master key of a source, for a backup, whose owner may be the key's too. */
export function readBackupKey(source: MasterKeySource, backup: string): Uint8Array {
  return readKey(source, ownerOf(backup))
}

/**
 * The master key of a source. A key is made with a database and never for one that is there: it would not fit.
 *
 * @param owner whose the key may be beside ours, by uid
 */
function readKey(source: MasterKeySource, owner: number | undefined, create = false): Uint8Array {
  if ('base64' in source) return parseMasterKey(source.base64)
  if ('descriptor' in source) return readMasterKeyDescriptor(source.descriptor)
  if ('credential' in source) return readMasterKeyCredential(source.credential)
  if (create && !existsSync(source.file)) return createMasterKey(source.file)
  return readMasterKey(source.file, owner)
}

function ownerOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.uid
}

// A rotation makes the next key beside the file of this one, has the database sealed under it, and gives it the name of
// this one. Where it was killed before the last step, whoever opens the database takes that.
const nextEnd = '.next'

/** A link is none of ours: given the name of the key that it leads to, it would lead nowhere, and the key be gone. */
function isPlainFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

/** What a rotation that was cut short has left beside a key file; null for nothing, and for what is no key of ours. */
function nextKeyOf(source: MasterKeySource, owner: number | undefined) {
  if (!('file' in source) || !existsSync(source.file)) return null
  const file = realpathSync(source.file)
  const path = `${file}${nextEnd}`
  if (!isPlainFile(path)) return null
  try {
    return { file, path, key: readMasterKey(path, owner) }
  } catch {
    // It is not to stop a service whose key is in order.
    return null
  }
}

async function rotate(
  source: MasterKeySource,
  key: Uint8Array,
  newKeyFile: string | undefined,
  putInForce: Parameters<Keyring['rotate']>[1],
): Promise<string> {
  const file = 'file' in source && newKeyFile === undefined ? realpathSync(source.file) : null
  const path = newKeyFile ?? (file === null ? null : `${file}${nextEnd}`)
  if (path === null) {
    throw new Refusal('field_invalid', '--new-key-file: is needed, since the master key is given in no file')
  }
  // What another rotation has begun is gone on with: of two at once, none is left with a key that nothing is sealed under.
  const next = makeNext(path, file)
  if (Buffer.from(next).equals(key)) {
    throw new Refusal('field_invalid', '--new-key-file: holds the master key that is in force')
  }
  await putInForce(masterKeyOf(next))
  if (file !== null) takePlace(path, next, file)
  return file ?? path
}

/** @param file whose place it shall take, and so whose owner it gets: root's would be of no use to the service */
function makeNext(path: string, file: string | null): Uint8Array {
  if (file === null) return createMasterKey(path)
  const { uid, gid } = statSync(file)
  if (isThere(path) && !isPlainFile(path)) {
    throw new Refusal('database_unusable', `${path} is no file of a rotation: move it away first`)
  }
  try {
    requireReplaceable(file)
    const key = createMasterKey(path, uid)
    if (statSync(path).uid !== uid) chownSync(path, uid, gid)
    return key
  } catch (error) {
    if (!isNoPlace(error)) throw error
    throw new Refusal(
      'database_unusable',
      `no key can take the place of ${file}: name another by --new-key-file`,
    )
  }
}

/** A file that is mounted by itself, as containers have them, cannot be replaced: that must be known before. */
function requireReplaceable(file: string): void {
  const probe = asidePath(`${file}${nextEnd}`)
  try {
    linkSync(file, probe)
    rmSync(probe)
  } catch (error) {
    // Other faults say nothing of it: some file systems know no links.
    if (isNoPlace(error)) throw error
  }
}

function isNoPlace(error: unknown): boolean {
  return /^(EACCES|EROFS|EXDEV)$/.test((error as { code?: string }).code ?? '')
}

/** Somebody else's taking the same step meanwhile is as good. */
function takePlace(path: string, key: Uint8Array, file: string): void {
  if (!isPlainFile(path) || !Buffer.from(key).equals(readMasterKey(path, ownerOf(path)))) return
  try {
    nameFile(path, file, true)
  } catch (error) {
    if (existsSync(path)) throw error
  }
  // No other copy of a key is left lying, finished or not.
  for (const left of listUnfinished(path)) rmSync(left, { force: true })
}
