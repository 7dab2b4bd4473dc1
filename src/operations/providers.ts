import { compileTimeOff, localMinuteOf } from '../directory/compile'
import { type Listing, toInterval } from '../directory/listing'
import type { Act } from '../domain/audit'
import { decideProviderState, decideTimeOff, decideTimeOffRemoval } from '../domain/decisions/providers'
import { Refusal } from '../domain/errors'
import type { TakenSlot } from '../domain/ports/directory-feed'
import { absenceFault, absencesOf, isSameAbsence, type Provider, type TimeOff } from '../domain/provider'
import { formats } from '../domain/validation'
import { formatDate, formatInstant, minuteMillis, parseInstant } from '../scheduling/calendar'
import { touches } from '../scheduling/interval'
import { formatLocal, namedDay, toFirstInstant, toLastInstant, toLocal } from '../scheduling/time-zone'
import { readHeld } from './appointments'
import { type Context, thenShow } from './context'
import { type ProviderName, requireListing, requireRequest } from './find-records'
import type { Clocks } from './members'
import { offersOn } from './offer-slots'

/** Searches do not offer the slots of a deactivated provider. Bookings stay. */
export function setProviderActive(context: Context, { id }: ProviderName, active: boolean, act: Act) {
  const changed = context.store.change(
    act,
    ({ directory }) => [directory.findProviders([id])],
    ({ providers, unreadable }) => decideProviderState(providers[0] ?? unreadable[0] ?? null, active),
  )
  return thenShow(context, changed)
}

/** The affected appointments are sorted by time. `isKnown` is true if the absence was already stored. */
export type Away = Awaited<ReturnType<typeof takeAway>>

/**
 * Parses an absence. Boundaries have the format of directory files; `today` and `tomorrow` are the provider's local
 * dates.
 * @param now ms
 * @throws Refusal field_invalid, or move_unknown if the provider's time zone is unknown
 */
export function parseAway(context: Context, provider: Provider, words: TimeOff, now: number): TimeOff {
  const { zone } = requireListing(context, provider).calendar.schedule
  const boundary = (word: string) => {
    const day = namedDay(word, zone, now)
    return day === null ? word : formatDate(day)
  }
  const absence = parseTimeOff(boundary(words.from), boundary(words.until))
  // A mistyped year or month would leave the intended days bookable.
  if (compileTimeOff(absence, zone).end * minuteMillis <= now) {
    throw new Refusal('field_invalid', 'until: the time off is already over')
  }
  return absence
}

/**
 * Stores an absence and returns the affected appointments. Adds an audit line for each member shown.
 * @param isDryRun true to store nothing; still adds the audit lines
 */
export async function takeAway(
  context: Context,
  clocks: Clocks,
  provider: Provider,
  absence: TimeOff,
  act: Act,
  isDryRun = false,
) {
  const isKnown = isDryRun
    ? absencesOf(provider).some((one) => isSameAbsence(one, absence))
    : !(await storeTimeOff(context, provider.id, absence, act))
  const absent = requireListing(context, provider)
  const held = heldIn(absence, absent, act.at)
  const requests = await Promise.all(held.map(({ requestId }) => requireRequest(context, requestId)))
  const appointments = await readHeld(context, clocks, requests, act)
  const [first, last] = [appointments[0], appointments.at(-1)]
  if (!first || !last) return { isKnown, affected: [] }
  const offersTo = offersOn(context, clocks, {
    absent,
    away: compileTimeOff(absence, absent.calendar.schedule.zone),
    starts: { start: first.startsAt / minuteMillis, end: last.startsAt / minuteMillis },
    now: act.at,
  })
  const affected = appointments.map((appointment) => {
    const { member } = appointment.request
    // Null if the member was erased.
    const offers = member && offersTo(member, appointment.startsAt / minuteMillis)
    return { appointment, offers }
  })
  return { isKnown, affected }
}

/**
 * Converts a UTC instant, or a local time of the provider, to ms.
 * @throws Refusal field_invalid if the clock skips or repeats the local time, or move_unknown as parseAway
 */
export function parseStart(context: Context, provider: Provider, time: string): number {
  const at = parseInstant(time)
  if (at !== null) return at
  const { zone } = requireListing(context, provider).calendar.schedule
  const local = localMinuteOf(time)
  const [first, last] = [toFirstInstant(zone, local), toLastInstant(zone, local)]
  if (toLocal(zone, first) !== local) {
    throw new Refusal('field_invalid', "the provider's clock skips that local time", {
      action: `${formatLocal(zone, first)} or later`,
    })
  }
  if (first === last) return first * minuteMillis
  const [one, two] = [first, last].map((minute) => formatInstant(minute * minuteMillis))
  throw new Refusal('field_invalid', "the provider's clock shows that local time twice", {
    action: `${one} or ${two}`,
  })
}

/** Parses an absence. Boundaries have the format of directory files. @throws Refusal field_invalid */
export function parseTimeOff(from: string, until: string): TimeOff {
  const { isValid, fault } = formats['absence-boundary']
  if (!isValid(from)) throw new Refusal('field_invalid', `from: ${fault}`)
  if (!isValid(until)) throw new Refusal('field_invalid', `until: ${fault}`)
  const untilFault = absenceFault({ from, until })
  if (untilFault !== null) throw new Refusal('field_invalid', `until: ${untilFault}`)
  return { from, until }
}

/** Adds an absence to a provider's schedule, unless the schedule already contains it. Returns true if it is new. */
export function storeTimeOff(context: Context, id: number, absence: TimeOff, act: Act): Promise<boolean> {
  const added = context.store.change(
    act,
    ({ directory }) => [directory.findProviders([id])],
    ({ providers }) => decideTimeOff(providers[0] ?? null, absence),
  )
  return thenShow(context, added)
}

/** Removes an absence. A directory load may restore the absence. @throws Refusal record_unknown for an unknown absence */
export async function removeTimeOff(context: Context, { id, timeOff }: Provider, absence: TimeOff, act: Act) {
  const removed = context.store.change(
    act,
    ({ directory }) => [directory.findProviders([id])],
    ({ providers }) => decideTimeOffRemoval(providers[0] ?? null, absence),
  )
  await thenShow(context, removed)
  return { isOfDirectory: timeOff.some((one) => isSameAbsence(one, absence)) }
}

/** Returns the booked slots that overlap an absence. Omits slots that are over at `now` (ms). */
export function heldIn(absence: TimeOff, listing: Listing, now: number): TakenSlot[] {
  const away = compileTimeOff(absence, listing.calendar.schedule.zone)
  return listing.taken.filter((slot) => slot.endsAt > now && touches(away, toInterval(slot)))
}
