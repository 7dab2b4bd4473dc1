import type { Command } from 'commander'
import { version } from '../../package.json'
import { notices, origin } from '../built'
import { json, plainCommand } from './command'
import { type Answer, printLines, verbatim } from './terminal/output'
import { fields } from './terminal/table'

export function versionCommand(): Command {
  return plainCommand({
    name: 'version',
    options: [json(), ['--licenses', 'print the licenses and notices of all built-in packages instead']],
    examples: [
      'anteroom version',
      'anteroom version --json | jq -r .commit',
      'anteroom version --licenses | less',
    ],
    run: show,
  })
}

async function show({ licenses }: { readonly licenses?: boolean }): Promise<Answer | undefined> {
  if (licenses) {
    printLines(verbatim(notices()))
    return undefined
  }
  const { commit, zoneData } = await origin()
  const sqlite = process.versions.sqlite ?? null
  const versions = { anteroom: version, commit, bun: Bun.version, sqlite, zoneData }
  return { json: versions, text: fields(versions) }
}
