import type { Command } from 'commander'
import { Refusal } from '../domain/errors'
import type { PartnerRates } from '../domain/limits'
import { type KeyRecord, keyStateAt, type Partner } from '../domain/partner'
import type { Records } from '../operations/context'
import { requireOrganization, requirePartner } from '../operations/find-records'
import {
  addPartner,
  deactivatePartner,
  listPartners,
  reactivatePartner,
  setPartnerOrganization,
  setPartnerRates,
} from '../operations/partners'
import { listTokens } from '../operations/tokens'
import { rateOverride } from './arguments'
import {
  asJson,
  type Call,
  commandGroup,
  commandsOn,
  recordsCommand,
  stateOf,
  switchCommands,
} from './command'
import {
  type Columns,
  columnsOf,
  instantText,
  printJson,
  printLines,
  printRecord,
  printResult,
  printRows,
  printTable,
} from './output'
import { withRecords } from './storage'

/** `anteroom partner`: the platforms that call the API. */
export function partnerCommand(): Command {
  return commandGroup('partner', 'The platforms that call the API', [
    recordsCommand('add', 'Add a partner', add)
      .argument('<name>')
      .option('--organization <organization>', 'name or id of the organization that it acts for')
      .option('--json', 'print it as JSON'),
    asJson(recordsCommand('list', 'List the partners', list), 'print them as JSON'),
    asJson(onPartner('show', 'Show a partner and its tokens, without the tokens themselves', show)),
    onPartner('set-organization', 'Say which organization a partner acts for', setOrganization).argument(
      '<organization>',
      'name or id, or none',
    ),
    onPartner('set-rates', 'Say what a partner may do in a minute, whatever serve is set to', setRates)
      .option(
        '--reads-per-minute <n>',
        'a whole number, off, or default for what serve is set to',
        rateOverride,
      )
      .option('--bookings-per-minute <n>', 'the same for what it submits', rateOverride),
    ...switchCommands(onPartner, {
      deactivate: ["Refuse a partner's token, with 401", deactivatePartner],
      reactivate: ['Take the token of a deactivated partner again', reactivatePartner],
      question: ({ name }) => `Cut off partner ${name}?`,
      nameOf: ({ name }) => `Partner ${name}`,
    }),
  ])
}

/** Makes a command on one partner. */
export const onPartner = commandsOn(withRecords, ['<partner>', 'name or id'], requirePartner)

async function add({ context, flags, act }: Call<Records, { organization?: string }>, name: string) {
  const of = flags.organization
  const organization = of === undefined ? null : await requireOrganization(context, of)
  const added = await addPartner(context, name, organization, act())
  const next = `Next: anteroom token issue '${added.name}'`
  printResult(flags, added, `Added partner ${added.id}, ${added.name}. ${next}`)
}

async function list({ context, flags }: Call<Records>): Promise<void> {
  printRows(flags, await listPartners(context), columns, 'There are no partners.')
}

async function show({ context, flags }: Call<Records>, partner: Partner): Promise<void> {
  const tokens = presentTokens(await listTokens(context, partner), context.clock.now())
  if (flags.json) return printJson({ ...partner, tokens })
  const { id, name } = partner
  const [state, organization] = [stateOf(partner), organizationOf(partner)]
  printRecord({ id, name, state, organization, rates: ratesText(partner) })
  printLines('')
  printTable(tokens, tokenColumns, 'It has no token.')
}

async function setOrganization({ context, act }: Call<Records>, partner: Partner, of: string): Promise<void> {
  const organization = of === 'none' ? null : await requireOrganization(context, of)
  await setPartnerOrganization(context, partner, organization, act())
  printLines(`Partner ${partner.name} acts for ${organization?.name ?? 'no organization'}.`)
}

interface RateFlags {
  readonly readsPerMinute?: ReturnType<typeof rateOverride>
  readonly bookingsPerMinute?: ReturnType<typeof rateOverride>
}

async function setRates({ context, flags, act }: Call<Records, RateFlags>, partner: Partner) {
  const { readsPerMinute: reads, bookingsPerMinute: bookings } = flags
  const rates: Partial<PartnerRates> = {
    ...(reads && { readsPerMinute: reads === 'default' ? null : reads }),
    ...(bookings && { bookingsPerMinute: bookings === 'default' ? null : bookings }),
  }
  if (Object.keys(rates).length === 0) {
    throw new Refusal('settings_invalid', 'give --reads-per-minute, --bookings-per-minute or both')
  }
  await setPartnerRates(context, partner, rates, act())
  printLines(`Partner ${partner.name}: ${ratesText({ ...partner, ...rates })}.`)
}

function ratesText({ readsPerMinute, bookingsPerMinute }: PartnerRates): string {
  return `reads ${readsPerMinute ?? 'default'}, bookings ${bookingsPerMinute ?? 'default'} a minute`
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
