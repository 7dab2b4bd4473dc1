import { compileTimeOff } from '../directory/compile'
import type { Listing } from '../directory/directory'
import type { Act } from '../domain/audit'
import { Refusal } from '../domain/errors'
import { absencesOf, isSameAbsence, type Provider, type TimeOff } from '../domain/provider'
import { formatDate, minuteMillis } from '../scheduling/calendar'
import { type Appointment, readHeld } from './appointments'
import type { Context } from './context'
import { requireRequest } from './find-records'
import type { Clocks } from './member-time'
import { namedDay } from './named-day'
import { type Offers, offersOn } from './offer-slots'
import { addTimeOff, heldIn, parseTimeOff } from './time-off'

/** Somebody whose appointment falls into an absence; null for offers to one who was erased. */
export interface Concerned {
  readonly appointment: Appointment
  readonly offers: Offers | null
}

/** An absence and what comes of it. */
export interface Away {
  /** Whether it was there before. */
  readonly isKnown: boolean
  /** In order of time. */
  readonly concerned: readonly Concerned[]
}

/**
 * An absence from its two boundaries, by the rules of directory files; today and tomorrow are dates by the provider's clock.
 *
 * @param now ms
 * @throws Refusal field_invalid, or move_unknown for a provider whose clock is not known
 */
export function parseAway(context: Context, provider: Provider, words: TimeOff, now: number): TimeOff {
  const { zone } = requireListing(context, provider).calendar.schedule
  const boundary = (word: string) => {
    const day = namedDay(word, zone, now)
    return day === null ? word : formatDate(day)
  }
  const absence = parseTimeOff(boundary(words.from), boundary(words.until))
  // A year or month that is mistyped would leave all slots of the days that were meant on offer.
  if (compileTimeOff(absence, zone).end * minuteMillis <= now) {
    throw new Refusal('field_invalid', 'until: that time off is over already')
  }
  return absence
}

/** Notes that a provider is away and tells who is concerned, each of whom leaves a line in the audit log. */
export async function takeAway(
  context: Context,
  clocks: Clocks,
  provider: Provider,
  absence: TimeOff,
  act: Act,
): Promise<Away> {
  const { isKnown } = await addTimeOff(context, provider, absence, act)
  return { isKnown, concerned: await readConcerned(context, clocks, provider, absence, act) }
}

/** What takeAway would tell: of the audit log's lines those alone are written that say who was read. */
export async function previewAway(
  context: Context,
  clocks: Clocks,
  provider: Provider,
  absence: TimeOff,
  act: Act,
): Promise<Away> {
  const isKnown = absencesOf(provider).some((one) => isSameAbsence(one, absence))
  return { isKnown, concerned: await readConcerned(context, clocks, provider, absence, act) }
}

async function readConcerned(
  context: Context,
  clocks: Clocks,
  provider: Provider,
  absence: TimeOff,
  act: Act,
): Promise<Concerned[]> {
  const absent = requireListing(context, provider)
  const held = heldIn(absence, absent, act.at)
  const requests = await Promise.all(held.map(({ requestId }) => requireRequest(context, requestId)))
  const appointments = await readHeld(context, clocks, requests, act)
  const [first, last] = [appointments[0], appointments.at(-1)]
  if (!first || !last) return []
  const offersTo = offersOn(context, clocks, {
    absent,
    away: compileTimeOff(absence, absent.calendar.schedule.zone),
    starts: { start: first.startsAt / minuteMillis, end: last.startsAt / minuteMillis },
    now: act.at,
  })
  return appointments.map((appointment) => {
    const { member } = appointment.request
    const offers = member && offersTo(member, appointment.startsAt / minuteMillis)
    return { appointment, offers }
  })
}

/** @throws Refusal move_unknown */
function requireListing({ directory }: Context, { id, ref }: Provider): Listing {
  const listing = directory.findAnyListing(id)
  if (listing) return listing
  throw new Refusal('move_unknown', `provider ${ref} is left out of searches; doctor says why`)
}
