import { type TProperties, Type } from '@sinclair/typebox'
import { slotMinutes } from '../scheduling/availability'
import { dayMinutes } from '../scheduling/calendar'
import { modalities, weekdays } from './provider'
import { Choice, Text, validator } from './validation'

/** An object schema that rejects additional properties. */
export const closed = <Members extends TProperties>(members: Members) =>
  Type.Object(members, { additionalProperties: false })

export const CalendarDate = Text({ format: 'date' })
const TimeOfDay = Text({ format: 'time-of-day' })
const StepMinutes = Type.Integer({ minimum: slotMinutes, maximum: dayMinutes })
const Window = closed({ start: TimeOfDay, end: TimeOfDay, stepMinutes: Type.Optional(StepMinutes) })

export const HoursShape = closed({
  weekdays: Type.Array(Choice(weekdays), { minItems: 1, uniqueItems: true }),
  start: TimeOfDay,
  end: TimeOfDay,
  from: Type.Optional(CalendarDate),
  until: Type.Optional(CalendarDate),
  stepMinutes: Type.Optional(StepMinutes),
})

export const OverrideShape = closed({ date: CalendarDate, windows: Type.Array(Window) })

const Boundary = Text({ format: 'absence-boundary' })
export const AbsenceShape = closed({ from: Boundary, until: Boundary })

export const listShapes = {
  languagesSpoken: Type.Array(Text({ format: 'language-tag' }), { minItems: 1, uniqueItems: true }),
  modalities: Type.Array(Choice(modalities), { minItems: 1, uniqueItems: true }),
  workingHours: Type.Array(HoursShape),
  overrides: Type.Array(OverrideShape),
  timeOff: Type.Array(AbsenceShape),
}

/** These validators apply the rules of directory files to stored lists. Invalid lists do not reach searches. */
export const providerLists = {
  languagesSpoken: validator(listShapes.languagesSpoken),
  modalities: validator(listShapes.modalities),
  workingHours: validator(listShapes.workingHours),
  overrides: validator(listShapes.overrides),
  timeOff: validator(listShapes.timeOff),
  staffTimeOff: validator(listShapes.timeOff),
}
