import type { Command } from 'commander'
import type { Organization } from '../domain/partner'
import type { Records } from '../operations/context'
import { requireOrganization } from '../operations/find-records'
import {
  addOrganization,
  deactivateOrganization,
  listOrganizations,
  reactivateOrganization,
} from '../operations/partners'
import {
  asJson,
  type Call,
  commandGroup,
  commandsOn,
  recordsCommand,
  stateOf,
  switchCommands,
} from './command'
import { type Columns, columnsOf, printResult, printRows } from './output'
import { withRecords } from './storage'

/** `anteroom organization`: the legal bodies that partners act for. */
export function organizationCommand(): Command {
  return commandGroup('organization', 'The legal bodies that partners act for', [
    asJson(recordsCommand('add', 'Add an organization', add).argument('<name>')),
    asJson(recordsCommand('list', 'List the organizations', list), 'print them as JSON'),
    ...switchCommands(onOrganization, {
      deactivate: ['Refuse the API, with 403, to all partners of an organization', deactivateOrganization],
      reactivate: ['Give the API back to the partners of an organization', reactivateOrganization],
      question: ({ name }) => `Cut off every partner of ${name}?`,
      nameOf: ({ name }) => `Organization ${name}`,
    }),
  ])
}

const onOrganization = commandsOn(withRecords, ['<organization>', 'name or id'], requireOrganization)

async function add({ context, flags, act }: Call<Records>, name: string): Promise<void> {
  const added = await addOrganization(context, name, act())
  printResult(flags, added, `Added organization ${added.id}, ${added.name}.`)
}

async function list({ context, flags }: Call<Records>): Promise<void> {
  printRows(flags, await listOrganizations(context), columns, 'There are no organizations.')
}

const columns: Columns<Organization> = {
  ...columnsOf('id', 'name'),
  STATE: stateOf,
}
