import { InvalidArgumentError } from 'commander'
import { callerNetworkFault, isDatabaseAddress } from '../domain/addresses'
import type { RateOverride } from '../domain/limits'
import { isSupported } from '../domain/ports/time'
import { absenceForm } from '../domain/provider'
import { dayMinutes, minuteMillis, parseDate, parseInstant } from '../scheduling/calendar'
import * as settings from '../settings'

const largest = 999_999_999_999_999

export function wholeNumber(least: number, most = largest) {
  return (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new InvalidArgumentError(
      `It must be a whole number from ${least}${most === largest ? '' : ` to ${most}`}.`,
    )
  }
}

export const recordId = wholeNumber(1)

/** For an argument that may be repeated. */
export function recordIds(text: string, before: readonly number[] = []): number[] {
  return [...before, recordId(text)]
}

/** A record as in the audit log, for example `partner 3`. A misspelled record would match no line. */
export function auditRecord(text: string): string {
  if (/^(organization|partner|provider|request|member|line) [1-9]\d*$/.test(text)) return text
  throw new InvalidArgumentError(
    'It must be organization, partner, provider, request, member or line, then an id, for example "partner 3".',
  )
}

/** A UTC instant, in ms. */
export function utcInstant(text: string): number {
  const at = parseInstant(text)
  if (at === null) throw new InvalidArgumentError('It must be a UTC time, for example 2026-12-01T14:00:00Z.')
  return at
}

export const slotForm =
  "the start of the slot, in the provider's local time (2026-12-01T09:00) or in UTC (2026-12-01T14:00:00Z)"

/** A local time or a UTC instant. parseStart converts it. */
export function slotTime(text: string): string {
  if (parseInstant(text) !== null || absenceForm(text) === 'local') return text
  throw new InvalidArgumentError('It must be a time, for example 2026-12-01T09:00 or 2026-12-01T14:00:00Z.')
}

/** A date, in days since 1970-01-01. */
export function localDate(text: string): number {
  const day = parseDate(text)
  if (day === null) throw new InvalidArgumentError('It must be a date, for example 2026-12-01.')
  return day
}

/** A date, `today` or `tomorrow`. The caller chooses the time zone. */
export function dayWord(text: string): string {
  if (text === 'today' || text === 'tomorrow' || parseDate(text) !== null) return text
  throw new InvalidArgumentError('It must be today, tomorrow or a date, for example 2026-12-01.')
}

export function startingInstant(text: string): number {
  const at = parseInstant(text)
  if (at !== null && isSupported(at)) return at
  throw new InvalidArgumentError('It must be a UTC time from 2000 to 2498, for example 2026-12-01T09:00:00Z.')
}

export function fileName(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.')
  // `-` usually means stdout, but these commands print their result to stdout.
  if (text === '-')
    throw new InvalidArgumentError('It must be a file name. For a file with the name -, write ./-')
  return text
}

export function databaseFile(text: string): string {
  if (isDatabaseAddress(text)) {
    throw new InvalidArgumentError('It must be a file, not the address of a database server.')
  }
  return fileName(text)
}

/** A whole number from 1; null for `off`. */
export const cap = asSetting(settings.cap)
export const webAddress = asSetting(settings.webAddress)
export const years = asSetting(settings.years)

function asSetting<Value>(parse: (text: string) => Value | settings.Fault): (text: string) => Value {
  return (text) => {
    const parsed = parse(text)
    if (parsed instanceof settings.Fault) throw new InvalidArgumentError(`It ${parsed.why}.`)
    return parsed
  }
}

/** A partner's rate limit: a whole number from 1, `off`, or `default` for the service's setting. */
export function rateOverride(text: string): NonNullable<RateOverride> | 'default' {
  if (text === 'default') return text
  const most = settings.cap(text)
  if (most instanceof settings.Fault) {
    throw new InvalidArgumentError('It must be off, default or a whole number from 1.')
  }
  return most ?? 'off'
}

const maxNetworks = 100

/** One of a partner's networks, added to the ones before it. The word `any` must be the only one. */
export function callerNetwork(text: string, before: readonly string[] = []): readonly string[] {
  const entries = [...before, text]
  const isMixed = entries.length > 1 && entries.includes('any')
  const fault =
    entries.length > maxNetworks
      ? `is one too many; at most ${maxNetworks} are allowed`
      : isMixed
        ? 'must not be next to the word any'
        : text !== 'any' && callerNetworkFault(text)
  // Shows only what looks like an address: another text may be a token.
  const shown = /^[\da-f:.]{2,45}(\/\d{0,3})?$/i.test(text) ? ` (${text})` : ''
  if (fault)
    throw new InvalidArgumentError(`It has a fault in entry ${entries.length}${shown}, which ${fault}.`)
  return entries
}

const unitMinutes: Readonly<Record<string, number>> = { min: 1, h: 60, d: dayMinutes, w: 7 * dayMinutes }

/** Parses `90min`, `12h`, `3d` or `2w` to ms. */
export function lengthOfTime(text: string): number {
  const [, count, unit = ''] = /^(\d{1,5}) ?(min|h|d|w)$/.exec(text) ?? []
  const minutes = unitMinutes[unit]
  if (minutes === undefined)
    throw new InvalidArgumentError('It must be a duration, for example 90min, 12h, 3d or 2w.')
  return Number(count) * minutes * minuteMillis
}
