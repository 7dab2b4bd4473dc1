import { type Calendar, ruleAt } from './availability'
import { contains, type Interval } from './interval'
import { dropTouching, slotAt, toSlots } from './slots'
import { type Window, workingTime } from './working-hours'

/** The steps of the rule at which a slot can fail, in the order in which they are named. */
export type Step =
  | 'past'
  | 'horizon'
  | 'notice'
  | 'license'
  | 'override'
  | 'hours'
  | 'grid'
  | 'time_off'
  | 'taken'

/** Why a slot cannot be had: the first step of the rule that it fails, and what stands in its way there. */
export interface Obstacle {
  readonly step: Step
  /** The absence or the taken slot. */
  readonly busy?: Interval
  /** The starts of slots beside one that is off the grid, in the same window. */
  readonly nearest?: readonly number[]
}

/**
 * The first step of the rule that a slot starting at `start` (minutes) fails; null exactly if availabilityAt
 * offers the slot.
 *
 * @param now milliseconds since 1970-01-01T00:00Z
 */
export function obstacleAt(
  calendar: Calendar,
  licensed: readonly Interval[],
  start: number,
  now: number,
): Obstacle | null {
  const rule = ruleAt(calendar, licensed, now)
  if (start < rule.earliest) return { step: 'past' }
  if (!rule.isWithinHorizon(start)) return { step: 'horizon' }
  if (!rule.isNoticed(start)) return { step: 'notice' }
  if (!rule.isLicensed(start)) return { step: 'license' }
  return obstacleInSchedule(calendar, rule.windows, start) ?? obstacleInBusy(calendar, rule.busy, start)
}

function obstacleInSchedule(
  { schedule }: Calendar,
  windows: readonly Window[],
  start: number,
): Obstacle | null {
  const starts = toSlots(windows)
  if (starts.includes(start)) return null
  const window = windows.find((candidate) => contains(candidate, slotAt(start)))
  const usual = workingTime({ ...schedule, overrides: new Map() }, slotAt(start))
  if (toSlots(usual).includes(start)) return { step: 'override' }
  if (!window) return { step: 'hours' }
  const inWindow = toSlots([window])
  const before = inWindow.filter((other) => other < start).slice(-1)
  const after = inWindow.filter((other) => other > start).slice(0, 1)
  return { step: 'grid', nearest: [...before, ...after] }
}

function obstacleInBusy({ schedule }: Calendar, busy: readonly Interval[], start: number): Obstacle | null {
  const standing = busy.filter((interval) => dropTouching([start], [interval]).length === 0)
  const absence = standing.find((interval) => schedule.timeOff.includes(interval))
  if (absence) return { step: 'time_off', busy: absence }
  return standing[0] ? { step: 'taken', busy: standing[0] } : null
}
