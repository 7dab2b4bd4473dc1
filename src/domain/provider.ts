import { parseDate, parseInstant, parseTimeOfDay } from '../scheduling/calendar'

/** How a session can be held (contract, provider search). */
export const modalities = ['in-person', 'telephonic', 'in-video'] as const

export type Modality = (typeof modalities)[number]

/** A permission to practise in a region. Dates are inclusive, in the provider's time zone. */
export interface License {
  readonly regionId: number
  readonly from: string
  readonly until: string | null
}

export const weekdays = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const

/** Local working time from `HH:MM` to `HH:MM`. An end at or before the start is on the next day. */
export interface WorkingWindow {
  readonly start: string
  readonly end: string
  /** Minutes between the starts of two slots. Default: 45. */
  readonly stepMinutes?: number
}

/** Weekly working time, optionally between two dates (inclusive). */
export interface WeeklyHours extends WorkingWindow {
  readonly weekdays: readonly (typeof weekdays)[number][]
  readonly from?: string
  readonly until?: string
}

/** Replaces the windows that start on `date`. An empty list means that no window starts on this date. */
export interface Override {
  readonly date: string
  readonly windows: readonly WorkingWindow[]
}

/**
 * Both boundaries are dates, local date-times (`YYYY-MM-DDTHH:MM`), or instants (`YYYY-MM-DDTHH:MM:00Z`). `until` is
 * inclusive for dates, and exclusive for date-times and instants.
 */
export interface TimeOff {
  readonly from: string
  readonly until: string
}

/** Returns the form of a time-off boundary, or null. Boundaries of the same form sort as text. */
export function absenceForm(text: string): 'date' | 'local' | 'instant' | null {
  if (parseDate(text) !== null) return 'date'
  if (/:00Z$/.test(text) && parseInstant(text) !== null) return 'instant'
  const [date = '', time = '', rest] = text.split('T')
  return rest === undefined && parseDate(date) !== null && parseTimeOfDay(time) !== null ? 'local' : null
}

/** Returns the fault of an absence, or null. Expects valid boundaries. */
export function absenceFault({ from, until }: TimeOff): string | null {
  const form = absenceForm(from)
  if (form !== absenceForm(until)) return 'must have the same form as from'
  const isEmpty = form === 'date' ? until < from : until <= from
  return isEmpty ? 'must be after from' : null
}

/** Loading a directory replaces all fields except the staff fields `suspended` and `staffTimeOff`. */
export interface Provider {
  readonly id: number
  /** The operator's stable reference. */
  readonly ref: string
  readonly firstName: string
  readonly lastName: string
  readonly credentials: string | null
  readonly pronouns: string | null
  readonly gender: string | null
  readonly bio: string | null
  /** IANA name. */
  readonly timeZone: string
  /** BCP 47. */
  readonly languagesSpoken: readonly string[]
  readonly modalities: readonly Modality[]
  readonly workingHours: readonly WeeklyHours[]
  readonly overrides: readonly Override[]
  readonly timeOff: readonly TimeOff[]
  readonly minimumNoticeMinutes: number
  readonly active: boolean
  readonly suspended: boolean
  readonly staffTimeOff: readonly TimeOff[]
  readonly licenses: readonly License[]
  readonly inPersonRegionIds: readonly number[]
}

export type NamedProvider = Pick<Provider, 'id' | 'ref' | 'firstName' | 'lastName'>

export const defaultStaffFields: Pick<Provider, 'suspended' | 'staffTimeOff'> = {
  suspended: false,
  staffTimeOff: [],
}

/** Returns true if a provider can be found and booked. */
export function isWorking({ active, suspended }: Pick<Provider, 'active' | 'suspended'>): boolean {
  return active && !suspended
}

/** Returns the absences from the directory, then the absences from staff. */
export function absencesOf({ timeOff, staffTimeOff }: Pick<Provider, 'timeOff' | 'staffTimeOff'>) {
  return staffTimeOff.length === 0 ? timeOff : [...timeOff, ...staffTimeOff]
}

export function isSameAbsence(one: TimeOff, other: TimeOff): boolean {
  return one.from === other.from && one.until === other.until
}
