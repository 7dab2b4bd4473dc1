import { describe, expect, test } from 'bun:test'
import { type CalendarEvent, formatCalendar } from '../../src/cli/terminal/icalendar'
import { readCalendar } from '../support/calendar'

const at = Date.parse('2026-12-01T12:00:00.900Z')

function event(different: Partial<CalendarEvent> = {}): CalendarEvent {
  const startsAt = Date.parse('2026-12-02T14:00:00Z')
  return {
    uid: 'request-1-1@anteroom',
    startsAt,
    endsAt: startsAt + 45 * 60_000,
    status: 'CONFIRMED',
    summary: 'Appointment',
    description: 'Person: Ada',
    ...different,
  }
}

test('cli: a calendar without events is valid', () => {
  expect(readCalendar(formatCalendar([], at))).toEqual([])
})

test('cli: the text of a calendar with one event, with times in UTC', () => {
  expect(formatCalendar([event()], at)).toBe(
    [
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      'PRODID:-//Anteroom//Appointments//EN',
      'CALSCALE:GREGORIAN',
      'BEGIN:VEVENT',
      'UID:request-1-1@anteroom',
      'DTSTAMP:20261201T120000Z',
      'DTSTART:20261202T140000Z',
      'DTEND:20261202T144500Z',
      'STATUS:CONFIRMED',
      'SUMMARY:Appointment',
      'DESCRIPTION:Person: Ada',
      'END:VEVENT',
      'END:VCALENDAR',
      '',
    ].join('\r\n'),
  )
})

describe('cli: a text in a calendar', () => {
  test.each([
    'commas, semicolons; and \\ backslashes\nof several lines',
    `long ${'word '.repeat(60)}end`,
    'é'.repeat(200),
    '👩🏽‍⚕️'.repeat(40),
    `${'x'.repeat(61)},${'y'.repeat(74)};`,
    'a\ttab',
    '\nBEGIN:VEVENT\nfirst',
  ])('the text %p is read back unchanged', (text) => {
    const [read] = readCalendar(formatCalendar([event({ summary: 'ends', description: text })], at))
    expect(read?.description).toBe(text)
  })

  test('control characters in the text become spaces, and every line break becomes LF', () => {
    const description = 'a\r\nb\rc\u2028d\u0000e\u007ff\u009bg'
    const [read] = readCalendar(formatCalendar([event({ description })], at))
    expect(read?.description).toBe('a\nb\nc\nd e f g')
  })
})

describe('cli: the calendar reader of these tests', () => {
  const whole = formatCalendar([event({ description: 'a, b' }), event({ uid: 'other' })], at)

  test.each([
    ['lines that end in LF alone', whole.replaceAll('\r\n', '\n')],
    ['a line of 76 octets', whole.replace('SUMMARY:', `SUMMARY:${'x'.repeat(62)}`)],
    ['a comma that is not escaped', whole.replace('a\\, b', 'a, b')],
    ['two events of one id', whole.replace('UID:other', 'UID:request-1-1@anteroom')],
    ['an event without a stamp', whole.replace('DTSTAMP:20261201T120000Z\r\n', '')],
    ['a local time', whole.replace('20261202T140000Z', '20261202T140000')],
  ])('the reader rejects %s', (_, text) => {
    expect(readCalendar(whole)).toHaveLength(2)
    expect(() => readCalendar(text)).toThrow()
  })
})
