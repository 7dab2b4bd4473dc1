import type { Command } from 'commander'
import type { Act } from '../domain/audit'
import type { KeyRecord, Partner } from '../domain/partner'
import type { Records } from '../operations/context'
import { requireOrganization, requirePartner } from '../operations/find-records'
import {
  addPartner,
  deactivatePartner,
  listPartners,
  reactivatePartner,
  setPartnerOrganization,
} from '../operations/partners'
import { keyStateAt, listTokens } from '../operations/tokens'
import {
  type Columns,
  type Flags as CommonFlags,
  instantText,
  printJson,
  printLine,
  printRecord,
  printResult,
  printRows,
  printTable,
} from './output'
import { commandGroup, commandsOn, stateOf, switchCommands } from './record-command'
import { type MakeAct, storageCommand, withRecords } from './storage'

interface Flags extends CommonFlags {
  readonly organization?: string
}

/** `anteroom partner`: the platforms that call the API. */
export function partnerCommand(): Command {
  return commandGroup('partner', 'The platforms that call the API', [
    storageCommand('add', 'Add a partner')
      .argument('<name>')
      .option('--organization <organization>', 'name or id of the organization that it acts for')
      .option('--json', 'print it as JSON')
      .action((name: string, flags: Flags) =>
        withRecords(flags, (records, act) => add(records, name, act(), flags)),
      ),
    storageCommand('list', 'List the partners')
      .option('--json', 'print them as JSON')
      .action((flags: Flags) =>
        withRecords(flags, async (records) =>
          printRows(flags, await listPartners(records), columns, 'There are no partners.'),
        ),
      ),
    onPartner('show', 'Show a partner and its tokens, without the tokens themselves', show).option(
      '--json',
      'print it as JSON',
    ),
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

/** Makes a command on one partner. */
export const onPartner = commandsOn({
  open: withRecords,
  argument: '<partner>',
  meaning: 'name or id',
  find: requirePartner,
})

async function add(records: Records, name: string, act: Act, flags: Flags): Promise<void> {
  const { organization } = flags
  const body = organization === undefined ? null : await requireOrganization(records, organization)
  const added = await addPartner(records, name, body, act)
  printResult(
    flags,
    added,
    `Added partner ${added.id}, ${added.name}. Next: anteroom token issue '${added.name}'`,
  )
}

async function show(records: Records, partner: Partner, _act: MakeAct, { json }: Flags): Promise<void> {
  const tokens = presentTokens(await listTokens(records, partner), records.clock.now())
  if (json) return printJson({ ...partner, tokens })
  const { id, name } = partner
  printRecord({ id, name, state: stateOf(partner), organization: organizationOf(partner) })
  printLine('')
  printTable(tokens, tokenColumns, 'It has no token.')
}

async function setOrganization(
  records: Records,
  partner: Partner,
  act: MakeAct,
  _flags: Flags,
  of: string,
): Promise<void> {
  const organization = of === 'none' ? null : await requireOrganization(records, of)
  await setPartnerOrganization(records, partner, organization, act())
  printLine(`Partner ${partner.name} acts for ${organization?.name ?? 'no organization'}.`)
}

function organizationOf({ organization }: Partner): string {
  if (!organization) return 'none'
  return organization.active ? organization.name : `${organization.name} (deactivated)`
}

const columns: Columns<Partner> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
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
