import { Command } from 'commander'
import type { Organization } from '../domain/partner'
import { requireOrganization } from '../operations/find-records'
import { confirm, printJson, printLine, printTable } from './output'
import { storageCommand, withContext } from './storage'

interface Flags {
  readonly json?: boolean
  readonly yes?: boolean
}

/** `anteroom organization`: the legal bodies that partners act for. */
export function organizationCommand(): Command {
  return new Command('organization')
    .description('The legal bodies that partners act for')
    .addCommand(
      storageCommand('add', 'Add an organization')
        .argument('<name>')
        .option('--json', 'print it as JSON')
        .action((name: string, flags: Flags) =>
          withContext(flags, async ({ store, clock }) => {
            const added = await store.addOrganization(name, clock.now())
            if (flags.json) printJson(added)
            else printLine(`Added organization ${added.id}, ${added.name}.`)
          }),
        ),
    )
    .addCommand(
      storageCommand('list', 'List the organizations')
        .option('--json', 'print them as JSON')
        .action((flags: Flags) =>
          withContext(flags, async ({ store }) => {
            const organizations = await store.listOrganizations()
            if (flags.json) printJson(organizations)
            else printTable(organizations, columns, 'There are no organizations.')
          }),
        ),
    )
    .addCommand(
      storageCommand('deactivate', 'Refuse the API, with 403, to all partners of an organization')
        .argument('<organization>', 'name or id')
        .option('--yes', 'do not ask')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const { id, name } = await requireOrganization(context, named)
            await confirm(`Cut off every partner of ${name}?`, flags)
            await context.store.setOrganizationActive(id, false)
            printLine(`Organization ${name} is deactivated.`)
          }),
        ),
    )
    .addCommand(
      storageCommand('reactivate', 'Give the API back to the partners of an organization')
        .argument('<organization>', 'name or id')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const { id, name } = await requireOrganization(context, named)
            await context.store.setOrganizationActive(id, true)
            printLine(`Organization ${name} is active.`)
          }),
        ),
    )
}

const columns = [
  { title: 'ID', value: ({ id }: Organization) => id },
  { title: 'NAME', value: ({ name }: Organization) => name },
  { title: 'STATE', value: ({ active }: Organization) => (active ? 'active' : 'deactivated') },
]
