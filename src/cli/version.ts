import { Command } from 'commander'
import { version } from '../../package.json'
import { origin } from '../built'
import { notices } from '../notices'
import { type CommonFlags, print, printJson, printRecord } from './output'

interface VersionFlags extends CommonFlags {
  readonly licenses?: boolean
}

/** `anteroom version`: what this is made of, for whoever tells of a fault, and under which licenses. */
export function versionCommand(): Command {
  const description = 'Print the version, what it was built from, and the licenses of what is built in'
  const command = new Command('version')
    .description(description)
    .option('--json', 'print the versions as JSON')
    .option('--licenses', 'print the licenses and notices of all that is built in instead')
  command.action(async ({ json, licenses }: VersionFlags) => {
    if (licenses) {
      print(notices())
      return
    }
    const { commit, zoneData } = await origin()
    const sqlite = process.versions.sqlite ?? null
    const versions = { anteroom: version, commit, bun: Bun.version, sqlite, zoneData }
    if (json) printJson(versions)
    else printRecord(versions)
  })
  return command
}
