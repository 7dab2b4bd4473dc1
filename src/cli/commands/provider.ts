import type { Command } from 'commander'
import { toProviderInFile } from '../../directory-files/describe'
import { foldName } from '../../domain/member'
import { isWorking, type Provider } from '../../domain/provider'
import { type Region, regionRef } from '../../domain/region'
import type { Context } from '../../operations/context'
import { explainSlot } from '../../operations/explain-slot'
import { type ProviderName, requireProviderName, requireRegion } from '../../operations/find-records'
import { listFreeSlots, listTaken, presentStart } from '../../operations/offer-slots'
import { parseStart, setProviderActive } from '../../operations/providers'
import { slotMinutes } from '../../scheduling/availability'
import { formatInstant, minuteMillis } from '../../scheduling/calendar'
import { slotForm, slotTime, wholeNumber } from '../arguments'
import { type Call, commandGroup, commandsOn, contextCommand, json, switchCommands } from '../command'
import { withContext } from '../storage'
import { type Answer, type CommonFlags, printNotice, type Text } from '../terminal/output'
import { fullName } from '../terminal/persons'
import { type Columns, columnsOf, fields, rowsAnswer, table } from '../terminal/table'
import {
  absenceColumns,
  absencesBySource,
  awayCommand,
  onProvider,
  providerState,
  timeOffCommand,
} from './away'

interface Flags extends CommonFlags {
  readonly region?: string
  readonly inactive?: boolean
  readonly name?: string
  readonly limit?: number
}

type ProviderInFile = ReturnType<typeof toProviderInFile>
type OverrideInFile = NonNullable<ProviderInFile['overrides']>[number]
type WindowInFile = OverrideInFile['windows'][number]

export function providerCommand(): Command {
  return commandGroup('provider', [
    contextCommand({
      name: 'list',
      description: 'List the providers',
      options: [
        ['--region <region>', 'only providers licensed in this region now, for example CA-ON'],
        ['--inactive', 'only providers who are deactivated, or suspended by staff'],
        ['--name <text>', 'only providers whose name or ref contains this text'],
        ['--limit <n>', 'the maximum number of providers', wholeNumber(1)],
        json(),
      ],
      examples: ['anteroom provider list --region CA-ON', 'anteroom provider list --name fernhill'],
      run: list,
    }),
    onProvider({
      name: 'show',
      description: 'Show everything that the directory has about a provider',
      options: [json()],
      examples: ['anteroom provider show on-001'],
      run: show,
    }),
    onProvider({
      name: 'slots',
      description: 'List the free slots of a provider',
      options: [['--region <region>', 'only slots that searches in this region show, such as CA-ON'], json()],
      examples: ['anteroom provider slots on-001'],
      run({ context, flags }: ProviderCall, provider: Provider) {
        const asked = askedOf(context, flags.region)
        const free = listFreeSlots(context, provider, asked, context.clock.now()).map((startsAt) => ({
          ...presentStart(context, provider, startsAt),
          utcEndTime: formatInstant(startsAt + slotMinutes * minuteMillis),
        }))
        const none = `There are no free slots${isWorking(provider) ? '' : `: the provider is ${providerState(provider)}`}.`
        return rowsAnswer(free, slotColumns(provider.timeZone), none)
      },
    }),
    onProvider({
      name: 'why',
      description: 'Explain why a slot is offered or not',
      words: [['<time>', slotForm, slotTime]],
      options: [['--region <region>', 'the region to search in, for example CA-ON'], json()],
      examples: ['anteroom provider why on-001 2026-12-01T09:00'],
      run: why,
    }),
    ...switchCommands(onNamedProvider, {
      deactivate: ['Stop offering the slots of a provider', 'anteroom provider deactivate on-001'],
      reactivate: ['Offer the slots of a deactivated provider again', 'anteroom provider reactivate on-001'],
      set: setProviderActive,
      question: (one) =>
        `Stop offering the slots of provider ${one.ref}${'lastName' in one ? ` ${fullName(one as Provider)}` : ''}?`,
      nameOf: ({ ref }) => `Provider ${ref}`,
      noteOn: heldOf,
    }),
    awayCommand(),
    timeOffCommand(),
  ])
}

type ProviderCall = Call<Context, Flags>

const onNamedProvider = commandsOn(withContext, ['<provider>', 'ref, id or name'], requireProviderName)

/** Returns the provider's directory entry, together with the suspension and time off that staff entered. */
function presentProvider(provider: Provider, refs: ReadonlyMap<number, string>) {
  const { id, suspended, staffTimeOff } = provider
  return { id, ...toProviderInFile(provider, refs), suspended, staffTimeOff }
}

function refsOf({ directory }: Context): ReadonlyMap<number, string> {
  return new Map(directory.listAllRegions().map((region) => [region.id, regionRef(region)]))
}

function list({ context, flags }: ProviderCall): Answer {
  const { directory, clock } = context
  const refs = refsOf(context)
  const asked = askedOf(context, flags.region)
  const known = asked
    ? directory.listLicensed(asked.id, clock.now()).map(({ provider }) => provider)
    : directory.listProviders()
  const name = foldName(flags.name ?? '')
  const found = known.filter(
    (provider) =>
      (!flags.inactive || !isWorking(provider)) &&
      [fullName(provider), provider.ref].some((text) => foldName(text).includes(name)),
  )
  const shown = found.slice(0, flags.limit).map((provider) => presentProvider(provider, refs))
  if (found.length > shown.length) printNotice(`${found.length - shown.length} more providers are not shown`)
  return rowsAnswer(shown, providerColumns, 'There are no matching providers.')
}

function askedOf(context: Context, region: string | undefined): Region | null {
  return region === undefined ? null : requireRegion(context, region)
}

function show({ context }: ProviderCall, provider: Provider): Answer {
  const shown = presentProvider(provider, refsOf(context))
  const record = {
    id: provider.id,
    ref: shown.ref,
    name: fullName(shown),
    state: providerState(provider),
    credentials: shown.credentials ?? null,
    pronouns: shown.pronouns ?? null,
    gender: shown.gender ?? null,
    bio: shown.bio ?? null,
    'time zone': shown.timeZone,
    languages: shown.languagesSpoken.join(', '),
    modalities: shown.modalities.join(', '),
    'in-person regions': shown.inPersonRegions?.join(', ') || null,
    notice: `${shown.minimumNoticeMinutes} minutes`,
  }
  const sections: Text[] = [
    ['', 'Licenses', table(shown.licenses, licenseColumns, 'There are none.')],
    ['', 'Working hours', table(shown.workingHours, hoursColumns, 'There are none.')],
    ['', 'Overrides', table(shown.overrides ?? [], overrideColumns, 'There are none.')],
    ['', 'Time off', table(absencesBySource(provider), absenceColumns, 'There is none.')],
  ]
  return { json: shown, text: [fields(record), sections] }
}

function why({ context, flags }: ProviderCall, provider: Provider, time: string): Answer {
  const startsAt = parseStart(context, provider, time)
  const asked = askedOf(context, flags.region)
  const explanation = explainSlot(context, provider, startsAt, asked, context.clock.now())
  const start = presentStart(context, provider, startsAt)
  const { nearestStartsAt, ...verdict } = explanation
  return {
    json: { provider: provider.ref, ...start, ...verdict, nearest: nearestStartsAt.map(formatInstant) },
    text: fields({
      provider: `${provider.ref}, ${fullName(provider)}`,
      slot: start.utcStartTime,
      local: `${start.local} ${start.timeZone}`,
      offered: explanation.offered ? 'yes' : 'no',
      why: explanation.why,
    }),
  }
}

/** Lists a provider's bookings. Deactivating the provider does not cancel bookings. */
function heldOf(context: Context, provider: ProviderName): string {
  const requests = listTaken(context, provider, context.clock.now()).map(({ requestId }) => requestId)
  return requests.length > 0 ? ` These upcoming requests stay booked: ${requests.join(', ')}.` : ''
}

const formatWindow = ({ start, end, stepMinutes }: WindowInFile) =>
  `${start} to ${end}${stepMinutes === undefined ? '' : ` every ${stepMinutes} min`}`

const providerColumns: Columns<ReturnType<typeof presentProvider>> = {
  ...columnsOf('ref', 'id'),
  NAME: fullName,
  STATE: providerState,
  LICENSES: ({ licenses }) => [...new Set(licenses.map(({ region }) => region))].join(' ') || null,
  'TIME ZONE': ({ timeZone }) => timeZone,
  LANGUAGES: ({ languagesSpoken }) => languagesSpoken.join(' '),
  MODALITIES: ({ modalities }) => modalities.join(' '),
}

const licenseColumns = columnsOf<ProviderInFile['licenses'][number]>('region', 'from', 'until')

const hoursColumns: Columns<ProviderInFile['workingHours'][number]> = {
  WEEKDAYS: ({ weekdays }) => weekdays.map((day) => day.slice(0, 3)).join(' '),
  ...columnsOf('start', 'end'),
  EVERY: ({ stepMinutes = slotMinutes }) => `${stepMinutes} min`,
  ...columnsOf('from', 'until'),
}

const overrideColumns: Columns<OverrideInFile> = {
  DATE: ({ date }) => date,
  HOURS: ({ windows }) => windows.map(formatWindow).join(', ') || 'none',
}

const slotColumns = (
  zone: string,
): Columns<ReturnType<typeof presentStart> & { readonly utcEndTime: string }> => ({
  'START (UTC)': ({ utcStartTime }) => utcStartTime,
  'END (UTC)': ({ utcEndTime }) => utcEndTime,
  [zone.toUpperCase()]: ({ local }) => local,
})
