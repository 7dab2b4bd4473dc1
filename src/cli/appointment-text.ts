import { slotMillis } from '../domain/booking-request'
import type { Appointment } from '../operations/appointments'
import type { AbsenceReason } from '../operations/check-bookings'
import type { MemberTime } from '../operations/members'
import { formatInstant } from '../scheduling/calendar'
import { fullName } from './person-text'

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

/** What is said of a provider who cannot hold a session. */
export const absenceTexts: Record<AbsenceReason, string> = {
  provider_suspended: 'is suspended',
  provider_deactivated: 'is deactivated',
  license: 'holds no license then',
  override: 'has other hours that day',
  outside_hours: 'does not work then',
  time_off: 'is away then',
}
