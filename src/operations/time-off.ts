import { type Listing, toInterval } from '../directory/directory'
import type { Act } from '../domain/audit'
import type { TakenSlot } from '../domain/directory-feed'
import { Refusal } from '../domain/errors'
import { formats } from '../domain/formats'
import { absenceFault, absencesOf, type Provider, type TimeOff } from '../domain/provider'
import { touches } from '../scheduling/interval'
import { type Context, thenShow } from './context'

/** An absence from its two boundaries, by the rules of directory files. @throws Refusal field_invalid */
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
  context: Context,
  provider: Provider,
  absence: TimeOff,
  act: Act,
): Promise<TimeOffAdded> {
  const isNew = await thenShow(context, context.store.addTimeOff(provider.id, absence, act))
  return { isKnown: !isNew, held: heldIn(absence, context.directory.findAnyListing(provider.id), act.at) }
}

/** Takes an absence back. @throws Refusal record_unknown if there is no such absence */
export function removeTimeOff(context: Context, { id }: Provider, absence: TimeOff, act: Act): Promise<void> {
  return thenShow(context, context.store.removeTimeOff(id, absence, act))
}

function heldIn(absence: TimeOff, listing: Listing | null, now: number): TakenSlot[] {
  const away = listing?.calendar.schedule.timeOff[positionOf(absence, listing.provider)]
  if (!listing || !away) return []
  return listing.taken.filter((slot) => slot.endsAt > now && touches(away, toInterval(slot)))
}

function positionOf({ from, until }: TimeOff, provider: Provider): number {
  return absencesOf(provider).findIndex((absence) => absence.from === from && absence.until === until)
}
