import { Command, InvalidArgumentError } from 'commander'
import { toProviderInFile } from '../directory-files/describe'
import type { Provider, TimeOff } from '../domain/provider'
import { regionRef } from '../domain/region'
import type { Context } from '../operations/context'
import { explainSlot } from '../operations/explain-slot'
import { requireProvider, requireRegion } from '../operations/find-records'
import { type LocalStart, listFreeSlots, listTaken, presentStart } from '../operations/free-slots'
import { addTimeOff, parseTimeOff } from '../operations/time-off'
import { formatInstant, minuteMillis, parseInstant } from '../scheduling/calendar'
import { slotMinutes } from '../scheduling/slots'
import { confirm, printJson, printLine, printRecord, printTable } from './output'
import { storageCommand, withContext } from './storage'

interface Flags {
  readonly region?: string
  readonly inactive?: boolean
  readonly json?: boolean
  readonly yes?: boolean
}

type ProviderInFile = ReturnType<typeof toProviderInFile>
type OverrideInFile = NonNullable<ProviderInFile['overrides']>[number]
type WindowInFile = OverrideInFile['windows'][number]

/** `anteroom provider`: the clinicians, when they can be had, and why not. */
export function providerCommand(): Command {
  return new Command('provider')
    .description('The clinicians, when they can be had, and why not')
    .addCommand(
      storageCommand('list', 'List the providers')
        .option('--region <region>', 'those alone who may be found there now, as CA-ON')
        .option('--inactive', 'those alone who are deactivated')
        .option('--json', 'print them as JSON')
        .action((flags: Flags) => withContext(flags, async (context) => list(context, flags))),
    )
    .addCommand(
      providerStorageCommand('show', 'Show all that the directory has on a provider')
        .option('--json', 'print it as JSON')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => show(context, requireProvider(context, named), flags)),
        ),
    )
    .addCommand(
      providerStorageCommand('slots', 'List the slots that can be had of a provider')
        .option('--region <region>', 'what a search there shows, as CA-ON')
        .option('--json', 'print them as JSON')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => slots(context, requireProvider(context, named), flags)),
        ),
    )
    .addCommand(
      providerStorageCommand('why', 'Say why a slot is not offered, or that it is')
        .argument('<instant>', 'when the slot starts, in UTC, as 2026-12-01T14:00:00Z', instant)
        .option('--region <region>', 'whether a search there shows it, as CA-ON')
        .option('--json', 'print it as JSON')
        .action((named: string, startsAt: number, flags: Flags) =>
          withContext(flags, async (context) =>
            why(context, requireProvider(context, named), startsAt, flags),
          ),
        ),
    )
    .addCommand(
      providerStorageCommand('deactivate', 'Offer none of the slots of a provider')
        .option('--yes', 'do not ask')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const provider = requireProvider(context, named)
            const kept = heldOf(context, provider)
            await confirm(`Stop offering ${provider.ref}?${kept}`, flags)
            await context.store.setProviderActive(provider.id, false)
            printLine(`Provider ${provider.ref} is deactivated.${kept}`)
          }),
        ),
    )
    .addCommand(
      providerStorageCommand('reactivate', 'Offer the slots of a deactivated provider again').action(
        (named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const { id, ref } = requireProvider(context, named)
            await context.store.setProviderActive(id, true)
            printLine(`Provider ${ref} is active.`)
          }),
      ),
    )
    .addCommand(timeOffCommand())
}

function timeOffCommand(): Command {
  return new Command('time-off')
    .description('When providers are away')
    .addCommand(
      absenceCommand('add', 'Note that a provider is away; what is booked in that time stays').action(
        (named: string, from: string, until: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const provider = requireProvider(context, named)
            const absence = parseTimeOff(from, until)
            const { isKnown, held } = await addTimeOff(context, provider, absence, context.clock.now())
            const fact = isKnown ? 'already had' : 'has'
            const requests = held.map(({ requestId }) => requestId).join(', ')
            const kept = held.length > 0 ? ` Requests that hold slots in it stay: ${requests}.` : ''
            printLine(`Provider ${provider.ref} ${fact} time off from ${from} to ${until}.${kept}`)
          }),
      ),
    )
    .addCommand(
      absenceCommand('remove', 'Take an absence back, its boundaries written as list shows them').action(
        (named: string, from: string, until: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const { id, ref } = requireProvider(context, named)
            await context.store.removeTimeOff(id, parseTimeOff(from, until))
            printLine(`Provider ${ref} has no time off from ${from} to ${until} any more.`)
          }),
      ),
    )
    .addCommand(
      providerStorageCommand('list', 'List when a provider is away')
        .option('--json', 'print them as JSON')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const { timeOff } = requireProvider(context, named)
            if (flags.json) printJson(timeOff)
            else printTable(timeOff, absenceColumns, 'There is no time off.')
          }),
        ),
    )
}

function providerStorageCommand(name: string, description: string): Command {
  return storageCommand(name, description).argument('<provider>', 'ref or id')
}

function absenceCommand(name: string, description: string): Command {
  return providerStorageCommand(name, description)
    .argument(
      '<from>',
      'a date, a local date-time as 2026-12-01T13:00, or an instant as 2026-12-01T18:00:00Z',
    )
    .argument('<until>', 'in the same form; a date is the last day, the others the end')
}

function instant(text: string): number {
  const at = parseInstant(text)
  if (at === null) throw new InvalidArgumentError('It must be a UTC instant as 2026-12-01T14:00:00Z.')
  return at
}

function refsOf({ directory }: Context): ReadonlyMap<number, string> {
  return new Map(directory.listAllRegions().map((region) => [region.id, regionRef(region)]))
}

function list(context: Context, { region, inactive, json }: Flags): void {
  const refs = refsOf(context)
  const { directory, clock } = context
  const known =
    region === undefined
      ? directory.listProviders()
      : directory.listLicensed(requireRegion(context, region).id, clock.now()).map(({ provider }) => provider)
  const providers = known
    .filter(({ active }) => !inactive || !active)
    .map((provider) => ({ id: provider.id, ...toProviderInFile(provider, refs) }))
  if (json) printJson(providers)
  else printTable(providers, providerColumns, 'There are no such providers.')
}

function show(context: Context, provider: Provider, { json }: Flags): void {
  const told = toProviderInFile(provider, refsOf(context))
  if (json) {
    printJson({ id: provider.id, ...told })
    return
  }
  printRecord({
    id: provider.id,
    ref: told.ref,
    name: nameOf(told),
    state: stateOf(told),
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
  const section = (title: string) => printLine(`\n${title}`)
  section('Licenses')
  printTable(told.licenses, licenseColumns, 'There are none.')
  section('Working hours')
  printTable(told.workingHours, hoursColumns, 'There are none.')
  section('Overrides')
  printTable(told.overrides ?? [], overrideColumns, 'There are none.')
  section('Time off')
  printTable(told.timeOff ?? [], absenceColumns, 'There is none.')
}

function slots(context: Context, provider: Provider, { region, json }: Flags): void {
  const asked = region === undefined ? null : requireRegion(context, region)
  const free = listFreeSlots(context, provider, asked, context.clock.now()).map((startsAt) => ({
    ...presentStart(context, provider, startsAt),
    utcEndTime: formatInstant(startsAt + slotMinutes * minuteMillis),
  }))
  const none = `There are none${provider.active ? '' : ': the provider is deactivated'}.`
  if (json) printJson(free)
  else printTable(free, slotColumns(provider.timeZone), none)
}

function why(context: Context, provider: Provider, startsAt: number, { region, json }: Flags): void {
  const asked = region === undefined ? null : requireRegion(context, region)
  const explanation = explainSlot(context, provider, startsAt, asked, context.clock.now())
  const start = presentStart(context, provider, startsAt)
  if (json) {
    const { nearestStartsAt, ...told } = explanation
    printJson({ provider: provider.ref, ...start, ...told, nearest: nearestStartsAt.map(formatInstant) })
    return
  }
  printRecord({
    provider: `${provider.ref}, ${nameOf(provider)}`,
    slot: start.utcStartTime,
    local: `${start.local} ${start.timeZone}`,
    offered: explanation.offered ? 'yes' : 'no',
    why: explanation.why,
  })
}

/** What stays booked with a provider, for whoever takes them away. */
function heldOf(context: Context, provider: Provider): string {
  const requests = listTaken(context, provider, context.clock.now()).map(({ requestId }) => requestId)
  return requests.length > 0 ? ` Requests to come that stay: ${requests.join(', ')}.` : ''
}

const nameOf = ({ firstName, lastName }: { firstName: string; lastName: string }) =>
  `${firstName} ${lastName}`
const stateOf = ({ active }: ProviderInFile) => (active ? 'active' : 'deactivated')
const formatWindow = ({ start, end, stepMinutes }: WindowInFile) =>
  `${start} to ${end}${stepMinutes === undefined ? '' : ` every ${stepMinutes} min`}`

const providerColumns = [
  { title: 'REF', value: ({ ref }: ProviderInFile) => ref },
  { title: 'ID', value: ({ id }: ProviderInFile & { id: number }) => id },
  { title: 'NAME', value: nameOf },
  { title: 'STATE', value: stateOf },
  {
    title: 'LICENSES',
    value: ({ licenses }: ProviderInFile) =>
      [...new Set(licenses.map(({ region }) => region))].join(' ') || null,
  },
  { title: 'TIME ZONE', value: ({ timeZone }: ProviderInFile) => timeZone },
  { title: 'LANGUAGES', value: ({ languagesSpoken }: ProviderInFile) => languagesSpoken.join(' ') },
  { title: 'MODALITIES', value: ({ modalities }: ProviderInFile) => modalities.join(' ') },
]

type LicenseInFile = ProviderInFile['licenses'][number]

const licenseColumns = [
  { title: 'REGION', value: ({ region }: LicenseInFile) => region },
  { title: 'FROM', value: ({ from }: LicenseInFile) => from },
  { title: 'UNTIL', value: ({ until }: LicenseInFile) => until ?? null },
]

type HoursInFile = ProviderInFile['workingHours'][number]

const hoursColumns = [
  {
    title: 'WEEKDAYS',
    value: ({ weekdays }: HoursInFile) => weekdays.map((day) => day.slice(0, 3)).join(' '),
  },
  { title: 'START', value: ({ start }: HoursInFile) => start },
  { title: 'END', value: ({ end }: HoursInFile) => end },
  { title: 'EVERY', value: ({ stepMinutes = slotMinutes }: HoursInFile) => `${stepMinutes} min` },
  { title: 'FROM', value: ({ from }: HoursInFile) => from ?? null },
  { title: 'UNTIL', value: ({ until }: HoursInFile) => until ?? null },
]

const overrideColumns = [
  { title: 'DATE', value: ({ date }: OverrideInFile) => date },
  {
    title: 'HOURS',
    value: ({ windows }: OverrideInFile) => windows.map(formatWindow).join(', ') || 'none',
  },
]

const absenceColumns = [
  { title: 'FROM', value: ({ from }: TimeOff) => from },
  { title: 'UNTIL', value: ({ until }: TimeOff) => until },
]

type Slot = LocalStart & { readonly utcEndTime: string }

const slotColumns = (zone: string) => [
  { title: 'START (UTC)', value: ({ utcStartTime }: Slot) => utcStartTime },
  { title: 'END (UTC)', value: ({ utcEndTime }: Slot) => utcEndTime },
  { title: zone.toUpperCase(), value: ({ local }: Slot) => local },
]
