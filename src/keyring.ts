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

interface Keeping {
  readonly source: MasterKeySource
  readonly place: DatabaseLocation
  readonly purpose: Purpose
  /** True to create a missing key file, if there is no database either. */
  readonly create: boolean
}

/** Finishes an interrupted rotation, then reads the master key. @throws Refusal database_unusable */
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

/** Reads the master key for a backup. The owner of the backup file may own the key file too. */
export function readBackupKey(source: MasterKeySource, backup: string): Uint8Array {
  return readKey(source, ownerOf(backup))
}

/** @param owner another uid that may own the key file @param create true to create a missing key file */
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

// A rotation writes the next key to a second file, seals the database under it, then renames the second file. After an
// interruption before the rename, the next process that opens the database renames the file.
const nextEnd = '.next'

/** False for a symbolic link, which may lead to the key: renaming the link over the key would destroy the key. */
function isPlainFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

/** Returns the next key of an interrupted rotation; null if the key is missing or unreadable. */
function nextKeyOf(source: MasterKeySource, owner: number | undefined) {
  if (!('file' in source) || !existsSync(source.file)) return null
  const file = realpathSync(source.file)
  const path = `${file}${nextEnd}`
  if (!isPlainFile(path)) return null
  try {
    return { file, path, key: readMasterKey(path, owner) }
  } catch {
    // An unreadable next key is ignored, because the current key is valid.
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
    throw new Refusal(
      'field_invalid',
      '--new-key-file: is required if the current master key is not in a file',
    )
  }
  // Reuses an existing next key, so that two concurrent rotations end with the same key.
  const next = makeNext(path, file)
  if (Buffer.from(next).equals(key)) {
    throw new Refusal('field_invalid', '--new-key-file: contains the current master key')
  }
  await putInForce(masterKeyOf(next))
  if (file !== null) takePlace(path, next, file)
  return file ?? path
}

/** @param file the old key file. The new key file gets the same owner, because the service must be able to read it. */
function makeNext(path: string, file: string | null): Uint8Array {
  if (file === null) return createMasterKey(path)
  const { uid, gid } = statSync(file)
  if (isThere(path) && !isPlainFile(path)) {
    throw new Refusal('database_unusable', `${path} is not a key file`, {
      action: 'move it away, then rotate again',
    })
  }
  try {
    requireReplaceable(file)
    const key = createMasterKey(path, uid)
    if (statSync(path).uid !== uid) chownSync(path, uid, gid)
    return key
  } catch (error) {
    if (!isNoPlace(error)) throw error
    throw new Refusal('database_unusable', `the key file ${file} cannot be replaced`, {
      action: 'use --new-key-file with another path',
    })
  }
}

/** Throws if the file cannot be replaced by a rename, for example because it is a bind mount in a container. */
function requireReplaceable(file: string): void {
  const probe = asidePath(`${file}${nextEnd}`)
  try {
    linkSync(file, probe)
    rmSync(probe)
  } catch (error) {
    // Other errors are ignored, because some file systems support a rename but no hard links.
    if (isNoPlace(error)) throw error
  }
}

function isNoPlace(error: unknown): boolean {
  return /^(EACCES|EROFS|EXDEV)$/.test((error as { code?: string }).code ?? '')
}

/** Renames the next key over the current key. Idempotent, because another process may do it first. */
function takePlace(path: string, key: Uint8Array, file: string): void {
  if (!isPlainFile(path) || !Buffer.from(key).equals(readMasterKey(path, ownerOf(path)))) return
  try {
    nameFile(path, file, true)
  } catch (error) {
    if (existsSync(path)) throw error
  }
  for (const left of listUnfinished(path)) rmSync(left, { force: true })
}
