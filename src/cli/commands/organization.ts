import type { Command } from 'commander'
import type { Organization } from '../../domain/partner'
import type { Records } from '../../operations/context'
import { requireOrganization } from '../../operations/find-records'
import {
  addOrganization,
  deactivateOrganization,
  listOrganizations,
  listPartners,
  reactivateOrganization,
  renameOrganization,
} from '../../operations/partners'
import {
  type Call,
  commandGroup,
  commandsOn,
  json,
  recordsCommand,
  stateOf,
  switchCommands,
} from '../command'
import { withRecords } from '../storage'
import type { Answer } from '../terminal/output'
import { type Columns, columnsOf, rowsAnswer } from '../terminal/table'

/** `anteroom organization`: the legal bodies that partners act for. */
export function organizationCommand(): Command {
  return commandGroup('organization', [
    recordsCommand({
      name: 'add',
      description: 'Add an organization',
      words: [['<name>']],
      options: [json()],
      examples: ["anteroom organization add 'North Care'"],
      run: add,
    }),
    recordsCommand({
      name: 'list',
      description: 'List the organizations',
      options: [json('print them as JSON')],
      examples: ['anteroom organization list --json | jq -r .[].name'],
      run: list,
    }),
    onOrganization({
      name: 'rename',
      description: 'Give an organization another name',
      words: [['<name>', 'the new name']],
      options: [json()],
      examples: ["anteroom organization rename 'North Care' 'North Health'"],
      run: rename,
    }),
    ...switchCommands(onOrganization, {
      deactivate: [
        'Refuse the API, with 403, to all partners of an organization',
        deactivateOrganization,
        "anteroom organization deactivate 'North Care'",
      ],
      reactivate: [
        'Give the API back to the partners of an organization',
        reactivateOrganization,
        "anteroom organization reactivate 'North Care'",
      ],
      question: askCutOff,
      nameOf: ({ name }) => `Organization ${name}`,
    }),
  ])
}

const onOrganization = commandsOn(withRecords, ['<organization>', 'name or id'], requireOrganization)

async function add({ context, act }: Call<Records>, name: string): Promise<Answer> {
  const added = await addOrganization(context, name, act())
  return { json: added, text: `Added organization ${added.id}, ${added.name}.` }
}

async function list({ context }: Call<Records>): Promise<Answer> {
  return rowsAnswer(await listOrganizations(context), columns, 'There are no organizations.')
}

async function rename(
  { context, act }: Call<Records>,
  organization: Organization,
  name: string,
): Promise<Answer> {
  await renameOrganization(context, organization, name, act())
  return { json: { ...organization, name }, text: `Organization ${organization.name} is called ${name} now.` }
}

async function askCutOff({ id, name }: Organization, context: Records): Promise<string> {
  const theirs = (await listPartners(context)).filter(({ organization }) => organization?.id === id)
  const who = theirs.map((partner) => partner.name).join(', ') || 'it has none yet'
  return `Cut off every partner of ${name} (${who})?`
}

const columns: Columns<Organization> = {
  ...columnsOf('id', 'name'),
  STATE: stateOf,
}
