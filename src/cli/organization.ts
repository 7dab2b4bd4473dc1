import type { Command } from 'commander'
import type { Organization } from '../domain/partner'
import { requireOrganization } from '../operations/find-records'
import {
  addOrganization,
  deactivateOrganization,
  listOrganizations,
  reactivateOrganization,
} from '../operations/organizations'
import { type Columns, type Flags, printResult, printRows } from './output'
import { commandGroup, commandsOn, stateOf, switchCommands } from './record-command'
import { storageCommand, withRecords } from './storage'

/** `anteroom organization`: the legal bodies that partners act for. */
export function organizationCommand(): Command {
  return commandGroup('organization', 'The legal bodies that partners act for', [
    storageCommand('add', 'Add an organization')
      .argument('<name>')
      .option('--json', 'print it as JSON')
      .action((name: string, flags: Flags) =>
        withRecords(flags, async (records, act) => {
          const added = await addOrganization(records, name, act())
          printResult(flags, added, `Added organization ${added.id}, ${added.name}.`)
        }),
      ),
    storageCommand('list', 'List the organizations')
      .option('--json', 'print them as JSON')
      .action((flags: Flags) =>
        withRecords(flags, async (records) =>
          printRows(flags, await listOrganizations(records), columns, 'There are no organizations.'),
        ),
      ),
    ...switchCommands(onOrganization, {
      deactivate: ['Refuse the API, with 403, to all partners of an organization', deactivateOrganization],
      reactivate: ['Give the API back to the partners of an organization', reactivateOrganization],
      question: ({ name }) => `Cut off every partner of ${name}?`,
      nameOf: ({ name }) => `Organization ${name}`,
    }),
  ])
}

const onOrganization = commandsOn({
  open: withRecords,
  argument: '<organization>',
  meaning: 'name or id',
  find: requireOrganization,
})

const columns: Columns<Organization> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  STATE: stateOf,
}
