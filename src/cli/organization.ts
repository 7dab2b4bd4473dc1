import type { Command } from 'commander'
import type { Organization } from '../domain/partner'
import { requireOrganization } from '../operations/find-records'
import {
  addOrganization,
  deactivateOrganization,
  listOrganizations,
  reactivateOrganization,
} from '../operations/partners'
import { type Columns, type CommonFlags, columnsOf, printResult, printRows } from './output'
import { asJson, commandGroup, commandsOn, stateOf, switchCommands } from './record-command'
import { storageCommand, withRecords } from './storage'

/** `anteroom organization`: the legal bodies that partners act for. */
export function organizationCommand(): Command {
  return commandGroup('organization', 'The legal bodies that partners act for', [
    asJson(storageCommand('add', 'Add an organization').argument('<name>')).action(add),
    asJson(storageCommand('list', 'List the organizations'), 'print them as JSON').action(list),
    ...switchCommands(onOrganization, {
      deactivate: ['Refuse the API, with 403, to all partners of an organization', deactivateOrganization],
      reactivate: ['Give the API back to the partners of an organization', reactivateOrganization],
      question: ({ name }) => `Cut off every partner of ${name}?`,
      nameOf: ({ name }) => `Organization ${name}`,
    }),
  ])
}

const onOrganization = commandsOn(withRecords, ['<organization>', 'name or id'], requireOrganization)

function add(name: string, flags: CommonFlags): Promise<void> {
  return withRecords(flags, async (records, act) => {
    const added = await addOrganization(records, name, act())
    printResult(flags, added, `Added organization ${added.id}, ${added.name}.`)
  })
}

function list(flags: CommonFlags): Promise<void> {
  return withRecords(flags, async (records) =>
    printRows(flags, await listOrganizations(records), columns, 'There are no organizations.'),
  )
}

const columns: Columns<Organization> = {
  ...columnsOf('id', 'name'),
  STATE: stateOf,
}
