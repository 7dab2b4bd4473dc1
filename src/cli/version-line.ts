import { writeSync } from 'node:fs'
import { version } from '../../package.json'
import { origin } from '../built'
import { requireOwnRuntime } from '../config'

/** Scripts read the version at the start of the line. The other parts are for bug reports. */
export async function versionLine(): Promise<string> {
  const { commit, zoneData } = await origin()
  const short = commit.replace(/^([0-9a-f]{12})[0-9a-f]+/, '$1')
  return `${version} (commit ${short}, Bun ${Bun.version}, zone data ${zoneData})`
}

/** Returns false if the line cannot be printed or a variable of Bun is set. The full program then reports why. */
export async function printVersionLine(): Promise<boolean> {
  try {
    requireOwnRuntime()
    writeSync(1, `${await versionLine()}\n`)
    return true
  } catch {
    return false
  }
}
