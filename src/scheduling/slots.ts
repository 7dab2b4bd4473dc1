import type { Interval } from './interval'
import type { Window } from './working-hours'

/** The length of every slot (contract, Limits). */
export const slotMinutes = 45

/** The interval of the slot that starts at an instant. */
export function slotAt(start: number): Interval {
  return { start, end: start + slotMinutes }
}

/** Tells of slots by their starts, asked in ascending order, which are wanted. */
interface SlotRule {
  allows(start: number): boolean
}

const anySlot: SlotRule = { allows: () => true }

/**
 * The starts of the slots of each window that a rule allows: the first at its start, one every step, each whole
 * inside it. One that is not allowed leaves the others where they are: the grid never moves.
 * Steps are elapsed time: on the wall clock, slots would overlap on the day when an hour repeats.
 */
export function toSlots(windows: readonly Window[], rule: SlotRule = anySlot): number[] {
  const starts: number[] = []
  for (const { start, end, stepMinutes } of windows) {
    for (let slot = start; slot + slotMinutes <= end; slot += stepMinutes) {
      if (rule.allows(slot)) starts.push(slot)
    }
  }
  return starts
}
