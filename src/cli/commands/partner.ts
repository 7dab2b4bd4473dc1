import type { Command } from 'commander'
import { isWithin } from '../../domain/addresses'
import { Refusal } from '../../domain/errors'
import { noRates, type PartnerRates, ratesText } from '../../domain/limits'
import type { Partner } from '../../domain/partner'
import type { Records } from '../../operations/context'
import { countRefusalsToday, requireOrganization, requirePartner } from '../../operations/find-records'
import {
  addPartner,
  listPartners,
  renamePartner,
  setPartnerActive,
  setPartnerNetworks,
  setPartnerOrganization,
  setPartnerRates,
} from '../../operations/partners'
import { listAddresses, listTokens } from '../../operations/tokens'
import { dayMillis, formatInstant } from '../../scheduling/calendar'
import { callerNetwork, rateOverride } from '../arguments'
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
import { firstOf } from '../terminal/layout'
import type { Answer } from '../terminal/output'
import { confirm } from '../terminal/question'
import { type Columns, columnsOf, fields, rowsAnswer, table } from '../terminal/table'
import { presentTokens, tokenColumns, tokenSummary, tokensGiveWay } from '../terminal/token-text'

export function partnerCommand(): Command {
  return commandGroup('partner', [
    recordsCommand({
      name: 'add',
      description: 'Add a partner',
      words: [['<name>']],
      options: [['--organization <organization>', 'name or id of the organization it acts for'], json()],
      examples: ["anteroom partner add Lantern --organization 'North Care'"],
      async run({ context, flags, act }: Call<Records, { organization?: string }>, name: string) {
        const of = flags.organization
        const organization = of === undefined ? null : await requireOrganization(context, of)
        const added = await addPartner(context, name, organization, act())
        const next = `Next: anteroom token issue '${added.name}'`
        return { json: added, text: `Added partner ${added.id}, ${added.name}. ${next}` }
      },
    }),
    recordsCommand({
      name: 'list',
      description: 'List the partners',
      options: [json()],
      examples: ['anteroom partner list'],
      async run({ context }) {
        const keys = await listTokens(context)
        const rows = (await listPartners(context)).map((partner) => {
          const theirs = keys.filter(({ partnerId }) => partnerId === partner.id)
          return { ...partner, ...tokenSummary(theirs, context.clock.now()) }
        })
        return rowsAnswer(rows, columns, 'There are no partners.')
      },
    }),
    onPartner({
      name: 'show',
      description: 'Show a partner, the state of its tokens, and its refusals of today',
      options: [json()],
      examples: ['anteroom partner show Lantern'],
      run: show,
    }),
    onPartner({
      name: 'rename',
      description: 'Rename a partner',
      words: [['<name>', 'the new name']],
      options: [json()],
      examples: ["anteroom partner rename Lantern 'Lantern Health'"],
      async run({ context, act }, partner: Partner, name: string) {
        await renamePartner(context, partner, name, act())
        return { json: { ...partner, name }, text: `Partner ${partner.name} is now called ${name}.` }
      },
    }),
    onPartner({
      name: 'set-organization',
      description: 'Set the organization that a partner acts for',
      words: [['<organization>', 'name or id, or the word none to remove the organization']],
      options: [json(), yes],
      examples: ["anteroom partner set-organization Lantern 'North Care'"],
      run: setOrganization,
    }),
    onPartner({
      name: 'set-rates',
      description: 'Set rate limits for one partner, instead of those of serve',
      options: [
        ['--reads-per-minute <n>', 'reads in a minute: a number, off, or default (as serve)', rateOverride],
        ['--bookings-per-minute <n>', 'booking requests in a minute; the same values', rateOverride],
        ['--intakes-per-hour <n>', 'intakes in an hour; the same values', rateOverride],
        ['--email-conflicts-per-hour <n>', 'e-mail addresses of other members in an hour', rateOverride],
        json(),
      ],
      examples: ['anteroom partner set-rates Lantern --bookings-per-minute 60'],
      run: setRates,
    }),
    onPartner({
      name: 'set-networks',
      description: 'Accept the tokens of a partner only from these networks',
      words: [['<networks...>', 'networks in CIDR notation, or the word any', callerNetwork]],
      options: [json(), yes],
      examples: ['anteroom partner set-networks Lantern 203.0.113.0/24 2001:db8::/32'],
      run: setNetworks,
    }),
    ...switchCommands(onPartner, {
      deactivate: ["Refuse a partner's token with HTTP 401", 'anteroom partner deactivate Lantern'],
      reactivate: ['Accept the token of a deactivated partner again', 'anteroom partner reactivate Lantern'],
      set: setPartnerActive,
      question: async (partner, context) =>
        `Deactivate partner ${partner.name}, ${await lastUse(context, partner)}?`,
      nameOf: ({ name }) => `Partner ${name}`,
    }),
  ])
}

export const onPartner = commandsOn(withRecords, ['<partner>', 'name or id'], requirePartner)

async function show({ context }: Call<Records>, partner: Partner): Promise<Answer> {
  const keys = await listTokens(context, partner)
  const now = context.clock.now()
  const tokens = presentTokens(keys, now)
  const { lastUsedAt } = tokenSummary(keys, now)
  const refusals = await countRefusalsToday(context, now, partner)
  const usedFrom = (await listAddresses(context, now, partner)).map(({ address, lastAt }) => {
    return { address, lastAt: formatInstant(lastAt) }
  })
  const addressColumns: Columns<(typeof usedFrom)[number]> = {
    'USED FROM': ({ address }) => address,
    'LAST DAY': ({ lastAt }) => lastAt.slice(0, 10),
  }
  return {
    json: { ...partner, lastUsedAt, usedFrom, refusedToday: refusals.map(presentRefusal), tokens },
    text: [
      fields({
        id: partner.id,
        name: partner.name,
        state: stateOf(partner),
        organization: organizationOf(partner),
        rates: ratesText(partner),
        networks: networksText(partner),
        'last used': lastUsedAt,
        'refused today': refusalsText(refusals),
      }),
      '',
      table(tokens, tokenColumns, 'The partner has no tokens.', tokensGiveWay),
      '',
      table(usedFrom, addressColumns, 'No token was used in the last 30 days.'),
    ],
  }
}

async function setOrganization({ context, flags, act }: Call<Records>, partner: Partner, of: string) {
  const organization = of === 'none' ? null : await requireOrganization(context, of)
  const cutOff = cutOffBy(organization)
  if (partner.organization?.active && cutOff) {
    await confirm(
      `${cutOff} Change the organization of partner ${partner.name}, ${await lastUse(context, partner)}?`,
      flags,
    )
  } else if (partner.organization && organization && partner.organization.id !== organization.id) {
    const from = partner.organization.name
    await confirm(`Partner ${partner.name} acts for ${from}. Change this to ${organization.name}?`, flags)
  }
  await setPartnerOrganization(context, partner, organization, act())
  const line = `Partner ${partner.name} acts for ${organization?.name ?? 'no organization'}.`
  return { json: { ...partner, organization }, text: line }
}

/** Returns a warning if all requests would be refused because of the organization; otherwise null. */
function cutOffBy(organization: Partner['organization']): string | null {
  if (!organization) return 'Without an organization, all requests of the partner are refused with HTTP 409.'
  if (organization.active) return null
  return `${organization.name} is deactivated: all requests of the partner are refused with HTTP 403.`
}

async function lastUse(context: Records, partner: Partner): Promise<string> {
  const { lastUsedAt } = tokenSummary(await listTokens(context, partner), context.clock.now())
  return lastUsedAt === null ? 'whose token was never used' : `whose token was last used ${lastUsedAt}`
}

type RateFlags = Partial<Record<keyof PartnerRates, ReturnType<typeof rateOverride>>>

async function setRates({ context, flags, act }: Call<Records, RateFlags>, partner: Partner) {
  const names = Object.keys(noRates) as (keyof PartnerRates)[]
  const given = names.filter((name) => flags[name] !== undefined)
  const rates: Partial<PartnerRates> = Object.fromEntries(
    given.map((name) => [name, flags[name] === 'default' ? null : flags[name]]),
  )
  if (given.length === 0) {
    const fault =
      'give at least one of --reads-per-minute, --bookings-per-minute, --intakes-per-hour and --email-conflicts-per-hour'
    throw new Refusal('settings_invalid', fault)
  }
  await setPartnerRates(context, partner, rates, act())
  const changed = { ...partner, ...rates }
  return { json: changed, text: `Partner ${partner.name}: ${ratesText(changed)}.` }
}

async function setNetworks(
  { context, flags, act }: Call<Records>,
  partner: Partner,
  given: readonly string[],
): Promise<Answer> {
  const networks = given.includes('any') ? null : given.join()
  const recent = await listAddresses(context, context.clock.now(), partner)
  const outside = recent
    .map(({ address }) => address)
    .filter((address) => !isWithin(networks, address.split('/', 1)[0] as string))
  const isUnknown = networks !== null && recent.length === 0 && (await isInUse(context, partner))
  if (outside.length > 0) {
    const from = `Partner ${partner.name} has called from ${firstOf(outside, mostAsked)} in the last 30 days`
    await confirm(`${from}. Refuse calls from there with HTTP 401?`, flags)
  } else if (isUnknown) {
    const from = `Partner ${partner.name} is calling, but no address was recorded yet`
    await confirm(`${from}. Refuse calls from elsewhere with HTTP 401?`, flags)
  }
  await setPartnerNetworks(context, partner, networks, act())
  const changed = { ...partner, networks }
  return { json: changed, text: `Partner ${partner.name}: calls are accepted from ${networksText(changed)}.` }
}

const mostAsked = 5

/** Addresses are recorded since the version that stores them. */
async function isInUse(context: Records, partner: Partner): Promise<boolean> {
  const since = context.clock.now() - 30 * dayMillis
  return (await listTokens(context, partner)).some(({ lastUsedAt }) => (lastUsedAt ?? 0) > since)
}

function networksText({ networks }: Partner): string {
  return networks?.replaceAll(',', ', ') ?? 'any address'
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
