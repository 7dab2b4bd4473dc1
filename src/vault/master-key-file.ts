import { readFileSync, writeFileSync } from 'node:fs'
import { masterKeyBytes, newMasterKey } from './vault'

/** Reads a master key from a file that holds it in base64. @throws Error naming the fault, never the content */
export function readMasterKey(path: string): Uint8Array {
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64')
  if (key.length !== masterKeyBytes)
    throw new Error(`the master key file does not hold ${masterKeyBytes} bytes in base64`)
  return key
}

/** Writes a new master key to a file that its owner alone can read. @throws if the file exists */
export function createMasterKey(path: string): Uint8Array {
  const key = newMasterKey()
  writeFileSync(path, `${Buffer.from(key).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  return key
}
