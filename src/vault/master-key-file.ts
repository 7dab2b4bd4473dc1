import { existsSync } from 'node:fs'
import { Refusal } from '../domain/errors'
import { writeDurably } from '../files/durable'
import { readDescriptor, readSecretFile } from './secret-file'
import { masterKeyBytes, newMasterKey } from './vault'

const what = 'master key'

/**
 * @param owner uid that may own the file, in addition to this user and root
 * @throws Refusal database_unusable if the file or the key is unusable
 */
export function readMasterKey(path: string, owner?: number): Uint8Array {
  return parseMasterKey(readSecretFile(path, { what, owner }))
}

/** Reads a systemd credential without checking its mode: systemd controls access. @throws Refusal database_unusable */
export function readMasterKeyCredential(path: string): Uint8Array {
  if (!existsSync(path)) {
    const way = 'set LoadCredential in the unit, or use --master-key-file'
    throw new Refusal('database_unusable', 'systemd passed no credential anteroom-master-key', {
      action: way,
    })
  }
  return parseMasterKey(readSecretFile(path, { what, anyMode: true }))
}

/** @throws Refusal database_unusable if the descriptor or the key is unusable */
export function readMasterKeyDescriptor(descriptor: number): Uint8Array {
  return parseMasterKey(readDescriptor(descriptor, what))
}

/** @throws Refusal database_unusable for an invalid key. The message must not contain the key. */
export function parseMasterKey(text: string): Uint8Array {
  const key = Buffer.from(text.trim(), 'base64')
  // Compares with the canonical text, because the decoder skips invalid characters.
  if (key.length !== masterKeyBytes || key.toString('base64') !== text.trim()) {
    throw new Refusal('database_unusable', `the master key must be ${masterKeyBytes} bytes in base64`)
  }
  return key
}

/** Creates the file atomically (mode 600). If two processes create the file at once, both get the first key. */
export function createMasterKey(path: string, owner?: number): Uint8Array {
  try {
    writeDurably(path, `${Buffer.from(newMasterKey()).toString('base64')}\n`)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
  return readMasterKey(path, owner)
}
