import { type Interval, touches } from './interval'
import type { Window } from './working-hours'

/** The length of every slot (contract, Limits). */
export const slotMinutes = 45

/** The interval of the slot that starts at an instant. */
export function slotAt(start: number): Interval {
  return { start, end: start + slotMinutes }
}

/**
 * The starts of the slots of each window: the first at its start, one every step, each whole inside it.
 * Steps are elapsed time: on the wall clock, slots would overlap on the day when an hour repeats.
 */
export function toSlots(windows: readonly Window[]): number[] {
  const starts: number[] = []
  for (const { start, end, stepMinutes } of windows) {
    for (let slot = start; slot + slotMinutes <= end; slot += stepMinutes) starts.push(slot)
  }
  return starts
}

/** The slots that touch none of the busy intervals. The others stay where they are: the grid never moves. */
export function dropTouching(starts: readonly number[], busy: readonly Interval[]): number[] {
  return starts.filter((start) => !busy.some((interval) => touches(slotAt(start), interval)))
}
