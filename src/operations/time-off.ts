import type { Listing } from '../directory/directory'
import type { Act } from '../domain/audit'
import type { TakenSlot } from '../domain/directory-feed'
import { Refusal } from '../domain/errors'
import { formats } from '../domain/formats'
import { absenceFault, type Provider, type TimeOff } from '../domain/provider'
import { minuteMillis } from '../scheduling/calendar'
import { touches } from '../scheduling/interval'
import type { Context } from './context'

/**
 * An absence from its two boundaries, by the rules of directory files.
 *
 * @throws Refusal field_invalid
 */
export function parseTimeOff(from: string, until: string): TimeOff {
  const { isValid, fault } = formats['absence-boundary']
  if (!isValid(from)) throw new Refusal('field_invalid', `from: ${fault}`)
  if (!isValid(until)) throw new Refusal('field_invalid', `until: ${fault}`)
  const untilFault = absenceFault({ from, until })
  if (untilFault !== null) throw new Refusal('field_invalid', `until: ${untilFault}`)
  return { from, until }
}

/** What became of an absence that was to be added. */
export interface TimeOffAdded {
  /** Whether it was there already. */
  readonly isKnown: boolean
  /** The slots in it that requests hold, and go on holding: from the act on. */
  readonly held: readonly TakenSlot[]
}

/** Adds an absence to a provider's schedule; one that is there already is not added twice. */
export async function addTimeOff(
  { store, directory }: Context,
  provider: Provider,
  absence: TimeOff,
  act: Act,
): Promise<TimeOffAdded> {
  const isKnown = positionOf(absence, provider) >= 0
  if (!isKnown) {
    await store.addTimeOff(provider.id, absence, act)
    await directory.catchUp()
  }
  return { isKnown, held: heldIn(absence, directory.findAnyListing(provider.id), act.at) }
}

/** Takes an absence back. @throws Refusal record_unknown if there is no such absence */
export async function removeTimeOff(
  { store, directory }: Context,
  { id }: Provider,
  absence: TimeOff,
  act: Act,
): Promise<void> {
  await store.removeTimeOff(id, absence, act)
  await directory.catchUp()
}

function heldIn(absence: TimeOff, listing: Listing | null, now: number): TakenSlot[] {
  if (!listing) return []
  const { provider, calendar, taken } = listing
  const away = calendar.schedule.timeOff[positionOf(absence, provider)]
  return taken.filter(
    ({ startsAt, endsAt }) =>
      endsAt > now && away && touches(away, { start: startsAt / minuteMillis, end: endsAt / minuteMillis }),
  )
}

function positionOf({ from, until }: TimeOff, { timeOff }: Provider): number {
  return timeOff.findIndex((absence) => absence.from === from && absence.until === until)
}
