import { Command } from 'commander'
import type { KeyRecord, Partner } from '../domain/partner'
import { requireOrganization, requirePartner } from '../operations/find-records'
import { keyStateAt, listTokens } from '../operations/tokens'
import { formatInstant } from '../scheduling/calendar'
import { confirm, printJson, printLine, printRecord, printTable } from './output'
import { storageCommand, withContext } from './storage'

interface Flags {
  readonly organization?: string
  readonly json?: boolean
  readonly yes?: boolean
}

/** `anteroom partner`: the platforms that call the API. */
export function partnerCommand(): Command {
  return new Command('partner')
    .description('The platforms that call the API')
    .addCommand(
      storageCommand('add', 'Add a partner')
        .argument('<name>')
        .option('--organization <organization>', 'name or id of the organization that it acts for')
        .option('--json', 'print it as JSON')
        .action((name: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const { organization } = flags
            const body = organization === undefined ? null : await requireOrganization(context, organization)
            const added = await context.store.addPartner(name, body?.id ?? null, context.clock.now())
            if (flags.json) printJson(added)
            else
              printLine(
                `Added partner ${added.id}, ${added.name}. Next: anteroom token issue '${added.name}'`,
              )
          }),
        ),
    )
    .addCommand(
      storageCommand('list', 'List the partners')
        .option('--json', 'print them as JSON')
        .action((flags: Flags) =>
          withContext(flags, async ({ store }) => {
            const partners = await store.listPartners()
            if (flags.json) printJson(partners)
            else printTable(partners, columns, 'There are no partners.')
          }),
        ),
    )
    .addCommand(
      storageCommand('show', 'Show a partner and its tokens, without the tokens themselves')
        .argument('<partner>', 'name or id')
        .option('--json', 'print it as JSON')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const partner = await requirePartner(context, named)
            const tokens = presentTokens(await listTokens(context, partner), context.clock.now())
            if (flags.json) return printJson({ ...partner, tokens })
            printRecord({
              id: partner.id,
              name: partner.name,
              state: stateOf(partner),
              organization: organizationOf(partner),
            })
            printLine('')
            printTable(tokens, tokenColumns, 'It has no token.')
          }),
        ),
    )
    .addCommand(
      storageCommand('set-organization', 'Say which organization a partner acts for')
        .argument('<partner>', 'name or id')
        .argument('<organization>', 'name or id, or none')
        .action((named: string, of: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const { id, name } = await requirePartner(context, named)
            const organization = of === 'none' ? null : await requireOrganization(context, of)
            await context.store.setPartnerOrganization(id, organization?.id ?? null)
            printLine(`Partner ${name} acts for ${organization?.name ?? 'no organization'}.`)
          }),
        ),
    )
    .addCommand(
      storageCommand('deactivate', "Refuse a partner's token, with 401")
        .argument('<partner>', 'name or id')
        .option('--yes', 'do not ask')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const { id, name } = await requirePartner(context, named)
            await confirm(`Cut off partner ${name}?`, flags)
            await context.store.setPartnerActive(id, false)
            printLine(`Partner ${name} is deactivated.`)
          }),
        ),
    )
    .addCommand(
      storageCommand('reactivate', 'Take the token of a deactivated partner again')
        .argument('<partner>', 'name or id')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const { id, name } = await requirePartner(context, named)
            await context.store.setPartnerActive(id, true)
            printLine(`Partner ${name} is active.`)
          }),
        ),
    )
}

const stateOf = ({ active }: Partner) => (active ? 'active' : 'deactivated')

function organizationOf({ organization }: Partner): string {
  if (!organization) return 'none'
  return organization.active ? organization.name : `${organization.name} (deactivated)`
}

const columns = [
  { title: 'ID', value: ({ id }: Partner) => id },
  { title: 'NAME', value: ({ name }: Partner) => name },
  { title: 'STATE', value: stateOf },
  { title: 'ORGANIZATION', value: organizationOf },
]

/** What may be told of a token. */
type TokenFacts = ReturnType<typeof presentTokens>[number]

/** Tokens as commands print them: all that is known but the token itself. */
export function presentTokens(keys: readonly KeyRecord[], now: number) {
  const instant = (at: number | null) => (at === null ? null : formatInstant(at))
  return keys.map((key) => ({
    kid: key.kid,
    state: keyStateAt(key, now),
    issuedAt: instant(key.issuedAt),
    startsAt: instant(key.startsAt),
    endsAt: instant(key.endsAt),
    endReason: key.endReason,
    lastUsedAt: instant(key.lastUsedAt),
  }))
}

export const tokenColumns = [
  { title: 'KID', value: ({ kid }: TokenFacts) => kid },
  { title: 'STATE', value: ({ state, endReason }: TokenFacts) => (state === 'ended' ? endReason : state) },
  { title: 'ISSUED', value: ({ issuedAt }: TokenFacts) => issuedAt },
  { title: 'STARTS', value: ({ startsAt }: TokenFacts) => startsAt },
  { title: 'ENDS', value: ({ endsAt }: TokenFacts) => endsAt },
  { title: 'LAST USED', value: ({ lastUsedAt }: TokenFacts) => lastUsedAt },
]
