import { describe, expect, test } from 'bun:test'
import { minuteMillis } from '../../src/scheduling/calendar'
import { parsePosixRule } from '../../src/zones/posix-rule'
import { words } from '../support/words'

/** The changes of a year, as `2027-03-14T07:00 -04:00`. */
function changesIn(rule: string, year: number): string[] | undefined {
  return parsePosixRule(rule)
    ?.changesIn(year)
    .map(({ at, offset }) => {
      const hours = String(Math.floor(Math.abs(offset) / 60)).padStart(2, '0')
      const minutes = String(Math.abs(offset) % 60).padStart(2, '0')
      return `${new Date(at * minuteMillis).toISOString().slice(0, 16)} ${offset < 0 ? '-' : '+'}${hours}:${minutes}`
    })
}

describe('zones: a POSIX rule defines the changes of a year', () => {
  const cases = [
    ['New York', 'EST5EDT,M3.2.0,M11.1.0', 2027, ['2027-03-14T07:00 -04:00', '2027-11-07T06:00 -05:00']],
    [
      'New York with all parts written out',
      'EST+5:00:00EDT+4,M3.2.0/2,M11.1.0/02:00:00',
      2028,
      ['2028-03-12T07:00 -04:00', '2028-11-05T06:00 -05:00'],
    ],
    [
      'Nuuk: one hour before midnight',
      '<-02>2<-01>,M3.5.0/-1,M10.5.0/0',
      2027,
      ['2027-03-28T01:00 -01:00', '2027-10-31T01:00 -02:00'],
    ],
    [
      'changes on the date before',
      '<-03>3<-02>,M3.5.0/-2,M10.5.0/-1',
      2027,
      ['2027-03-28T01:00 -02:00', '2027-10-31T01:00 -03:00'],
    ],
    [
      'Jerusalem: the Friday after the fourth Thursday',
      'IST-2IDT,M3.4.4/26,M10.5.0',
      2027,
      ['2027-03-26T00:00 +03:00', '2027-10-30T23:00 +02:00'],
    ],
    [
      'Gaza: more than two days after the date',
      'EET-2EEST,M3.4.4/50,M10.4.4/50',
      2027,
      ['2027-03-27T00:00 +03:00', '2027-10-29T23:00 +02:00'],
    ],
    [
      'Cairo: at midnight, and at the end of a Thursday',
      'EET-2EEST,M4.5.5/0,M10.5.4/24',
      2027,
      ['2027-04-29T22:00 +03:00', '2027-10-28T21:00 +02:00'],
    ],
    [
      'Santiago: summer time over the turn of the year',
      '<-04>4<-03>,M9.1.6/24,M4.1.6/24',
      2027,
      ['2027-04-04T03:00 -04:00', '2027-09-05T04:00 -03:00'],
    ],
    [
      'Lord Howe: a change of half an hour',
      '<+1030>-10:30<+11>-11,M10.1.0,M4.1.0',
      2027,
      ['2027-04-03T15:00 +10:30', '2027-10-02T15:30 +11:00'],
    ],
    [
      'Chatham: a change at 02:45',
      '<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45',
      2027,
      ['2027-04-03T14:00 +12:45', '2027-09-25T14:00 +13:45'],
    ],
    [
      'Dublin: negative summer time',
      'IST-1GMT0,M10.5.0,M3.5.0/1',
      2027,
      ['2027-03-28T01:00 +01:00', '2027-10-31T01:00 +00:00'],
    ],
    [
      'Troll: a change of two hours',
      '<+00>0<+02>-2,M3.5.0/1,M10.5.0/3',
      2027,
      ['2027-03-28T01:00 +02:00', '2027-10-31T01:00 +00:00'],
    ],
    [
      'the fifth Sunday of a month that has five',
      'AAA0BBB,M5.5.0/0,M10.5.0/0',
      2027,
      ['2027-05-30T00:00 +01:00', '2027-10-30T23:00 +00:00'],
    ],
    [
      'the first and the last date of a month',
      'AAA0BBB,M2.1.1/0,M2.5.1/0',
      2027,
      ['2027-02-01T00:00 +01:00', '2027-02-21T23:00 +00:00'],
    ],
    [
      'J60 is 1 March in a common year',
      'AAA0BBB,J60/0,J365/0',
      2027,
      ['2027-03-01T00:00 +01:00', '2027-12-30T23:00 +00:00'],
    ],
    [
      'J60 is 1 March in a leap year',
      'AAA0BBB,J60/0,J365/0',
      2028,
      ['2028-03-01T00:00 +01:00', '2028-12-30T23:00 +00:00'],
    ],
    [
      'J59 is 28 February in a leap year',
      'AAA0BBB,J59/0,J365/0',
      2028,
      ['2028-02-28T00:00 +01:00', '2028-12-30T23:00 +00:00'],
    ],
    [
      '59 is 1 March in a common year',
      'AAA0BBB,59/0,364/0',
      2027,
      ['2027-03-01T00:00 +01:00', '2027-12-30T23:00 +00:00'],
    ],
    [
      '59 is 29 February in a leap year',
      'AAA0BBB,59/0,365/0',
      2028,
      ['2028-02-29T00:00 +01:00', '2028-12-30T23:00 +00:00'],
    ],
    ['0 is 1 January', 'AAA0BBB,0/0,J1/12', 2027, ['2027-01-01T00:00 +01:00', '2027-01-01T11:00 +00:00']],
    [
      '2100 is no leap year',
      'AAA0BBB,59/0,J365/0',
      2100,
      ['2100-03-01T00:00 +01:00', '2100-12-30T23:00 +00:00'],
    ],
    [
      'almost a week after and before the date',
      'AAA0BBB,M6.1.0/167,M9.1.0/-167',
      2027,
      ['2027-06-12T23:00 +01:00', '2027-08-29T00:00 +00:00'],
    ],
  ] as const
  for (const [name, rule, year, changes] of cases) {
    test(`${name}: ${rule} in ${year}`, () => {
      expect(changesIn(rule, year)).toEqual([...changes])
    })
  }

  test('a rule without summer time has one offset for all time', () => {
    expect(parsePosixRule('MST7')?.changesIn(2027)).toEqual([{ at: -Infinity, offset: -420 }])
    expect(parsePosixRule('<+0545>-5:45')?.changesIn(2027)).toEqual([{ at: -Infinity, offset: 345 }])
  })
})

describe('zones: parsing a text that is not a POSIX rule returns null', () => {
  for (const rule of [
    '',
    ...words`EST 5 EST5EDT EST5EDT,M3.2.0 EST5EDT,M3.2.0,M11.1.0, EST5,M3.2.0,M11.1.0 ES5 <ES>5 <EST5
      EST5EDT,M3.2,M11.1.0`,
    'EST5EDT M3.2.0 M11.1.0',
    'EST5EDT,M3.2.0/x,M11.1.0',
    'EST5EDT,3.2.0,M11.1.0',
    ' EST5EDT,M3.2.0,M11.1.0',
    'EST5EDT,M3.2.0,M11.1.0\n',
    'America/Toronto',
  ]) {
    test(`parsing ${JSON.stringify(rule)} returns null`, () => {
      expect(parsePosixRule(rule)).toBeNull()
    })
  }

  test('parsing a rule with a date or time out of range returns null', () => {
    const lax = words`
      EST5EDT,M0.2.0,M11.1.0 EST5EDT,M13.2.0,M11.1.0 EST5EDT,M3.0.0,M11.1.0 EST5EDT,M3.6.0,M11.1.0
      EST5EDT,M3.2.7,M11.1.0 EST5EDT,J0,M11.1.0 EST5EDT,J366,M11.1.0 EST5EDT,366,M11.1.0
      EST5EDT,M3.2.0/168,M11.1.0 EST5EDT,M3.2.0/2:60,M11.1.0 EST25EDT,M3.2.0,M11.1.0
    `.filter((rule) => parsePosixRule(rule) !== null)
    expect(lax).toEqual([])
  })
})
