import { Command } from 'commander'
import { version } from '../../package.json'
import { type CommonFlags, printJson, printRecord } from './output'

/** `anteroom version`: what this is made of, for whoever tells of a fault. */
export function versionCommand(): Command {
  const description = 'Print the version, and those of the runtime and the database engine'
  const command = new Command('version').description(description).option('--json', 'print them as JSON')
  command.action(({ json }: CommonFlags) => {
    const versions = { anteroom: version, bun: Bun.version, sqlite: process.versions.sqlite ?? null }
    if (json) printJson(versions)
    else printRecord(versions)
  })
  return command
}
