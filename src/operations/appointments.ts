import type { Act } from '../domain/audit'
import type { RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { ProvidersDay } from '../domain/ports/facts'
import type { Provider } from '../domain/provider'
import { dayMinutes, formatDate, minuteMillis, parseDate } from '../scheduling/calendar'
import { formatLocal, namedDay, type TimeZone, toFirstInstant } from '../scheduling/time-zone'
import type { Context } from './context'
import { type Clocks, type MemberTime, memberTimeAt } from './members'
import { partnerNames } from './partners'
import { noteReadings } from './requests'

/** Which appointments are asked for. */
export interface AppointmentsAsked {
  /** `today`, `tomorrow` or a date. */
  readonly on: string
  /** Of one alone; of all for null. */
  readonly provider: Provider | null
  /** By whose clock it is that day; for null by each provider's own. */
  readonly zone: TimeZone | null
}

/** A slot that a request holds, and what it takes to speak to the person whose it is. */
export interface Appointment {
  readonly request: RequestRecord
  /** In ms. */
  readonly startsAt: number
  readonly provider: AppointedProvider
  /** As `Tue 2026-12-01 09:00`; null for a provider whose clock is not known. */
  readonly local: string | null
  /** Null where it cannot be told, or where the person was erased. */
  readonly memberTime: MemberTime | null
  /** The name of the member's partner; null where the person was erased. */
  readonly partner: string | null
}

/** The provider of an appointment: one whose record cannot be read has nothing but a ref. */
export type AppointedProvider = Pick<Provider, 'id' | 'ref'> &
  Partial<Pick<Provider, 'firstName' | 'lastName' | 'timeZone'>>

/** The appointments of a day, in order of time. */
export interface Appointments {
  /** The date; two where it is not the same day by all clocks. */
  readonly dates: readonly string[]
  readonly appointments: readonly Appointment[]
}

/**
 * Reads the appointments of a local date, past ones too: who has a slot that is pending or accepted. Each person who is
 * told leaves a line in the audit log.
 *
 * @throws Refusal field_invalid for what is no date
 */
export async function readAppointments(
  context: Context,
  clocks: Clocks,
  { on, provider, zone }: AppointmentsAsked,
  act: Act,
): Promise<Appointments> {
  const byZone = Map.groupBy(provider ? [provider] : everyProvider(context), ({ id }) => {
    return zone ?? context.directory.findAnyListing(id)?.calendar.schedule.zone ?? utc
  })
  const days = Array.from(byZone, ([clock, providers]) => ({
    day: dayOf(on, clock, act.at),
    clock,
    providerIds: providers.map(({ id }) => id),
  }))
  const requests = await context.store.read((facts) => facts.requests.held(days.map(stretchOf)))
  const appointments = await readHeld(context, clocks, requests, act)
  return { dates: [...new Set(days.map(({ day }) => formatDate(day)))].sort(), appointments }
}

/** What is told of requests that hold slots: noted in the audit log before anybody sees it. */
export async function readHeld(
  context: Context,
  clocks: Clocks,
  requests: readonly RequestRecord[],
  act: Act,
): Promise<Appointment[]> {
  const told = requests.filter(({ member }) => member)
  const action = 'request.read-appointment' as const
  const lines = told.map(({ id }) => ({ ...act, action, record: `request ${id}`, outcome: 'done' }))
  await noteReadings(context, lines)
  const partners = await partnerNames(context)
  const providers = new Map(everyProvider(context).map((provider) => [provider.id, provider]))
  return requests.flatMap((request) => {
    const { startsAt, member, providerId } = request
    const provider = providers.get(providerId ?? 0)
    if (!provider || startsAt === null) return []
    const zone = context.directory.findAnyListing(provider.id)?.calendar.schedule.zone
    return {
      request,
      startsAt,
      provider,
      local: zone ? formatLocal(zone, startsAt / minuteMillis) : null,
      memberTime: member && memberTimeAt(clocks, member.profile, startsAt),
      partner: (member && partners.get(member.partnerId)) ?? null,
    }
  })
}

/** Those too whose record cannot be read: what is booked with them is booked. */
function everyProvider({ directory }: Context): AppointedProvider[] {
  return [...directory.listProviders(), ...directory.listUnreadable().map(({ id, ref }) => ({ id, ref }))]
}

/** The clock of a provider who has none that is known. */
const utc: TimeZone = { name: 'UTC', transitions: [], offsets: [0] }

/** The day that is asked for, counted from 1970-01-01, by a clock. @throws Refusal field_invalid for what is no date */
function dayOf(word: string, clock: TimeZone, now: number): number {
  const day = namedDay(word, clock, now) ?? parseDate(word)
  if (day !== null) return day
  throw new Refusal('field_invalid', 'neither today, tomorrow nor a date as 2026-12-01')
}

function stretchOf(asked: { day: number; clock: TimeZone; providerIds: number[] }): ProvidersDay {
  const { day, clock, providerIds } = asked
  const midnight = (of: number) => toFirstInstant(clock, of * dayMinutes) * minuteMillis
  return { providerIds, from: midnight(day), until: midnight(day + 1) }
}
