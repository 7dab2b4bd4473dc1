import type { Command } from 'commander'
import { version } from '../../package.json'
import { notices, origin } from '../built'
import { json, plainCommand } from './command'
import { type CommonFlags, print, printJson, printRecord } from './terminal/output'

interface VersionFlags extends CommonFlags {
  readonly licenses?: boolean
}

/** `anteroom version`: what this is made of, for whoever tells of a fault, and under which licenses. */
export function versionCommand(): Command {
  return plainCommand({
    name: 'version',
    options: [
      json('print the versions as JSON'),
      ['--licenses', 'print the licenses and notices of all that is built in instead'],
    ],
    examples: [
      'anteroom version',
      'anteroom version --json | jq -r .commit',
      'anteroom version --licenses | less',
    ],
    run: printVersion,
  })
}

async function printVersion({ json, licenses }: VersionFlags): Promise<void> {
  if (licenses) return void print(notices())
  const { commit, zoneData } = await origin()
  const sqlite = process.versions.sqlite ?? null
  const versions = { anteroom: version, commit, bun: Bun.version, sqlite, zoneData }
  if (json) printJson(versions)
  else printRecord(versions)
}
