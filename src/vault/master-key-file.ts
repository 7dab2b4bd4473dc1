import { readFileSync, statSync } from 'node:fs'
import { Refusal } from '../domain/errors'
import { writeDurably } from '../files/durable'
import { masterKeyBytes, newMasterKey } from './vault'

/** Reads a master key from a file that holds it in base64. @throws Refusal database_unusable, as parseMasterKey does */
export function readMasterKey(path: string): Uint8Array {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new Refusal('database_unusable', 'there is no master key file at that path')
  // A pipe would be waited for without end.
  if (!found.isFile()) throw new Refusal('database_unusable', 'what is at the master key path is not a file')
  try {
    return parseMasterKey(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal('database_unusable', 'the master key file may not be read')
  }
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
 */
export function createMasterKey(path: string): Uint8Array {
  try {
    writeDurably(path, `${Buffer.from(newMasterKey()).toString('base64')}\n`)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
  return readMasterKey(path)
}
