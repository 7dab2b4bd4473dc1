import { existsSync, readFileSync, writeFileSync } from 'node:fs'
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
  if (key.length !== masterKeyBytes) {
    throw new Refusal('database_unusable', `the master key must be ${masterKeyBytes} bytes in base64`)
  }
  return key
}

/** Writes a new master key to a file that its owner alone can read. @throws if the file exists */
export function createMasterKey(path: string): Uint8Array {
  const key = newMasterKey()
  writeFileSync(path, `${Buffer.from(key).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  return key
}
