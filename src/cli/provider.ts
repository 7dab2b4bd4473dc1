import type { Command } from 'commander'
import { toProviderInFile } from '../directory-files/describe'
import { isWorking, type Provider, type TimeOff } from '../domain/provider'
import { type Region, regionRef } from '../domain/region'
import type { Context } from '../operations/context'
import { explainSlot } from '../operations/explain-slot'
import { requireProvider, requireProviderName, requireRegion } from '../operations/find-records'
import { type LocalStart, listFreeSlots, listTaken, presentStart } from '../operations/free-slots'
import { deactivateProvider, type ProviderName, reactivateProvider } from '../operations/providers'
import { addTimeOff, parseTimeOff, removeTimeOff } from '../operations/time-off'
import { formatInstant, minuteMillis } from '../scheduling/calendar'
import { slotMinutes } from '../scheduling/slots'
import { utcInstant } from './arguments'
import { awayCommand } from './away'
import {
  asJson,
  type Call,
  commandGroup,
  commandsOn,
  contextCommand,
  stateOf,
  switchCommands,
} from './command'
import {
  type Columns,
  type CommonFlags,
  columnsOf,
  printJson,
  printLines,
  printRecord,
  printResult,
  printRows,
  printTable,
} from './output'
import { fullName } from './person-text'
import { withContext } from './storage'

interface Flags extends CommonFlags {
  readonly region?: string
  readonly inactive?: boolean
}

type ProviderInFile = ReturnType<typeof toProviderInFile>
type OverrideInFile = NonNullable<ProviderInFile['overrides']>[number]
type WindowInFile = OverrideInFile['windows'][number]

const absenceForm = 'a date, a local date-time as 2026-12-01T13:00, or an instant as 2026-12-01T18:00:00Z'

/** `anteroom provider`: the clinicians, when they can be had, and why not. */
export function providerCommand(): Command {
  return commandGroup('provider', 'The clinicians, when they can be had, and why not', [
    contextCommand('list', 'List the providers', list)
      .option('--region <region>', 'those alone who may be found there now, as CA-ON')
      .option('--inactive', 'those alone who are deactivated, or suspended by staff')
      .option('--json', 'print them as JSON'),
    asJson(onProvider('show', 'Show all that the directory has on a provider', show)),
    onProvider('slots', 'List the slots that can be had of a provider', slots)
      .option('--region <region>', 'what a search there shows, as CA-ON')
      .option('--json', 'print them as JSON'),
    onProvider('why', 'Say why a slot is not offered, or that it is', why)
      .argument('<instant>', 'when the slot starts, in UTC, as 2026-12-01T14:00:00Z', utcInstant)
      .option('--region <region>', 'whether a search there shows it, as CA-ON')
      .option('--json', 'print it as JSON'),
    ...switchCommands(onNamedProvider, {
      deactivate: ['Offer none of the slots of a provider', deactivateProvider],
      reactivate: ['Offer the slots of a deactivated provider again', reactivateProvider],
      question: ({ ref }) => `Stop offering ${ref}?`,
      nameOf: ({ ref }) => `Provider ${ref}`,
      noteOn: heldOf,
    }),
    awayCommand(),
    commandGroup('time-off', 'When providers are away', [
      asJson(onAbsence('add', 'Note that a provider is away; what is booked in that time stays', addAbsence)),
      asJson(
        onAbsence('remove', 'Take an absence back, its boundaries written as list shows them', removeAbsence),
      ),
      asJson(
        onProvider('list', 'List when a provider is away, and who has said so', listAbsences),
        'print them as JSON',
      ),
    ]),
  ])
}

type ProviderCall = Call<Context, Flags>

const onProvider = commandsOn(withContext, ['<provider>', 'ref or id'], requireProvider)
const onNamedProvider = commandsOn(withContext, ['<provider>', 'ref or id'], requireProviderName)

type AbsenceAction = (call: ProviderCall, provider: Provider, from: string, until: string) => Promise<void>

function onAbsence(name: string, description: string, action: AbsenceAction): Command {
  return onProvider(name, description, action)
    .argument('<from>', absenceForm)
    .argument('<until>', 'in the same form; a date is the last day, the others the end')
}

const addAbsence: AbsenceAction = async ({ context, flags, act }, provider, from, until) => {
  const { isKnown, held } = await addTimeOff(context, provider, parseTimeOff(from, until), act())
  const fact = isKnown ? 'already had' : 'has'
  const requests = held.map(({ requestId }) => requestId)
  const kept = held.length > 0 ? ` Requests that hold slots in it stay: ${requests.join(', ')}.` : ''
  const line = `Provider ${provider.ref} ${fact} time off from ${from} to ${until}.${kept}`
  printResult(flags, { provider: provider.ref, from, until, added: !isKnown, held: requests }, line)
}

const removeAbsence: AbsenceAction = async ({ context, flags, act }, provider, from, until) => {
  const { isOfDirectory } = await removeTimeOff(context, provider, parseTimeOff(from, until), act())
  const line = `Provider ${provider.ref} has no time off from ${from} to ${until} any more.`
  const again = isOfDirectory
    ? ' It came with the directory: the next load brings it back if it has it still.'
    : ''
  printResult(flags, { provider: provider.ref, from, until, isOfDirectory }, `${line}${again}`)
}

function listAbsences({ flags }: ProviderCall, provider: Provider): void {
  printRows(flags, absencesBySource(provider), absenceColumns, 'There is no time off.')
}

/** An absence and who has said so: staff by a command, or the directory that was loaded. */
type SourcedAbsence = TimeOff & { readonly source: 'directory' | 'staff' }

function absencesBySource({ timeOff, staffTimeOff }: Provider): SourcedAbsence[] {
  return [
    ...timeOff.map(({ from, until }) => ({ from, until, source: 'directory' as const })),
    ...staffTimeOff.map(({ from, until }) => ({ from, until, source: 'staff' as const })),
  ]
}

/** Whether a provider can be had, and who has switched them off if not: staff, or the directory. */
function standingOf({ active = true, suspended }: { active?: boolean; suspended: boolean }): string {
  if (suspended) return active ? 'suspended' : 'suspended, deactivated'
  return stateOf({ active })
}

/** A provider for programs: as the directory tells them, and as staff have. */
function presentProvider(provider: Provider, refs: ReadonlyMap<number, string>) {
  const { id, suspended, staffTimeOff } = provider
  return { id, ...toProviderInFile(provider, refs), suspended, staffTimeOff }
}

function refsOf({ directory }: Context): ReadonlyMap<number, string> {
  return new Map(directory.listAllRegions().map((region) => [region.id, regionRef(region)]))
}

function list({ context, flags }: ProviderCall): void {
  const { directory, clock } = context
  const refs = refsOf(context)
  const asked = askedOf(context, flags.region)
  const known = asked
    ? directory.listLicensed(asked.id, clock.now()).map(({ provider }) => provider)
    : directory.listProviders()
  const providers = known
    .filter((provider) => !flags.inactive || !isWorking(provider))
    .map((provider) => presentProvider(provider, refs))
  printRows(flags, providers, providerColumns, 'There are no such providers.')
}

function askedOf(context: Context, region: string | undefined): Region | null {
  return region === undefined ? null : requireRegion(context, region)
}

function show({ context, flags }: ProviderCall, provider: Provider) {
  const told = presentProvider(provider, refsOf(context))
  if (flags.json) return printJson(told)
  printRecord({
    id: provider.id,
    ref: told.ref,
    name: fullName(told),
    state: standingOf(provider),
    credentials: told.credentials ?? null,
    pronouns: told.pronouns ?? null,
    gender: told.gender ?? null,
    bio: told.bio ?? null,
    'time zone': told.timeZone,
    languages: told.languagesSpoken.join(', '),
    modalities: told.modalities.join(', '),
    'in person in': told.inPersonRegions?.join(', ') || null,
    notice: `${told.minimumNoticeMinutes} minutes`,
  })
  const section = <Row>(title: string, rows: readonly Row[], columns: Columns<Row>, none: string) => {
    printLines('')
    printLines(title)
    printTable(rows, columns, none)
  }
  section('Licenses', told.licenses, licenseColumns, 'There are none.')
  section('Working hours', told.workingHours, hoursColumns, 'There are none.')
  section('Overrides', told.overrides ?? [], overrideColumns, 'There are none.')
  section('Time off', absencesBySource(provider), absenceColumns, 'There is none.')
}

function slots({ context, flags }: ProviderCall, provider: Provider): void {
  const asked = askedOf(context, flags.region)
  const free = listFreeSlots(context, provider, asked, context.clock.now()).map((startsAt) => ({
    ...presentStart(context, provider, startsAt),
    utcEndTime: formatInstant(startsAt + slotMinutes * minuteMillis),
  }))
  const none = `There are none${isWorking(provider) ? '' : `: the provider is ${standingOf(provider)}`}.`
  printRows(flags, free, slotColumns(provider.timeZone), none)
}

function why({ context, flags }: ProviderCall, provider: Provider, startsAt: number) {
  const asked = askedOf(context, flags.region)
  const explanation = explainSlot(context, provider, startsAt, asked, context.clock.now())
  const start = presentStart(context, provider, startsAt)
  if (flags.json) {
    const { nearestStartsAt, ...told } = explanation
    const nearest = nearestStartsAt.map(formatInstant)
    return printJson({ provider: provider.ref, ...start, ...told, nearest })
  }
  printRecord({
    provider: `${provider.ref}, ${fullName(provider)}`,
    slot: start.utcStartTime,
    local: `${start.local} ${start.timeZone}`,
    offered: explanation.offered ? 'yes' : 'no',
    why: explanation.why,
  })
}

/** What stays booked with a provider, for whoever takes them away. */
function heldOf(context: Context, provider: ProviderName): string {
  const requests = listTaken(context, provider, context.clock.now()).map(({ requestId }) => requestId)
  return requests.length > 0 ? ` Requests to come that stay: ${requests.join(', ')}.` : ''
}

const formatWindow = ({ start, end, stepMinutes }: WindowInFile) =>
  `${start} to ${end}${stepMinutes === undefined ? '' : ` every ${stepMinutes} min`}`

const providerColumns: Columns<ReturnType<typeof presentProvider>> = {
  ...columnsOf('ref', 'id'),
  NAME: fullName,
  STATE: standingOf,
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

const absenceColumns = columnsOf<SourcedAbsence>('from', 'until', 'source')

const slotColumns = (zone: string): Columns<LocalStart & { readonly utcEndTime: string }> => ({
  'START (UTC)': ({ utcStartTime }) => utcStartTime,
  'END (UTC)': ({ utcEndTime }) => utcEndTime,
  [zone.toUpperCase()]: ({ local }) => local,
})
