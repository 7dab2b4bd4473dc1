import { type Command, Option } from 'commander'
import { formatCsv } from '../../directory-files/csv'
import { slotMillis } from '../../domain/booking-request'
import type { Provider } from '../../domain/provider'
import { type Appointment, type Appointments, readAppointments } from '../../operations/appointments'
import { readProvider } from '../../operations/find-records'
import type { MemberTime } from '../../operations/members'
import { formatInstant, minuteMillis } from '../../scheduling/calendar'
import { formatLocal, type TimeZone } from '../../scheduling/time-zone'
import { dayWord } from '../arguments'
import { dateAtClinic, requireZone } from '../clinic-zone'
import { type Call, json, zonesCommand } from '../command'
import { makeAct, type RecordsAndZones } from '../storage'
import { formatCalendar } from '../terminal/icalendar'
import { type Answer, formatJson, oneLine, type Text, verbatim } from '../terminal/output'
import { calledName, fullName, voicemailText } from '../terminal/persons'
import { type Columns, table } from '../terminal/table'

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
    // The local time is a range, because the member's region may have several zones.
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

/** For example `09:00 Toronto`. If the provider's zone is unknown, the time is in UTC. */
export function providerTimeText(
  { local, provider, startsAt }: Pick<Appointment, 'local' | 'provider' | 'startsAt'>,
  date: string,
): string {
  if (local === null) return formatInstant(startsAt)
  return `${onDay(local, date)} ${cityOf(provider.timeZone ?? '')}`
}

/** For example `11:00 Vancouver`, or `10:00 to 11:00` if the region has several zones. */
export function memberTimeText(memberTime: MemberTime | null, date: string): string | null {
  if (!memberTime) return null
  const { earliest, latest, zones } = memberTime
  if (earliest !== latest) return `${onDay(earliest, date)} to ${onDay(latest, date)}`
  return `${onDay(earliest, date)} ${cityOf(zones[0] ?? '')}`
}

/** Shortens `Tue 2026-12-01 09:00` to `09:00` if `date` is the same day. */
function onDay(local: string, date: string): string {
  return local.slice(4, 14) === date ? local.slice(15) : local
}

function cityOf(zone: string): string {
  return zone.slice(zone.lastIndexOf('/') + 1).replaceAll('_', ' ')
}

function nameOfProvider({ firstName, lastName }: Appointment['provider']): string | null {
  return firstName === undefined || lastName === undefined ? null : fullName({ firstName, lastName })
}

interface Flags {
  readonly on: string
  readonly provider?: string
  readonly zone?: string
  readonly format: 'table' | 'csv' | 'ics' | 'json'
}

export function appointmentsCommand(): Command {
  return zonesCommand({
    name: 'appointments',
    settings: ['clinicZone'],
    options: [
      ['--on <day>', 'today, tomorrow or a date, for example 2026-12-01', dayWord, 'today'],
      ['--provider <ref>', 'only the appointments of this provider'],
      ['--zone <zone>', "the time zone of the day, such as America/Toronto (default: each provider's own)"],
      new Option('--format <format>', 'the output format')
        .choices(['table', 'csv', 'ics', 'json'])
        .default('table'),
      json('same as --format json'),
    ],
    examples: [
      'anteroom appointments --on tomorrow --provider on-001',
      'anteroom appointments --zone America/Toronto --format ics > today.ics',
    ],
    run: list,
  })
}

async function list({ context: { context, zones }, flags }: Call<RecordsAndZones, Flags>): Promise<Answer> {
  const provider = flags.provider === undefined ? null : await readProvider(context, flags.provider)
  const zone = flags.zone === undefined ? null : requireZone(zones, flags.zone, '--zone')
  const act = makeAct()
  const on = zone ? flags.on : dateAtClinic(zones, flags, flags.on, act.at)
  const found = await readAppointments(context, zones, { on, provider, zone }, act)
  const { appointments } = found
  const json = appointments.map(presentAppointment)
  const texts: Record<Flags['format'], () => Text> = {
    json: () => verbatim(`${formatJson(json)}\n`),
    csv: () => verbatim(csvOf(appointments)),
    ics: () => verbatim(formatCalendar(appointments.map(eventOf), act.at)),
    table: () => dayText(found, zone, provider),
  }
  return { json, text: texts[flags.format]() }
}

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
    const shown = presentAppointment(appointment)
    // In a spreadsheet, +1-416-555 would be a sum.
    const phoneNumber = shown.phoneNumber?.replace(/[^+\d]+/g, ' ') ?? null
    return { ...shown, phoneNumber, memberTimeZones: shown.memberTimeZones.join(' ') }
  })
  return formatCsv([csvTitles, ...rows.map((row) => csvTitles.map((title) => inCell(row[title])))])
}

/** Replaces control characters, because the CSV may be shown on a terminal. */
function inCell(value: string | number | null): string | number | null {
  return typeof value === 'string' ? oneLine(value) : value
}

function dayText({ dates, appointments }: Appointments, zone: TimeZone | null, only: Provider | null): Text {
  const [date = ''] = dates.length === 1 ? dates : []
  const own = only ? only.timeZone : "each provider's time zone"
  const whose = only ? ` with ${only.ref} ${nameOfProvider(only)}` : ''
  const title = `Appointments on ${dates.join(' and ')}${whose} (${zone?.name ?? own})`
  const byZone: Columns<Appointment> = zone
    ? { [zone.name.toUpperCase()]: ({ startsAt }) => formatLocal(zone, startsAt / minuteMillis).slice(15) }
    : {}
  const columns = { ...numbered, ...byZone, ...columnsOn(date, only === null) }
  const giveWay = { leaveOut: leftOut, whole: ['TIME'], fold: ["MEMBER'S TIME"] }
  return [title, table(appointments, columns, 'There are no appointments.', giveWay)]
}

/** Columns that are hidden on a narrow terminal, in this order. */
const leftOut = ["PARTNER'S ID", 'PARTNER', 'MODALITY', 'PHONE', 'VOICEMAIL', 'PERSON']

/** Other commands need this id. As the first column, it is never hidden. */
const numbered: Columns<Appointment> = { REQUEST: ({ request }) => request.id }

const columnsOn = (date: string, isOfAll: boolean): Columns<Appointment> => ({
  TIME: (appointment) => providerTimeText(appointment, date),
  "MEMBER'S TIME": ({ memberTime }) => memberTimeText(memberTime, date),
  PERSON: ({ request }) => (request.member ? calledName(request.member) : '(erased)'),
  PHONE: ({ request }) => request.member?.profile.phoneNumber ?? null,
  VOICEMAIL: ({ request: { member } }) =>
    (member?.profile.leaveVoicemail && voicemailText(member.profile.leaveVoicemail)) ?? null,
  ...(isOfAll && { PROVIDER: ({ provider }: Appointment) => nameOfProvider(provider) ?? provider.ref }),
  STATE: ({ request }) => request.state,
  MODALITY: ({ request }) => request.member?.profile.preferredModality ?? null,
  PARTNER: ({ partner }) => partner,
  "PARTNER'S ID": ({ request }) => request.member?.externalUserId ?? null,
})

/** Calendars are shared, so the only personal data in a calendar entry is the member's contact data. */
function eventOf(appointment: Appointment) {
  const { request, startsAt, provider, partner } = appointment
  const { member } = request
  const lines = [
    `Person: ${member ? calledName(member) : 'erased'}`,
    `Phone: ${member?.profile.phoneNumber || 'not given'}`,
    ...(member ? [`Voicemail: ${voicemailText(member.profile.leaveVoicemail)}`] : []),
    `Request: ${request.id}, ${request.state}`,
    ...(member ? [`Partner: ${partner}, ${member.externalUserId}`] : []),
  ]
  return {
    // Each database numbers its requests from 1, so the submission time makes the uid unique.
    uid: `request-${request.id}-${request.submittedAt}@anteroom`,
    startsAt,
    endsAt: startsAt + slotMillis,
    status: request.state === 'accepted' ? ('CONFIRMED' as const) : ('TENTATIVE' as const),
    summary: `Appointment with ${nameOfProvider(provider) ?? provider.ref}`,
    description: lines.join('\n'),
  }
}
