import { type Calendar, Rule, slotAt, toSlots } from './availability'
import { minuteMillis } from './calendar'
import { contains, type Interval, touches } from './interval'
import { localDay } from './time-zone'
import { windowsBetween, workingTime } from './working-hours'

/** What stands in the way of a slot at one step of the rule. */
interface Hindrance {
  /** The date whose override took away the window that has the slot. */
  readonly day?: number
  /** The absence or the taken slot. */
  readonly busy?: Interval
  /** The starts of slots beside one that is off the grid, in the same window. */
  readonly nearest?: readonly number[]
}

/** A slot (its start in minutes) and what it is judged by. */
interface Candidate {
  readonly calendar: Calendar
  readonly rule: Rule
  readonly start: number
  /** A booked session need not lie on the grid any more. */
  readonly isBooked?: boolean
}

/** The steps of the rule at which a slot can fail, in the order in which they are looked at and named. */
const hindrances = {
  past: ({ rule, start }) => (start < rule.earliest ? {} : null),
  horizon: ({ rule, start }) => (rule.isWithinHorizon(start) ? null : {}),
  notice: ({ rule, start }) => (rule.isNoticed(start) ? null : {}),
  license: ({ rule, start }) => (rule.isLicensed(start) ? null : {}),
  override: findOverride,
  outside_hours: (asked) => (windowOf(asked) ? null : {}),
  off_grid: findNearest,
  time_off: ({ calendar, start }) => findBusy(calendar.schedule.timeOff, start),
  taken: ({ calendar, start }) => findBusy(calendar.taken, start),
} satisfies Record<string, (asked: Candidate) => Hindrance | null>

export type Step = keyof typeof hindrances

export const steps = Object.keys(hindrances) as Step[]

/** Why a slot cannot be had: the first step of the rule that it fails, and what stands in its way there. */
export interface Obstacle extends Hindrance {
  readonly step: Step
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
  return firstHindrance(steps, { calendar, rule: new Rule(calendar, licensed, now), start })
}

/** The steps about the provider's own time. The others are asked when a slot is taken, and never again. */
const sessionSteps = ['license', 'override', 'outside_hours', 'time_off'] as const

/** Why a provider is not there for a session. */
export type Absence = Obstacle & { readonly step: (typeof sessionSteps)[number] }

/** What keeps a provider from a session that is booked at `start` (minutes); null if nothing does. */
export function sessionObstacleAt(
  calendar: Calendar,
  licensed: readonly Interval[],
  start: number,
): Absence | null {
  const rule = new Rule(calendar, licensed, start * minuteMillis, slotAt(start))
  return firstHindrance(sessionSteps, { calendar, rule, start, isBooked: true })
}

function firstHindrance<S extends Step>(
  asking: readonly S[],
  asked: Candidate,
): (Obstacle & { readonly step: S }) | null {
  for (const step of asking) {
    const hindrance = hindrances[step](asked)
    if (hindrance) return { step, ...hindrance }
  }
  return null
}

/** The override without which the week's own windows would have the slot. */
function findOverride(asked: Candidate): Hindrance | null {
  const {
    rule,
    start,
    isBooked,
    calendar: { schedule },
  } = asked
  const slot = slotAt(start)
  const usual = { ...schedule, overrides: new Map() }
  if (isBooked ? windowOf(asked) : toSlots(rule.windows).includes(start)) return null
  if (!toSlots(workingTime(usual, slot)).includes(start)) return null
  const own = localDay(schedule.zone, start)
  const day = [own - 1, own, own + 1].find(
    (date) =>
      schedule.overrides.has(date) &&
      windowsBetween(usual, date, date).some((window) => touches(window, slot)),
  )
  return day === undefined ? null : { day }
}

function windowOf({ rule, start }: Candidate) {
  return rule.windows.find((window) => contains(window, slotAt(start)))
}

function findNearest(asked: Candidate): Hindrance | null {
  const window = windowOf(asked)
  const starts = window ? toSlots([window]) : []
  if (starts.includes(asked.start)) return null
  const next = starts.filter((other) => other < asked.start).length
  return { nearest: starts.slice(Math.max(0, next - 1), next + 1) }
}

function findBusy(intervals: readonly Interval[], start: number): Hindrance | null {
  const busy = intervals.find((interval) => touches(interval, slotAt(start)))
  return busy ? { busy } : null
}
