import { writeSync } from 'node:fs'
import { version } from '../../package.json'
import { origin } from '../built'
import { requireOwnRuntime } from '../config'

/** The version first, for programs, and what whoever tells of a fault should tell too. */
export async function versionLine(): Promise<string> {
  const { commit, zoneData } = await origin()
  // Twelve digits tell commits apart; `anteroom version` has them all.
  const short = commit.replace(/^([0-9a-f]{12})[0-9a-f]+/, '$1')
  return `${version} (commit ${short}, Bun ${Bun.version}, zone data ${zoneData})`
}

/** Prints the version alone. False if it could not, or may not, be: the program then says why. */
export async function printVersionLine(): Promise<boolean> {
  try {
    requireOwnRuntime()
    writeSync(1, `${await versionLine()}\n`)
    return true
  } catch {
    return false
  }
}
