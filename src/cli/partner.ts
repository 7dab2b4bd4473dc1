import type { Command } from 'commander'
import type { ReasonCount } from '../domain/audit'
import { standingKeys } from '../domain/decide-keys'
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
  renamePartner,
  setPartnerOrganization,
  setPartnerRates,
} from '../operations/partners'
import { countRefusalsToday, listTokens } from '../operations/tokens'
import { rateOverride } from './arguments'
import {
  asJson,
  asking,
  type Call,
  commandGroup,
  commandsOn,
  recordsCommand,
  stateOf,
  switchCommands,
} from './command'
import type { GiveWay } from './layout'
import {
  type Columns,
  columnsOf,
  confirm,
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
    asJson(
      onPartner(
        'show',
        'Show a partner, its tokens without the tokens themselves, and what it was refused',
        show,
      ),
    ),
    asJson(onPartner('rename', 'Give a partner another name', rename).argument('<name>', 'the new name')),
    asking(
      asJson(
        onPartner('set-organization', 'Say which organization a partner acts for', setOrganization).argument(
          '<organization>',
          'name or id, or none',
        ),
      ),
    ),
    asJson(
      onPartner('set-rates', 'Say what a partner may do in a minute, whatever serve is set to', setRates)
        .option(
          '--reads-per-minute <n>',
          'a whole number, off, or default for what serve is set to',
          rateOverride,
        )
        .option('--bookings-per-minute <n>', 'the same for what it submits', rateOverride),
    ),
    ...switchCommands(onPartner, {
      deactivate: ["Refuse a partner's token, with 401", deactivatePartner],
      reactivate: ['Take the token of a deactivated partner again', reactivatePartner],
      question: async (partner, context) =>
        `Cut off partner ${partner.name}, ${await lastUse(context, partner)}?`,
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
  const keys = await listTokens(context)
  const rows = (await listPartners(context)).map((partner) => {
    const theirs = keys.filter(({ partnerId }) => partnerId === partner.id)
    return { ...partner, ...tokenSummary(theirs, context.clock.now()) }
  })
  printRows(flags, rows, columns, 'There are no partners.')
}

async function show({ context, flags }: Call<Records>, partner: Partner): Promise<void> {
  const keys = await listTokens(context, partner)
  const tokens = presentTokens(keys, context.clock.now())
  const { lastUsedAt } = tokenSummary(keys, context.clock.now())
  const refusedToday = presentRefusals(await countRefusalsToday(context, partner))
  if (flags.json) return printJson({ ...partner, lastUsedAt, refusedToday, tokens })
  const { id, name } = partner
  const [state, organization] = [stateOf(partner), organizationOf(partner)]
  const use = { 'last used': lastUsedAt, 'refused today': refusalsText(refusedToday) }
  printRecord({ id, name, state, organization, rates: ratesText(partner), ...use })
  printLines('')
  printTable(tokens, tokenColumns, 'It has no token.', tokensGiveWay)
}

async function rename({ context, flags, act }: Call<Records>, partner: Partner, name: string): Promise<void> {
  await renamePartner(context, partner, name, act())
  printResult(flags, { ...partner, name }, `Partner ${partner.name} is called ${name} now.`)
}

async function setOrganization(
  { context, flags, act }: Call<Records>,
  partner: Partner,
  of: string,
): Promise<void> {
  const organization = of === 'none' ? null : await requireOrganization(context, of)
  const cutOff = cutOffBy(organization)
  if (partner.organization?.active && cutOff) {
    await confirm(`${cutOff} Cut off partner ${partner.name}, ${await lastUse(context, partner)}?`, flags)
  }
  await setPartnerOrganization(context, partner, organization, act())
  const line = `Partner ${partner.name} acts for ${organization?.name ?? 'no organization'}.`
  printResult(flags, { ...partner, organization }, line)
}

/** What becomes of the requests of a partner who is given an organization; null where they go on. */
function cutOffBy(organization: Partner['organization']): string | null {
  if (!organization) return 'Without an organization every request of it is refused, with 409.'
  if (organization.active) return null
  return `${organization.name} is deactivated: every request of it is refused, with 403.`
}

/** As `last used 2026-12-01T14:00:00Z`: whether anybody would mind. */
async function lastUse(context: Records, partner: Partner): Promise<string> {
  const { lastUsedAt } = tokenSummary(await listTokens(context, partner), context.clock.now())
  return lastUsedAt === null ? 'whose token was never used' : `whose token was last used ${lastUsedAt}`
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
  const changed = { ...partner, ...rates }
  printResult(flags, changed, `Partner ${partner.name}: ${ratesText(changed)}.`)
}

function ratesText({ readsPerMinute, bookingsPerMinute }: PartnerRates): string {
  return `reads ${readsPerMinute ?? 'default'}, bookings ${bookingsPerMinute ?? 'default'} a minute`
}

function organizationOf({ organization }: Partner): string {
  if (!organization) return 'none'
  return organization.active ? organization.name : `${organization.name} (deactivated)`
}

/** What a list shows of a partner's tokens: whether one is in force, the cutover to come, and when any was last used. */
function tokenSummary(keys: readonly KeyRecord[], now: number) {
  const { current, waiting } = standingKeys(keys, now)
  const cutover = waiting.map(({ startsAt }) => `cutover ${instantText(startsAt)}`)
  const last = Math.max(0, ...keys.map(({ lastUsedAt }) => lastUsedAt ?? 0))
  return {
    token: [...(current ? ['in force'] : []), ...cutover].join(', ') || 'none',
    lastUsedAt: instantText(last || null),
  }
}

const columns: Columns<Partner & ReturnType<typeof tokenSummary>> = {
  ...columnsOf('id', 'name'),
  STATE: stateOf,
  ORGANIZATION: organizationOf,
  TOKEN: ({ token }) => token,
  'LAST USED': ({ lastUsedAt }) => lastUsedAt,
}

/** How a token stands, in words: as `in force`, `waits until 2026-12-01T14:00:00Z`, `rotated out at ...`. */
export function tokenState(key: KeyRecord, now: number): string {
  const { startsAt, endsAt, endReason } = key
  const state = keyStateAt(key, now)
  if (state === 'waiting') return `waits until ${instantText(startsAt)}`
  if (state === 'in force') return endsAt === null ? state : `in force until ${instantText(endsAt)}`
  if (endReason === 'cancelled') return 'cancelled'
  return `${endReason === 'rotated' ? 'rotated out' : endReason} at ${instantText(endsAt)}`
}

/** Refusals as commands print them. */
export function presentRefusals(counts: readonly ReasonCount[]) {
  return counts.map(({ lastAt, ...told }) => ({ ...told, lastAt: instantText(lastAt) }))
}

/** Refusals in a line. */
export function refusalsText(refusals: ReturnType<typeof presentRefusals>): string {
  const each = refusals.map(({ reason, count, lastAt }) => `${reason}: ${count}, last ${lastAt}`)
  return each.join('; ') || 'nothing'
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

export const tokenColumns = {
  KID: ({ kid }) => kid,
  STATE: ({ state, endReason }) => (state === 'ended' ? endReason : state),
  ISSUED: ({ issuedAt }) => issuedAt,
  STARTS: ({ startsAt }) => startsAt,
  ENDS: ({ endsAt }) => endsAt,
  'LAST USED': ({ lastUsedAt }) => lastUsedAt,
} satisfies Columns<ReturnType<typeof presentTokens>[number]>

/** When a token was made matters least where the room is short: whether it is in force and used is what is asked. */
export const tokensGiveWay: GiveWay = { leaveOut: ['ISSUED', 'STARTS', 'ENDS'] }
