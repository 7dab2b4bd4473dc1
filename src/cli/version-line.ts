import { writeSync } from 'node:fs'
import { version } from '../../package.json'
import { requireOwnRuntime } from '../config'

/** Prints the version alone. False if it could not, or may not, be: the program then says why. */
export function tellVersion(): boolean {
  try {
    requireOwnRuntime()
    writeSync(1, `${version}\n`)
    return true
  } catch {
    return false
  }
}
