import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { Refusal } from '../domain/errors'
import { masterKeyBytes, newMasterKey } from './vault'

/** Reads a master key from a file that holds it in base64. @throws Refusal database_unusable, as parseMasterKey does */
export function readMasterKey(path: string): Uint8Array {
  if (!existsSync(path)) throw new Refusal('database_unusable', 'there is no master key file at that path')
  return parseMasterKey(readFileSync(path, 'utf8'))
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
 * Makes a master key file that its owner alone can read, whole at once: of two who make it together, both get
 * the key of the first.
 */
export function createMasterKey(path: string): Uint8Array {
  const aside = `${path}.${process.pid}`
  writeFileSync(aside, `${Buffer.from(newMasterKey()).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(aside, path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(aside)
  }
  return readMasterKey(path)
}
