import { type Command, Option } from 'commander'
import { formatCsv } from '../../directory-files/csv'
import { slotMillis } from '../../domain/booking-request'
import { Refusal } from '../../domain/errors'
import type { ZoneData } from '../../domain/ports/time'
import type { Provider } from '../../domain/provider'
import { type Appointment, type Appointments, readAppointments } from '../../operations/appointments'
import { readProvider } from '../../operations/find-records'
import type { MemberTime } from '../../operations/members'
import { formatInstant, minuteMillis } from '../../scheduling/calendar'
import { formatLocal, type TimeZone } from '../../scheduling/time-zone'
import { dayWord } from '../arguments'
import { type Call, json, zonesCommand } from '../command'
import { makeAct, type RecordsAndZones } from '../storage'
import { formatCalendar } from '../terminal/icalendar'
import { type Columns, oneLine, printJson, printLines, printTable, printText } from '../terminal/output'
import { calledName, fullName, voicemailText } from '../terminal/persons'

/** An appointment in words and timestamps, for programs. */
export function presentAppointment({ request, startsAt, provider, local, memberTime, partner }: Appointment) {
  const { id, state, member } = request
  const profile = member?.profile
  return {
    request: id,
    state,
    utcStartTime: formatInstant(startsAt),
    utcEndTime: formatInstant(startsAt + slotMillis),
    provider: provider.ref,
    providerName: nameOfProvider(provider),
    localTime: local,
    timeZone: provider.timeZone ?? null,
    // Two, and more zones than one, where parts of their region go by other clocks.
    memberEarliestTime: memberTime?.earliest ?? null,
    memberLatestTime: memberTime?.latest ?? null,
    memberTimeZones: memberTime?.zones ?? [],
    member: member?.id ?? null,
    firstName: profile?.firstName ?? null,
    lastName: profile?.lastName ?? null,
    preferredName: profile?.preferredName ?? null,
    phoneNumber: profile?.phoneNumber ?? null,
    leaveVoicemail: profile?.leaveVoicemail ?? null,
    preferredModality: profile?.preferredModality ?? null,
    partner,
    externalUserId: member?.externalUserId ?? null,
  }
}

/** As `09:00 Toronto`, or in UTC for a provider whose clock is not known. */
export function providerTimeText(
  { local, provider, startsAt }: Pick<Appointment, 'local' | 'provider' | 'startsAt'>,
  date: string,
): string {
  if (local === null) return formatInstant(startsAt)
  return `${onDay(local, date)} ${placeOf(provider.timeZone ?? '')}`
}

/** As `11:00 Vancouver`, or `10:00 to 11:00` where parts of their region go by other clocks. */
export function memberTimeText(memberTime: MemberTime | null, date: string): string | null {
  if (!memberTime) return null
  const { earliest, latest, zones } = memberTime
  if (earliest !== latest) return `${onDay(earliest, date)} to ${onDay(latest, date)}`
  return `${onDay(earliest, date)} ${placeOf(zones[0] ?? '')}`
}

/** The time of `Tue 2026-12-01 09:00`, with its day where that is another than the date. */
function onDay(local: string, date: string): string {
  return local.slice(4, 14) === date ? local.slice(15) : local
}

function placeOf(zone: string): string {
  return zone.slice(zone.lastIndexOf('/') + 1).replaceAll('_', ' ')
}

/** The name of an appointment's provider; null for one whose record cannot be read. */
export function nameOfProvider({ firstName, lastName }: Appointment['provider']): string | null {
  return firstName === undefined || lastName === undefined ? null : fullName({ firstName, lastName })
}

interface Flags {
  readonly on: string
  readonly provider?: string
  readonly zone?: string
  readonly format: 'table' | 'csv' | 'ics' | 'json'
}

/** `anteroom appointments`: who has a slot on a day, and how to reach them. */
export function appointmentsCommand(): Command {
  return zonesCommand({
    name: 'appointments',
    options: [
      ['--on <day>', 'today, tomorrow or a date as 2026-12-01', dayWord, 'today'],
      ['--provider <ref>', 'those of one provider alone'],
      [
        '--zone <zone>',
        "by whose clock it is that day, as America/Toronto; by each provider's own unless given",
      ],
      new Option('--format <format>', 'how to print them')
        .choices(['table', 'csv', 'ics', 'json'])
        .default('table'),
      json('the same as --format json'),
    ],
    examples: [
      'anteroom appointments --on tomorrow --provider on-001',
      'anteroom appointments --zone America/Toronto --format ics > today.ics',
    ],
    run: list,
  })
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
