/** The clock changes of a year, in order. `offset` (minutes east of UTC) applies from `at` (minutes since 1970 in UTC). */
interface PosixRule {
  changesIn(year: number): { readonly at: number; readonly offset: number }[]
}

const zoneName = '(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)'
const minutes = '(?::[0-5]\\d(?::[0-5]\\d)?)?'
const offset = `[+-]?(?:24|2[0-3]|[01]?\\d)${minutes}`
const time = `[+-]?(?:16[0-7]|1[0-5]\\d|\\d{1,2})${minutes}`
const yearDay = '(?:36[0-5]|3[0-5]\\d|[12]\\d\\d|[1-9]?\\d)'
const date = `(?:J(?!0)${yearDay}|${yearDay}|M(?:1[0-2]|[1-9])\\.[1-5]\\.[0-6])(?:/${time})?`
const grammar = new RegExp(`^${zoneName}(${offset})(?:${zoneName}(${offset})?,(${date}),(${date}))?$`)

/**
 * Parses the footer of a TZif file: a POSIX TZ string such as `EST5EDT,M3.2.0,M11.1.0`, with hours from -167 to 167 (RFC 9636
 * §3.3.1). Returns null for other text.
 */
export function parsePosixRule(text: string): PosixRule | null {
  const [, standardWest, daylightWest, begins, ends] = grammar.exec(text) ?? []
  if (standardWest === undefined) return null
  const standard = -parseTime(standardWest)
  if (begins === undefined || ends === undefined)
    return { changesIn: () => [{ at: -Infinity, offset: standard }] }
  const daylight = daylightWest === undefined ? standard + 60 : -parseTime(daylightWest)
  return {
    // A rule gives its date and time in the local time that applies before the change.
    changesIn: (year) =>
      [
        { at: localMinute(begins, year) - standard, offset: daylight },
        { at: localMinute(ends, year) - daylight, offset: standard },
      ].sort((a, b) => a.at - b.at),
  }
}

/** Parses a signed `h[:mm[:ss]]` into minutes. */
function parseTime(text: string): number {
  const [hours = '0', minutes = '0', seconds = '0'] = text.replace(/^[+-]/, '').split(':')
  const value = Math.round(Number(hours) * 60 + Number(minutes) + Number(seconds) / 60)
  return text.startsWith('-') ? -value : value
}

/** Returns the local minute of a rule's date and time in a year. The default time is 02:00. */
function localMinute(rule: string, year: number): number {
  const [day = '', at = '2'] = rule.split('/')
  return transitionDay(day, year) * 1_440 + parseTime(at)
}

/** Days since 1970-01-01 of `Jn` (1 to 365, no leap day), `n` (0 to 365) or `Mm.w.d` (weekday d of week w). */
function transitionDay(rule: string, year: number): number {
  const firstOf = (month: number) => Date.UTC(year, month, 1) / 86_400_000
  if (rule.startsWith('M')) {
    const [month, week, weekday] = rule.slice(1).split('.').map(Number) as [number, number, number]
    const first = firstOf(month - 1)
    const firstWeekday = (((first + 4) % 7) + 7) % 7
    const day = first + ((weekday - firstWeekday + 7) % 7) + (week - 1) * 7
    // Week 5 means the last week, which is often the fourth.
    return day < firstOf(month) ? day : day - 7
  }
  const isLeap = firstOf(2) - firstOf(1) === 29
  const ordinal = Number(rule.replace('J', ''))
  if (!rule.startsWith('J')) return firstOf(0) + ordinal
  return firstOf(0) + ordinal - 1 + (isLeap && ordinal >= 60 ? 1 : 0)
}
