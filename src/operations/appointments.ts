import type { Act } from '../domain/audit'
import { holdsSlot, type RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { Provider } from '../domain/provider'
import { dayMinutes, formatDate, minuteMillis, parseDate } from '../scheduling/calendar'
import { formatLocal, namedDay, type TimeZone, toFirstInstant } from '../scheduling/time-zone'
import type { Records } from './context'
import { readProviders } from './find-records'
import { type Clocks, type MemberTime, memberTimeAt } from './members'
import { noteReadings } from './notebook'
import { partnerNames } from './partners'

interface AppointmentQuery {
  /** `today`, `tomorrow` or a date. */
  readonly on: string
  /** Null for all providers. */
  readonly provider: Provider | null
  /** The time zone of the date. If null, the time zone of each provider applies. */
  readonly zone: TimeZone | null
}

export interface Appointment {
  readonly request: RequestRecord
  /** ms */
  readonly startsAt: number
  readonly provider: AppointedProvider
  /** For example `Tue 2026-12-01 09:00`; null if the provider's time zone is unknown. */
  readonly local: string | null
  /** The member's local time; null if it cannot be determined or the member was erased. */
  readonly memberTime: MemberTime | null
  /** Null if the member was erased. */
  readonly partner: string | null
}

/** A provider whose record cannot be read has only id and ref. */
type AppointedProvider = Pick<Provider, 'id' | 'ref'> &
  Partial<Pick<Provider, 'firstName' | 'lastName' | 'timeZone'>>

export type Appointments = Awaited<ReturnType<typeof readAppointments>>

/** Reads a local date's appointments and adds an audit line for each member shown. @throws Refusal field_invalid */
export async function readAppointments(
  records: Records,
  clocks: Clocks,
  { on, provider, zone }: AppointmentQuery,
  act: Act,
) {
  const { store } = records
  const days = new Map<string, Day>()
  const dayIn = (timeZone: string): Day => {
    const clock = zone ?? clocks.find(timeZone) ?? utc
    const day = days.get(clock.name) ?? dayBy(clock, on, act.at)
    days.set(clock.name, day)
    return day
  }
  const names = provider
    ? [provider.timeZone]
    : await store.read(({ directory }) => directory.listTimeZones())
  if (names.length === 0) return { dates: [], appointments: [] }
  const dayRanges = names.map(dayIn)
  const [from, until] = [
    Math.min(...dayRanges.map((day) => day.from)),
    Math.max(...dayRanges.map((day) => day.until)),
  ]
  const all = await store.read(({ requests }) => requests.slotsBetween(from, until))
  const slots = all.filter(({ providerId }) => !provider || provider.id === providerId)
  const providers = await readAppointed(records, slots)
  const onDay = slots.filter(({ providerId, startsAt }) => {
    const { timeZone } = providers.get(providerId) ?? {}
    // If the provider's time zone is unknown, keep all slots that may be on that day.
    if (timeZone === undefined && !zone) return true
    const day = dayIn(timeZone ?? '')
    return day.from <= startsAt && startsAt < day.until
  })
  const found = await store.read(({ requests }) => requests.findAll(onDay.map(({ requestId }) => requestId)))
  // A request may have been declined since its slot was read.
  const held = found.flatMap((request) => (request && holdsSlot(request.state) ? request : []))
  const appointments = await readHeld(records, clocks, held, act)
  return { dates: [...new Set(dayRanges.map(({ date }) => date))].sort(), appointments }
}

/** Reads the appointments of requests that hold slots. Writes the audit lines before the appointments are shown. */
export async function readHeld(
  records: Records,
  clocks: Clocks,
  requests: readonly RequestRecord[],
  act: Act,
): Promise<Appointment[]> {
  const known = requests.filter(({ member }) => member)
  const action = 'request.read-appointment' as const
  const lines = known.map(({ id }) => ({ ...act, action, record: `request ${id}`, outcome: 'done' }))
  await noteReadings(records, lines)
  const partners = await partnerNames(records)
  const providers = await readAppointed(records, requests)
  return requests.flatMap((request) => {
    const { startsAt, member, providerId } = request
    const provider = providers.get(providerId)
    if (!provider || startsAt === null) return []
    const zone = clocks.find(provider.timeZone ?? '')
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

async function readAppointed(records: Records, items: Parameters<typeof readProviders>[1]) {
  const { providers, unreadable } = await readProviders(records, items)
  const all: AppointedProvider[] = [...providers, ...unreadable.map(({ id, ref }) => ({ id, ref }))]
  return new Map<number | null, AppointedProvider>(all.map((provider) => [provider.id, provider]))
}

const utc: TimeZone = { name: 'UTC', transitions: [], offsets: [0] }

interface Day {
  readonly date: string
  readonly from: number
  readonly until: number
}

function dayBy(clock: TimeZone, word: string, now: number): Day {
  const day = namedDay(word, clock, now) ?? parseDate(word)
  if (day === null) throw new Refusal('field_invalid', 'must be today, tomorrow or a date such as 2026-12-01')
  const midnight = (of: number) => toFirstInstant(clock, of * dayMinutes) * minuteMillis
  return { date: formatDate(day), from: midnight(day), until: midnight(day + 1) }
}
