import type { Command } from 'commander'
import type { Organization } from '../../domain/partner'
import type { Records } from '../../operations/context'
import { requireOrganization } from '../../operations/find-records'
import {
  addOrganization,
  listOrganizations,
  listPartners,
  renameOrganization,
  setOrganizationActive,
} from '../../operations/partners'
import { commandGroup, commandsOn, json, recordsCommand, stateOf, switchCommands } from '../command'
import { withRecords } from '../storage'
import { type Columns, columnsOf, rowsAnswer } from '../terminal/table'

export function organizationCommand(): Command {
  return commandGroup('organization', [
    recordsCommand({
      name: 'add',
      description: 'Add an organization',
      words: [['<name>']],
      options: [json()],
      examples: ["anteroom organization add 'North Care'"],
      async run({ context, act }, name: string) {
        const added = await addOrganization(context, name, act())
        return { json: added, text: `Added organization ${added.id}, ${added.name}.` }
      },
    }),
    recordsCommand({
      name: 'list',
      description: 'List the organizations',
      options: [json()],
      examples: ['anteroom organization list --json | jq -r .[].name'],
      async run({ context }) {
        return rowsAnswer(await listOrganizations(context), columns, 'There are no organizations.')
      },
    }),
    onOrganization({
      name: 'rename',
      description: 'Rename an organization',
      words: [['<name>', 'the new name']],
      options: [json()],
      examples: ["anteroom organization rename 'North Care' 'North Health'"],
      async run({ context, act }, organization: Organization, name: string) {
        await renameOrganization(context, organization, name, act())
        return {
          json: { ...organization, name },
          text: `Organization ${organization.name} is now called ${name}.`,
        }
      },
    }),
    ...switchCommands(onOrganization, {
      deactivate: ['Refuse all its partners with HTTP 403', "anteroom organization deactivate 'North Care'"],
      reactivate: ['Accept requests of its partners again', "anteroom organization reactivate 'North Care'"],
      set: setOrganizationActive,
      question: askCutOff,
      nameOf: ({ name }) => `Organization ${name}`,
    }),
  ])
}

const onOrganization = commandsOn(withRecords, ['<organization>', 'name or id'], requireOrganization)

async function askCutOff({ id, name }: Organization, context: Records): Promise<string> {
  const theirs = (await listPartners(context)).filter(({ organization }) => organization?.id === id)
  const who = theirs.map((partner) => partner.name).join(', ') || 'none yet'
  return `Refuse all requests of the partners of ${name} (${who})?`
}

const columns: Columns<Organization> = { ...columnsOf('id', 'name'), STATE: stateOf }
