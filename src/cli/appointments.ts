import { type Command, Option } from 'commander'
import { formatCsv } from '../directory-files/csv'
import { slotMillis } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { Provider } from '../domain/provider'
import type { ZoneData } from '../domain/zone-data'
import { type Appointment, type Appointments, readAppointments } from '../operations/appointments'
import { readProvider } from '../operations/find-records'
import { minuteMillis } from '../scheduling/calendar'
import { formatLocal, type TimeZone } from '../scheduling/time-zone'
import { memberTimeText, nameOfProvider, presentAppointment, providerTimeText } from './appointment-text'
import { dayWord } from './arguments'
import { type Call, zonesCommand } from './command'
import { voicemailText } from './contact'
import { formatCalendar } from './icalendar'
import { type Columns, oneLine, printJson, printLines, printTable, printText } from './output'
import { calledName } from './person-text'
import { makeAct, type RecordsAndZones } from './storage'

interface Flags {
  readonly on: string
  readonly provider?: string
  readonly zone?: string
  readonly format: 'table' | 'csv' | 'ics' | 'json'
}

/** `anteroom appointments`: who has a slot on a day, and how to reach them. */
export function appointmentsCommand(): Command {
  return zonesCommand('appointments', 'Who has an appointment on a day, and how to reach them', list)
    .option('--on <day>', 'today, tomorrow or a date as 2026-12-01', dayWord, 'today')
    .option('--provider <ref>', 'those of one provider alone')
    .option(
      '--zone <zone>',
      "by whose clock it is that day, as America/Toronto; by each provider's own unless given",
    )
    .addOption(
      new Option('--format <format>', 'how to print them')
        .choices(['table', 'csv', 'ics', 'json'])
        .default('table'),
    )
    .option('--json', 'the same as --format json')
}

async function list({ context: { context, zones }, flags }: Call<RecordsAndZones, Flags>): Promise<void> {
  const provider = flags.provider === undefined ? null : await readProvider(context, flags.provider)
  const zone = zoneOf(zones, flags.zone)
  const act = makeAct()
  const found = await readAppointments(context, zones, { on: flags.on, provider, zone }, act)
  const { appointments } = found
  const format = flags.json ? 'json' : flags.format
  if (format === 'json') printJson(appointments.map(presentAppointment))
  else if (format === 'csv') printText(csvOf(appointments))
  else if (format === 'ics') printText(formatCalendar(appointments.map(eventOf), act.at))
  else printDay(found, zone, provider)
}

function zoneOf(zones: ZoneData, name: string | undefined): TimeZone | null {
  if (name === undefined) return null
  const zone = zones.find(name)
  if (zone) return zone
  throw new Refusal(
    'field_invalid',
    '--zone: the zone data knows no zone of that name; they are written as America/Toronto',
  )
}

/** In the order of their columns; a file without appointments has them too. */
const csvTitles = [
  'utcStartTime',
  'utcEndTime',
  'localTime',
  'timeZone',
  'memberEarliestTime',
  'memberLatestTime',
  'memberTimeZones',
  'provider',
  'providerName',
  'firstName',
  'lastName',
  'preferredName',
  'phoneNumber',
  'leaveVoicemail',
  'preferredModality',
  'state',
  'request',
  'partner',
  'externalUserId',
  'member',
] as const satisfies readonly (keyof ReturnType<typeof presentAppointment>)[]

function csvOf(appointments: readonly Appointment[]): string {
  const rows = appointments.map((appointment) => {
    const told = presentAppointment(appointment)
    return { ...told, memberTimeZones: told.memberTimeZones.join(' ') }
  })
  return formatCsv([csvTitles, ...rows.map((row) => csvTitles.map((title) => inCell(row[title])))])
}

/** A pipe may lead to a terminal, which must get nothing to act on, and a calendar day is read by people. */
function inCell(value: string | number | null): string | number | null {
  return typeof value === 'string' ? oneLine(value) : value
}

function printDay({ dates, appointments }: Appointments, zone: TimeZone | null, only: Provider | null): void {
  const [date = ''] = dates.length === 1 ? dates : []
  const own = only ? `the clock of ${only.timeZone}` : "each provider's own clock"
  const whose = only ? ` with ${only.ref} ${nameOfProvider(only)}` : ''
  printLines(`${dates.join(' and ')}${whose} by ${zone ? `the clock of ${zone.name}` : own}`)
  const byZone: Columns<Appointment> = zone
    ? { [zone.name.toUpperCase()]: ({ startsAt }) => formatLocal(zone, startsAt / minuteMillis).slice(15) }
    : {}
  const columns = { ...numbered, ...byZone, ...columnsOn(date, only === null) }
  printTable(appointments, columns, 'There are no appointments.', {
    leaveOut: leftOut,
    whole: ['TIME', "MEMBER'S TIME"],
  })
}

/** On a narrow terminal, in this order: whom to call, where and when, and what commands on it are given, stays. */
const leftOut = ["PARTNER'S ID", 'PARTNER', 'MODALITY', "MEMBER'S TIME"]

/** First, where it is never left out: commands are given it. */
const numbered: Columns<Appointment> = { REQUEST: ({ request }) => request.id }

/** What a table shows of an appointment; times with their day where that is not the date. */
const columnsOn = (date: string, isOfAll: boolean): Columns<Appointment> => ({
  TIME: (appointment) => providerTimeText(appointment, date),
  "MEMBER'S TIME": ({ memberTime }) => memberTimeText(memberTime, date),
  PERSON: ({ request }) => (request.member ? calledName(request.member) : '(erased)'),
  PHONE: ({ request }) => request.member?.profile.phoneNumber ?? null,
  VOICEMAIL: ({ request: { member } }) => member && voicemailCell(member.profile.leaveVoicemail),
  ...(isOfAll && { PROVIDER: ({ provider }: Appointment) => nameOfProvider(provider) ?? provider.ref }),
  STATE: ({ request }) => request.state,
  MODALITY: ({ request }) => request.member?.profile.preferredModality ?? null,
  PARTNER: ({ partner }) => partner,
  "PARTNER'S ID": ({ request }) => request.member?.externalUserId ?? null,
})

function voicemailCell(leaveVoicemail: string | null): string | null {
  return leaveVoicemail === null ? null : voicemailText(leaveVoicemail)
}

/** What a calendar is told: how to reach the person, and nothing of why they come. */
function eventOf(appointment: Appointment) {
  const { request, startsAt, provider, partner } = appointment
  const { member } = request
  const lines = [
    `Person: ${member ? calledName(member) : 'erased'}`,
    `Phone: ${member?.profile.phoneNumber || 'none told'}`,
    ...(member ? [`Voicemail: ${voicemailText(member.profile.leaveVoicemail)}`] : []),
    `Request: ${request.id}, ${request.state}`,
    ...(member ? [`Partner: ${partner}, ${member.externalUserId}`] : []),
  ]
  return {
    // With the moment of submission, since another database counts its requests too.
    uid: `request-${request.id}-${request.submittedAt}@anteroom`,
    startsAt,
    endsAt: startsAt + slotMillis,
    status: request.state === 'accepted' ? ('CONFIRMED' as const) : ('TENTATIVE' as const),
    summary: `Appointment with ${nameOfProvider(provider) ?? provider.ref}`,
    description: lines.join('\n'),
  }
}
