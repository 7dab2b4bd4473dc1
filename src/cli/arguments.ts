import { InvalidArgumentError } from 'commander'
import { isDatabaseAddress } from '../domain/addresses'
import { editDistance } from '../domain/errors'
import type { RateOverride } from '../domain/limits'
import { dayMinutes, minuteMillis, parseDate, parseInstant } from '../scheduling/calendar'
import * as settings from '../settings'

/** Returns a parser of whole numbers from `least` to `most`. */
export function wholeNumber(least: number, most = 999_999_999_999_999) {
  return (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
  }
}

export const recordId = wholeNumber(1)

/** A record as the audit log names it. Other words would match no line, which looks like a real result. */
export function auditRecord(text: string): string {
  if (/^(organization|partner|provider|request|member|line) [1-9]\d*$/.test(text)) return text
  throw new InvalidArgumentError(
    'It must be organization, partner, provider, request, member or line, and its id, as in "partner 3".',
  )
}

/** A UTC instant, in ms. */
export function utcInstant(text: string): number {
  const at = parseInstant(text)
  if (at === null) throw new InvalidArgumentError('It must be a UTC instant as 2026-12-01T14:00:00Z.')
  return at
}

/** A date, in days since 1970-01-01. */
export function localDate(text: string): number {
  const day = parseDate(text)
  if (day === null) throw new InvalidArgumentError('It must be a date as 2026-12-01.')
  return day
}

/** A date, `today` or `tomorrow`, which depend on a time zone. */
export function dayWord(text: string): string {
  if (text === 'today' || text === 'tomorrow' || parseDate(text) !== null) return text
  throw new InvalidArgumentError('It must be today, tomorrow or a date as 2026-12-01.')
}

/** Start of a sandbox's clock (ms), in the years that the zone data and the database support. */
export function startingInstant(text: string): number {
  const at = parseInstant(text)
  if (at !== null && at >= Date.UTC(2000, 0, 2) && at < Date.UTC(2499, 0)) return at
  throw new InvalidArgumentError('It must be a UTC instant as 2026-12-01T09:00:00Z, from 2000 to 2498.')
}

export function fileName(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.')
  // `-` usually means stdout, but stdout has the answer of the command.
  if (text === '-') throw new InvalidArgumentError('It must be a file; ./- for one of that name.')
  return text
}

/** A database file, not the address of a database server. */
export function databaseFile(text: string): string {
  if (isDatabaseAddress(text)) {
    throw new InvalidArgumentError('It must be a file, and not a database on a server.')
  }
  return fileName(text)
}

/** A whole number from 1; null for `off`. */
export const cap = asSetting(settings.cap)
export const webAddress = asSetting(settings.webAddress)

function asSetting<Value>(parse: (text: string) => Value | settings.Fault): (text: string) => Value {
  return (text) => {
    const parsed = parse(text)
    if (parsed instanceof settings.Fault) throw new InvalidArgumentError(`It ${parsed.why}.`)
    return parsed
  }
}

/** A partner's rate limit: a whole number from 1, `off`, or `default` for the setting of the service. */
export function rateOverride(text: string): NonNullable<RateOverride> | 'default' {
  if (text === 'default') return text
  const most = settings.cap(text)
  if (most instanceof settings.Fault) {
    throw new InvalidArgumentError('It must be a whole number from 1 on, off or default.')
  }
  return most ?? 'off'
}

/** Suggestion for a misspelled word; null if no known word is similar. */
export function nearest(word: string, known: readonly string[]): string | null {
  const most = Math.max(1, Math.floor(word.length / 3))
  const near = known
    .map((each) => ({ each, steps: editDistance(word, each) }))
    .filter(({ steps }) => steps <= most)
    .sort((one, other) => one.steps - other.steps)
  return near[0]?.each ?? null
}

const unitMinutes: Readonly<Record<string, number>> = {
  min: 1,
  h: 60,
  d: dayMinutes,
  w: 7 * dayMinutes,
}

/** Parses `90min`, `12h`, `3d` or `2w` to ms. */
export function lengthOfTime(text: string): number {
  const [, count, unit = ''] = /^(\d{1,5}) ?(min|h|d|w)$/.exec(text) ?? []
  const minutes = unitMinutes[unit]
  if (minutes === undefined) throw new InvalidArgumentError('It must be a length as 90min, 12h, 3d or 2w.')
  return Number(count) * minutes * minuteMillis
}
