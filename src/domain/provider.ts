import { parseDate, parseInstant, parseTimeOfDay } from '../scheduling/calendar'

/** How a session can be held (contract, provider search). */
export const modalities = ['in-person', 'telephonic', 'in-video'] as const

export type Modality = (typeof modalities)[number]

/** A permission to practise in a region, on local dates of the provider's zone, both inclusive. */
export interface License {
  readonly regionId: number
  readonly from: string
  /** Null for a license without an end. */
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

/** Local working time `HH:MM` to `HH:MM`; an end at or before the start lies on the next date. */
export interface WorkingWindow {
  readonly start: string
  readonly end: string
  /** From one slot's start to the next; 45 where it is left out. */
  readonly stepMinutes?: number
}

/** Working time that recurs on weekdays, between two dates where they are given, both inclusive. */
export interface WeeklyHours extends WorkingWindow {
  readonly weekdays: readonly (typeof weekdays)[number][]
  readonly from?: string
  readonly until?: string
}

/** What replaces all windows that start on one date; no windows for a date without work. */
export interface Override {
  readonly date: string
  readonly windows: readonly WorkingWindow[]
}

/**
 * An absence between two boundaries of one form: dates, both inclusive, or local date-times
 * `YYYY-MM-DDTHH:MM`, or instants `YYYY-MM-DDTHH:MM:00Z`, the second no longer part of it.
 */
export interface TimeOff {
  readonly from: string
  readonly until: string
}

/** The form of a boundary of time off, each of which sorts as text; null for any other text. */
export function absenceForm(text: string): 'date' | 'local' | 'instant' | null {
  if (parseDate(text) !== null) return 'date'
  if (/:00Z$/.test(text) && parseInstant(text) !== null) return 'instant'
  const [date = '', time = '', rest] = text.split('T')
  return rest === undefined && parseDate(date) !== null && parseTimeOfDay(time) !== null ? 'local' : null
}

/** What is wrong with the end of an absence whose boundaries are each of some form; null if nothing. */
export function absenceFault({ from, until }: TimeOff): string | null {
  const form = absenceForm(from)
  if (form !== absenceForm(until)) return 'must have the same form as from'
  const isEmpty = form === 'date' ? until < from : until <= from
  return isEmpty ? 'must be after from' : null
}

/**
 * A clinician as the operator's directory describes them, and what staff have said of them since: the one is replaced by
 * the next directory that is loaded, the other stays until staff take it back.
 */
export interface Provider {
  readonly id: number
  /** The operator's own stable reference. */
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
  /** As the directory has it. */
  readonly active: boolean
  /** Whether staff have switched them off. */
  readonly suspended: boolean
  /** The absences that staff have entered. */
  readonly staffTimeOff: readonly TimeOff[]
  readonly licenses: readonly License[]
  /** The regions where they see people in person. */
  readonly inPersonRegionIds: readonly number[]
}

/** What staff say of a provider, before they have said anything. */
export const unsaid: Pick<Provider, 'suspended' | 'staffTimeOff'> = { suspended: false, staffTimeOff: [] }

/** Whether a provider can be found and booked, for all that is said of them. */
export function isWorking({ active, suspended }: Pick<Provider, 'active' | 'suspended'>): boolean {
  return active && !suspended
}

/** All absences of a provider, those first that the directory has. */
export function absencesOf({
  timeOff,
  staffTimeOff,
}: Pick<Provider, 'timeOff' | 'staffTimeOff'>): readonly TimeOff[] {
  return staffTimeOff.length === 0 ? timeOff : [...timeOff, ...staffTimeOff]
}

/** Whether two absences are written alike: by that they are known. */
export function isSameAbsence(one: TimeOff, other: TimeOff): boolean {
  return one.from === other.from && one.until === other.until
}
