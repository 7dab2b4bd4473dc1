import type { Command } from 'commander'
import { type KeyRecord, keyStateAt, type Partner } from '../domain/partner'
import type { Records } from '../operations/context'
import { requireOrganization, requirePartner } from '../operations/find-records'
import {
  addPartner,
  deactivatePartner,
  listPartners,
  reactivatePartner,
  setPartnerOrganization,
} from '../operations/partners'
import { listTokens } from '../operations/tokens'
import {
  type Columns,
  type CommonFlags,
  columnsOf,
  instantText,
  printJson,
  printLine,
  printRecord,
  printResult,
  printRows,
  printTable,
} from './output'
import { asJson, type Call, commandGroup, commandsOn, stateOf, switchCommands } from './record-command'
import { storageCommand, withRecords } from './storage'

interface AddFlags extends CommonFlags {
  readonly organization?: string
}

/** `anteroom partner`: the platforms that call the API. */
export function partnerCommand(): Command {
  return commandGroup('partner', 'The platforms that call the API', [
    storageCommand('add', 'Add a partner')
      .argument('<name>')
      .option('--organization <organization>', 'name or id of the organization that it acts for')
      .option('--json', 'print it as JSON')
      .action(add),
    asJson(storageCommand('list', 'List the partners'), 'print them as JSON').action(list),
    asJson(onPartner('show', 'Show a partner and its tokens, without the tokens themselves', show)),
    onPartner('set-organization', 'Say which organization a partner acts for', setOrganization).argument(
      '<organization>',
      'name or id, or none',
    ),
    ...switchCommands(onPartner, {
      deactivate: ["Refuse a partner's token, with 401", deactivatePartner],
      reactivate: ['Take the token of a deactivated partner again', reactivatePartner],
      question: ({ name }) => `Cut off partner ${name}?`,
      nameOf: ({ name }) => `Partner ${name}`,
    }),
  ])
}

/** A command at work on one partner. */
export type PartnerCall<Flags = CommonFlags> = Call<Records, Partner, Flags>

/** Makes a command on one partner. */
export const onPartner = commandsOn(withRecords, ['<partner>', 'name or id'], requirePartner)

function add(name: string, flags: AddFlags): Promise<void> {
  return withRecords(flags, async (records, act) => {
    const of = flags.organization
    const organization = of === undefined ? null : await requireOrganization(records, of)
    const added = await addPartner(records, name, organization, act())
    const next = `Next: anteroom token issue '${added.name}'`
    printResult(flags, added, `Added partner ${added.id}, ${added.name}. ${next}`)
  })
}

function list(flags: CommonFlags): Promise<void> {
  return withRecords(flags, async (records) =>
    printRows(flags, await listPartners(records), columns, 'There are no partners.'),
  )
}

async function show({ context, record: partner, flags }: PartnerCall): Promise<void> {
  const tokens = presentTokens(await listTokens(context, partner), context.clock.now())
  if (flags.json) return printJson({ ...partner, tokens })
  const { id, name } = partner
  printRecord({ id, name, state: stateOf(partner), organization: organizationOf(partner) })
  printLine('')
  printTable(tokens, tokenColumns, 'It has no token.')
}

async function setOrganization(call: Call<Records, Partner, CommonFlags, [of: string]>): Promise<void> {
  const { context, record: partner, act, words } = call
  const organization = words[0] === 'none' ? null : await requireOrganization(context, words[0])
  await setPartnerOrganization(context, partner, organization, act())
  printLine(`Partner ${partner.name} acts for ${organization?.name ?? 'no organization'}.`)
}

function organizationOf({ organization }: Partner): string {
  if (!organization) return 'none'
  return organization.active ? organization.name : `${organization.name} (deactivated)`
}

const columns: Columns<Partner> = {
  ...columnsOf('id', 'name'),
  STATE: stateOf,
  ORGANIZATION: organizationOf,
}

/** Tokens as commands print them: all that is known but the token itself. */
export function presentTokens(keys: readonly KeyRecord[], now: number) {
  return keys.map((key) => ({
    kid: key.kid,
    state: keyStateAt(key, now),
    issuedAt: instantText(key.issuedAt),
    startsAt: instantText(key.startsAt),
    endsAt: instantText(key.endsAt),
    endReason: key.endReason,
    lastUsedAt: instantText(key.lastUsedAt),
  }))
}

export const tokenColumns: Columns<ReturnType<typeof presentTokens>[number]> = {
  KID: ({ kid }) => kid,
  STATE: ({ state, endReason }) => (state === 'ended' ? endReason : state),
  ISSUED: ({ issuedAt }) => issuedAt,
  STARTS: ({ startsAt }) => startsAt,
  ENDS: ({ endsAt }) => endsAt,
  'LAST USED': ({ lastUsedAt }) => lastUsedAt,
}
