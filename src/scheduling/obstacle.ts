import { type Calendar, Rule, slotAt, toSlots } from './availability'
import { minuteMillis } from './calendar'
import { contains, type Interval, touches } from './interval'
import { localDay } from './time-zone'
import { windowsBetween, workingTime } from './working-hours'

interface StepFailure {
  /** The date whose override removed the slot's window. */
  readonly day?: number
  readonly busy?: Interval
  /** The nearest slot starts in the same window, if the slot is off the grid. */
  readonly nearest?: readonly number[]
}

/** A slot (its start in minutes) and the rule to check it with. */
interface Candidate {
  readonly calendar: Calendar
  readonly rule: Rule
  readonly start: number
  /** A booked session may lie off the grid. */
  readonly isBooked?: boolean
}

/** The steps of the availability rule, in the order of the checks. The first failed step is reported. */
const checks = {
  past: ({ rule, start }) => (start < rule.earliest ? {} : null),
  horizon: ({ rule, start }) => (rule.isWithinHorizon(start) ? null : {}),
  notice: ({ rule, start }) => (rule.hasNotice(start) ? null : {}),
  license: ({ rule, start }) => (rule.isLicensed(start) ? null : {}),
  override: findOverride,
  outside_hours: (candidate) => (windowOf(candidate) ? null : {}),
  off_grid: findNearest,
  time_off: ({ calendar, start }) => findBusy(calendar.schedule.timeOff, start),
  taken: ({ calendar, start }) => findBusy(calendar.taken, start),
} satisfies Record<string, (candidate: Candidate) => StepFailure | null>

export type Step = keyof typeof checks

export const steps = Object.keys(checks) as Step[]

/** The first step that a slot fails, with details. */
export interface Obstacle extends StepFailure {
  readonly step: Step
}

/** Returns the first step that the slot at `start` (minutes) fails, or null for a free slot. @param now ms */
export function obstacleAt(calendar: Calendar, licensed: readonly Interval[], start: number, now: number) {
  return firstFailure(steps, { calendar, rule: new Rule(calendar, licensed, now), start })
}

/** The steps that a booked session must still pass. The other steps matter only when a slot is booked. */
const sessionSteps = ['license', 'override', 'outside_hours', 'time_off'] as const

export type Absence = Obstacle & { readonly step: (typeof sessionSteps)[number] }

/** Returns the first step that the session booked at `start` (minutes) fails, or null. */
export function sessionObstacleAt(calendar: Calendar, licensed: readonly Interval[], start: number) {
  const rule = new Rule(calendar, licensed, start * minuteMillis, slotAt(start))
  return firstFailure(sessionSteps, { calendar, rule, start, isBooked: true })
}

function firstFailure<S extends Step>(order: readonly S[], candidate: Candidate) {
  for (const step of order) {
    const failure = checks[step](candidate)
    if (failure) return { step, ...failure }
  }
  return null
}

/** Finds the override that removed a weekly window with this slot. */
function findOverride(candidate: Candidate): StepFailure | null {
  const {
    rule,
    start,
    isBooked,
    calendar: { schedule },
  } = candidate
  const slot = slotAt(start)
  const usual = { ...schedule, overrides: new Map() }
  if (isBooked ? windowOf(candidate) : toSlots(rule.windows).includes(start)) return null
  if (!toSlots(workingTime(usual, slot)).includes(start)) return null
  const localDate = localDay(schedule.zone, start)
  const day = [localDate - 1, localDate, localDate + 1].find(
    (date) =>
      schedule.overrides.has(date) &&
      windowsBetween(usual, date, date).some((window) => touches(window, slot)),
  )
  return day === undefined ? null : { day }
}

function windowOf({ rule, start }: Candidate) {
  return rule.windows.find((window) => contains(window, slotAt(start)))
}

function findNearest(candidate: Candidate): StepFailure | null {
  const window = windowOf(candidate)
  const starts = window ? toSlots([window]) : []
  if (starts.includes(candidate.start)) return null
  const next = starts.filter((other) => other < candidate.start).length
  return { nearest: starts.slice(Math.max(0, next - 1), next + 1) }
}

function findBusy(intervals: readonly Interval[], start: number): StepFailure | null {
  const busy = intervals.find((interval) => touches(interval, slotAt(start)))
  return busy ? { busy } : null
}
