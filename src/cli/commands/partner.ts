import type { Command } from 'commander'
import { Refusal } from '../../domain/errors'
import type { PartnerRates } from '../../domain/limits'
import type { Partner } from '../../domain/partner'
import type { Records } from '../../operations/context'
import { countRefusalsToday, requireOrganization, requirePartner } from '../../operations/find-records'
import {
  addPartner,
  deactivatePartner,
  listPartners,
  reactivatePartner,
  renamePartner,
  setPartnerOrganization,
  setPartnerRates,
} from '../../operations/partners'
import { listTokens } from '../../operations/tokens'
import { rateOverride } from '../arguments'
import {
  type Call,
  commandGroup,
  commandsOn,
  json,
  recordsCommand,
  stateOf,
  switchCommands,
  yes,
} from '../command'
import { presentRefusal, refusalsText } from '../exit-code'
import { withRecords } from '../storage'
import type { Answer } from '../terminal/output'
import { confirm } from '../terminal/question'
import { type Columns, columnsOf, fields, rowsAnswer, table } from '../terminal/table'
import { presentTokens, tokenColumns, tokenSummary, tokensGiveWay } from '../terminal/token-text'

/** `anteroom partner`: the platforms that call the API. */
export function partnerCommand(): Command {
  return commandGroup('partner', [
    recordsCommand({
      name: 'add',
      description: 'Add a partner',
      words: [['<name>']],
      options: [
        ['--organization <organization>', 'name or id of the organization that it acts for'],
        json('print it as JSON'),
      ],
      examples: ["anteroom partner add Lantern --organization 'North Care'"],
      run: add,
    }),
    recordsCommand({
      name: 'list',
      description: 'List the partners',
      options: [json('print them as JSON')],
      examples: ['anteroom partner list'],
      run: list,
    }),
    onPartner({
      name: 'show',
      description: 'Show a partner, its tokens without the tokens themselves, and what it was refused',
      options: [json()],
      examples: ['anteroom partner show Lantern'],
      run: show,
    }),
    onPartner({
      name: 'rename',
      description: 'Give a partner another name',
      words: [['<name>', 'the new name']],
      options: [json()],
      examples: ["anteroom partner rename Lantern 'Lantern Health'"],
      run: rename,
    }),
    setOrganizationCommand(),
    setRatesCommand(),
    ...switchCommands(onPartner, {
      deactivate: [
        "Refuse a partner's token, with 401",
        deactivatePartner,
        'anteroom partner deactivate Lantern',
      ],
      reactivate: [
        'Take the token of a deactivated partner again',
        reactivatePartner,
        'anteroom partner reactivate Lantern',
      ],
      question: async (partner, context) =>
        `Cut off partner ${partner.name}, ${await lastUse(context, partner)}?`,
      nameOf: ({ name }) => `Partner ${name}`,
    }),
  ])
}

function setOrganizationCommand(): Command {
  return onPartner({
    name: 'set-organization',
    description: 'Say which organization a partner acts for',
    words: [['<organization>', 'name or id, or none']],
    options: [json(), yes],
    examples: ["anteroom partner set-organization Lantern 'North Care'"],
    run: setOrganization,
  })
}

function setRatesCommand(): Command {
  return onPartner({
    name: 'set-rates',
    description: 'Say what a partner may do in a minute, whatever serve is set to',
    options: [
      ['--reads-per-minute <n>', 'a whole number, off, or default for what serve is set to', rateOverride],
      ['--bookings-per-minute <n>', 'the same for what it submits', rateOverride],
      json(),
    ],
    examples: ['anteroom partner set-rates Lantern --bookings-per-minute 60'],
    run: setRates,
  })
}

/** Makes a command on one partner. */
export const onPartner = commandsOn(withRecords, ['<partner>', 'name or id'], requirePartner)

async function add(
  { context, flags, act }: Call<Records, { organization?: string }>,
  name: string,
): Promise<Answer> {
  const of = flags.organization
  const organization = of === undefined ? null : await requireOrganization(context, of)
  const added = await addPartner(context, name, organization, act())
  const next = `Next: anteroom token issue '${added.name}'`
  return { json: added, text: `Added partner ${added.id}, ${added.name}. ${next}` }
}

async function list({ context }: Call<Records>): Promise<Answer> {
  const keys = await listTokens(context)
  const rows = (await listPartners(context)).map((partner) => {
    const theirs = keys.filter(({ partnerId }) => partnerId === partner.id)
    return { ...partner, ...tokenSummary(theirs, context.clock.now()) }
  })
  return rowsAnswer(rows, columns, 'There are no partners.')
}

async function show({ context }: Call<Records>, partner: Partner): Promise<Answer> {
  const keys = await listTokens(context, partner)
  const now = context.clock.now()
  const tokens = presentTokens(keys, now)
  const { lastUsedAt } = tokenSummary(keys, now)
  const refusals = await countRefusalsToday(context, now, partner)
  const { id, name } = partner
  const [state, organization] = [stateOf(partner), organizationOf(partner)]
  const use = { 'last used': lastUsedAt, 'refused today': refusalsText(refusals) }
  return {
    json: { ...partner, lastUsedAt, refusedToday: refusals.map(presentRefusal), tokens },
    text: [
      fields({ id, name, state, organization, rates: ratesText(partner), ...use }),
      '',
      table(tokens, tokenColumns, 'It has no token.', tokensGiveWay),
    ],
  }
}

async function rename({ context, act }: Call<Records>, partner: Partner, name: string): Promise<Answer> {
  await renamePartner(context, partner, name, act())
  return { json: { ...partner, name }, text: `Partner ${partner.name} is called ${name} now.` }
}

async function setOrganization(
  { context, flags, act }: Call<Records>,
  partner: Partner,
  of: string,
): Promise<Answer> {
  const organization = of === 'none' ? null : await requireOrganization(context, of)
  const cutOff = cutOffBy(organization)
  if (partner.organization?.active && cutOff) {
    await confirm(`${cutOff} Cut off partner ${partner.name}, ${await lastUse(context, partner)}?`, flags)
  } else if (partner.organization && organization && partner.organization.id !== organization.id) {
    const from = partner.organization.name
    await confirm(`Partner ${partner.name} acts for ${from}. Have it act for ${organization.name}?`, flags)
  }
  await setPartnerOrganization(context, partner, organization, act())
  const line = `Partner ${partner.name} acts for ${organization?.name ?? 'no organization'}.`
  return { json: { ...partner, organization }, text: line }
}

/** Why the organization would cut a partner off; null if it would not. */
function cutOffBy(organization: Partner['organization']): string | null {
  if (!organization) return 'Without an organization every request of it is refused, with 409.'
  if (organization.active) return null
  return `${organization.name} is deactivated: every request of it is refused, with 403.`
}

async function lastUse(context: Records, partner: Partner): Promise<string> {
  const { lastUsedAt } = tokenSummary(await listTokens(context, partner), context.clock.now())
  return lastUsedAt === null ? 'whose token was never used' : `whose token was last used ${lastUsedAt}`
}

interface RateFlags {
  readonly readsPerMinute?: ReturnType<typeof rateOverride>
  readonly bookingsPerMinute?: ReturnType<typeof rateOverride>
}

async function setRates(
  { context, flags, act }: Call<Records, RateFlags>,
  partner: Partner,
): Promise<Answer> {
  const { readsPerMinute: reads, bookingsPerMinute: bookings } = flags
  const rates: Partial<PartnerRates> = {
    ...(reads && { readsPerMinute: reads === 'default' ? null : reads }),
    ...(bookings && { bookingsPerMinute: bookings === 'default' ? null : bookings }),
  }
  if (Object.keys(rates).length === 0) {
    throw new Refusal('settings_invalid', 'give --reads-per-minute, --bookings-per-minute or both')
  }
  await setPartnerRates(context, partner, rates, act())
  const changed = { ...partner, ...rates }
  return { json: changed, text: `Partner ${partner.name}: ${ratesText(changed)}.` }
}

function ratesText({ readsPerMinute, bookingsPerMinute }: PartnerRates): string {
  return `reads ${readsPerMinute ?? 'default'}, bookings ${bookingsPerMinute ?? 'default'} a minute`
}

function organizationOf({ organization }: Partner): string {
  if (!organization) return 'none'
  return organization.active ? organization.name : `${organization.name} (deactivated)`
}

const columns: Columns<Partner & ReturnType<typeof tokenSummary>> = {
  ...columnsOf('id', 'name'),
  STATE: stateOf,
  ORGANIZATION: organizationOf,
  TOKEN: ({ token }) => token,
  'LAST USED': ({ lastUsedAt }) => lastUsedAt,
}
