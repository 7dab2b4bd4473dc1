import { compileTimeOff } from '../directory/compile'
import { type Listing, toInterval } from '../directory/directory'
import type { Act } from '../domain/audit'
import { decideTimeOff, decideTimeOffRemoval } from '../domain/decide-provider'
import type { TakenSlot } from '../domain/directory-feed'
import { Refusal } from '../domain/errors'
import { formats } from '../domain/formats'
import { absenceFault, isSameAbsence, type Provider, type TimeOff } from '../domain/provider'
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

/** Stores an absence, and tells whether it is new. */
export function storeTimeOff(context: Context, id: number, absence: TimeOff, act: Act): Promise<boolean> {
  const added = context.store.change(
    act,
    ({ directory }) => [directory.findProviders([id])],
    ({ providers }) => decideTimeOff(providers[0] ?? null, absence),
  )
  return thenShow(context, added)
}

/** Adds an absence to a provider's schedule; one that is there already is not added twice. */
export async function addTimeOff(
  context: Context,
  provider: Provider,
  absence: TimeOff,
  act: Act,
): Promise<TimeOffAdded> {
  const isNew = await storeTimeOff(context, provider.id, absence, act)
  return { isKnown: !isNew, held: heldIn(absence, context.directory.findAnyListing(provider.id), act.at) }
}

/**
 * Takes an absence back. Tells whether it was the directory's: then the next one that is loaded may bring it back.
 *
 * @throws Refusal record_unknown if there is no such absence
 */
export async function removeTimeOff(
  context: Context,
  { id, timeOff }: Provider,
  absence: TimeOff,
  act: Act,
): Promise<{ readonly isOfDirectory: boolean }> {
  const removed = context.store.change(
    act,
    ({ directory }) => [directory.findProviders([id])],
    ({ providers }) => decideTimeOffRemoval(providers[0] ?? null, absence),
  )
  await thenShow(context, removed)
  return { isOfDirectory: timeOff.some((one) => isSameAbsence(one, absence)) }
}

/** The slots in an absence that requests hold and that are not over at `now` (ms). */
export function heldIn(absence: TimeOff, listing: Listing | null, now: number): TakenSlot[] {
  if (!listing) return []
  const away = compileTimeOff(absence, listing.calendar.schedule.zone)
  return listing.taken.filter((slot) => slot.endsAt > now && touches(away, toInterval(slot)))
}
