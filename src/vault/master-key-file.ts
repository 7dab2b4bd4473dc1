import { existsSync } from 'node:fs'
import { Refusal } from '../domain/errors'
import { writeDurably } from '../files/durable'
import { readDescriptor, readSecretFile } from './secret-file'
import { masterKeyBytes, newMasterKey } from './vault'

const what = 'master key'

/**
 * Reads a master key from a file that holds it in base64.
 *
 * @param owner whose file it may be beside ours and root's, by uid
 * @throws Refusal database_unusable, as readSecretFile and parseMasterKey do
 */
export function readMasterKey(path: string, owner?: number): Uint8Array {
  return parseMasterKey(readSecretFile(path, { what, owner }))
}

/** The same from a credential of systemd's, who decides who can read it. @throws as readMasterKey does */
export function readMasterKeyCredential(path: string): Uint8Array {
  if (!existsSync(path)) {
    const way = 'pass it by LoadCredential, or name the key by --master-key-file'
    throw new Refusal('database_unusable', `systemd passes on no credential anteroom-master-key: ${way}`)
  }
  return parseMasterKey(readSecretFile(path, { what, anyMode: true }))
}

/** The same from an open file descriptor. @throws Refusal database_unusable, as readDescriptor and parseMasterKey do */
export function readMasterKeyDescriptor(descriptor: number): Uint8Array {
  return parseMasterKey(readDescriptor(descriptor, what))
}

/** A master key written in base64. @throws Refusal database_unusable naming the fault, never the content */
export function parseMasterKey(text: string): Uint8Array {
  const key = Buffer.from(text.trim(), 'base64')
  // A decoder skips what is not base64: only the text that the key would be written as is the key.
  if (key.length !== masterKeyBytes || key.toString('base64') !== text.trim()) {
    throw new Refusal('database_unusable', `the master key must be ${masterKeyBytes} bytes in base64`)
  }
  return key
}

/**
 * Makes a master key file that its owner alone can read, whole and on disk at once: of two who make it together,
 * both get the key of the first.
 *
 * @param owner as readMasterKey has it, for a file that is there already
 */
export function createMasterKey(path: string, owner?: number): Uint8Array {
  try {
    writeDurably(path, `${Buffer.from(newMasterKey()).toString('base64')}\n`)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
  return readMasterKey(path, owner)
}
