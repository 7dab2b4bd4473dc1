import { describe, expect, test } from 'bun:test'
import { Refusal } from '../../src/domain/errors'
import { minuteMillis } from '../../src/scheduling/calendar'
import { offsetAt, type TimeZone } from '../../src/scheduling/time-zone'
import { builtInZones } from '../../src/zones/packed'
import { readTzif } from '../../src/zones/tzif'
import { type TzifSource, writeTzif } from './write-tzif'

const seconds = (timestamp: string) => Date.parse(timestamp) / 1_000
const minutes = (timestamp: string) => Date.parse(timestamp) / minuteMillis

function read(source: TzifSource): TimeZone {
  const zone = readTzif('Test/Zone', writeTzif(source))
  if (!zone) throw new Error('no zone was read')
  return zone
}

const hour = 3_600
const newYork = 'EST5EDT,M3.2.0,M11.1.0'

/** Toronto as a slim file: the changes of 2006 and 2007, and a footer with the rule for later years. */
const slimToronto: TzifSource = {
  types: [-5 * hour, -4 * hour],
  changes: [
    [seconds('2006-04-02T07:00:00Z'), 1],
    [seconds('2006-10-29T06:00:00Z'), 0],
    [seconds('2007-03-11T07:00:00Z'), 1],
    [seconds('2007-11-04T06:00:00Z'), 0],
  ],
  footer: newYork,
}

/** A file with every optional part. Its two blocks differ. */
const fullFile: TzifSource = {
  ...slimToronto,
  version: 3,
  leapSeconds: 3,
  indicators: true,
  legacy: { types: [9 * hour, 8 * hour, 7 * hour], changes: [[seconds('2020-01-01T00:00:00Z'), 2]] },
}

/** Returns instants from 2008 to 2037 at which the offsets of two zones differ. Checks only some instants. */
function differences(a: TimeZone, b: TimeZone): string[] {
  const [from, to] = [minutes('2008-01-01T00:00:00Z'), minutes('2038-01-01T00:00:00Z')]
  const near = [...a.transitions, ...b.transitions].flatMap((at) => [at - 1, at, at + 1])
  const all = near.filter((at) => from <= at && at < to)
  for (let at = from; at < to; at += 13 * 60 + 7) all.push(at)
  return all
    .filter((at) => offsetAt(a, at) + 0 !== offsetAt(b, at) + 0)
    .map((at) => new Date(at * minuteMillis).toISOString())
}

function builtIn(name: string): TimeZone {
  const zone = builtInZones().find(name)
  if (!zone) throw new Error(`no zone ${name}`)
  return zone
}

describe('zones: a TZif file', () => {
  test('a file with two years of changes and a footer gives all changes until 2037', () => {
    expect(differences(read(slimToronto), builtIn('America/Toronto'))).toEqual([])
  })

  test('the listed transitions apply until the last one, and the rule of the footer after it', () => {
    const zone = read(slimToronto)
    expect(offsetAt(zone, minutes('1990-07-01T00:00:00Z'))).toBe(-300)
    expect(offsetAt(zone, minutes('2006-04-02T06:59:00Z'))).toBe(-300)
    expect(offsetAt(zone, minutes('2006-04-02T07:00:00Z'))).toBe(-240)
  })

  test('a file with only a footer gives all changes from 1970 on', () => {
    const zone = read({ types: [-5 * hour], footer: newYork })
    expect(differences(zone, builtIn('America/Toronto'))).toEqual([])
    expect(offsetAt(zone, minutes('1970-07-01T00:00:00Z'))).toBe(-240)
  })

  test('a file with one offset is a zone with a fixed offset', () => {
    for (const footer of ['<+0545>-5:45', '']) {
      const zone = read({ types: [20_700], footer })
      expect(zone.transitions).toEqual([])
      expect(offsetAt(zone, minutes('2027-03-14T00:00:00Z'))).toBe(345)
    }
  })

  test('the last change in a file may be to permanent summer time', () => {
    const zone = read({
      types: [-8 * hour, -7 * hour],
      changes: [[seconds('2026-03-08T10:00:00Z'), 1]],
      footer: 'MST7',
    })
    expect(
      differences({ ...zone, transitions: [], offsets: [-420] }, zone)
        .at(-1)
        ?.slice(0, 10),
    ).toBe('2026-03-08')
    expect(offsetAt(zone, minutes('2026-12-01T17:00:00Z'))).toBe(-420)
  })

  const footers = [
    ['Pacific/Chatham', 45_900, '<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45'],
    ['Australia/Lord_Howe', 37_800, '<+1030>-10:30<+11>-11,M10.1.0,M4.1.0'],
    ['Antarctica/Troll', 0, '<+00>0<+02>-2,M3.5.0/1,M10.5.0/3'],
    ['Europe/Dublin', 3_600, 'IST-1GMT0,M10.5.0,M3.5.0/1'],
    ['Asia/Jerusalem', 7_200, 'IST-2IDT,M3.4.4/26,M10.5.0'],
    ['Asia/Beirut', 7_200, 'EET-2EEST,M3.5.0/0,M10.5.0/0'],
  ] as const
  for (const [name, offset, footer] of footers) {
    test(`a file with the footer of ${name} agrees with the built-in zone since June 2023`, () => {
      const since = '2023-06-01'
      const zone = read({ types: [offset], footer })
      expect(differences(zone, builtIn(name)).filter((at) => at > since)).toEqual([])
    })
  }

  test('a footer with summer time all year gives permanent summer time', () => {
    const zone = read({
      types: [-5 * hour, -4 * hour],
      changes: [[seconds('2026-03-08T07:00:00Z'), 1]],
      footer: 'EST5EDT,0/0,J365/25',
    })
    for (let year = 2027; year <= 2037; year++) {
      for (const day of ['01-01T04:59', '01-01T05:00', '01-01T05:01', '07-01T00:00', '12-31T23:59']) {
        expect(offsetAt(zone, minutes(`${year}-${day}:00Z`))).toBe(-240)
      }
    }
  })

  test('the 64-bit block of a file is read, and the leap seconds are skipped', () => {
    expect(differences(read(fullFile), builtIn('America/Toronto'))).toEqual([])
    expect(offsetAt(read(fullFile), minutes('2020-07-01T00:00:00Z'))).toBe(-240)
  })

  test('a file may begin with a change 18 billion years ago', () => {
    const changes = [[-(2 ** 59), 0], ...(slimToronto.changes ?? [])] as const
    expect(differences(read({ ...slimToronto, changes }), builtIn('America/Toronto'))).toEqual([])
  })

  test('an offset in seconds is rounded to minutes', () => {
    expect(read({ types: [-19_052] }).offsets).toEqual([-318])
  })

  for (const version of [2, 3, 4]) {
    test(`a file of version ${version} is read`, () => {
      expect(differences(read({ ...slimToronto, version }), builtIn('America/Toronto'))).toEqual([])
    })
  }
})

describe('zones: a broken TZif file is rejected', () => {
  const whole = writeTzif(fullFile)
  const outcomeOf = (bytes: Buffer): string => {
    try {
      return readTzif('Test/Zone', bytes) === null ? 'refused' : 'read as a zone'
    } catch (error) {
      return String(error).includes('Test/Zone') ? 'refused' : String(error).replace(/\d+/g, 'n')
    }
  }

  test('a file that is not a TZif file is rejected', () => {
    for (const text of ['', 'TZ', '# version 2026f\nR d 1916\n', 'x'.repeat(5_000), '\0'.repeat(5_000)]) {
      expect(readTzif('Test/Zone', Buffer.from(text))).toBeNull()
    }
  })

  test('a file of version 1 is rejected, because it ends in 2037', () => {
    expect(() => readTzif('Test/Zone', writeTzif({ ...slimToronto, version: 1 }))).toThrow(
      new Refusal(
        'settings_invalid',
        'the zone file Test/Zone has format version 1, which ends in 2037: install the zone data again, or leave --zones out',
      ),
    )
  })

  test('a file without local time types is rejected', () => {
    expect(outcomeOf(writeTzif({ types: [], footer: newYork }))).toBe('refused')
  })

  test('a file that ends before its footer is rejected', () => {
    const footer = newYork.length + 2
    const outcomes = new Set<string>()
    for (let length = 0; length <= whole.length - footer; length++) {
      outcomes.add(outcomeOf(whole.subarray(0, length)))
    }
    expect([...outcomes]).toEqual(['refused'])
  })

  test('a file that ends within its footer is rejected', () => {
    const outcomes = new Set<string>()
    for (let missing = 2; missing <= newYork.length + 1; missing++) {
      outcomes.add(outcomeOf(whole.subarray(0, whole.length - missing)))
    }
    expect([...outcomes]).toEqual(['refused'])
  })

  test('a file with an invalid footer is rejected', () => {
    for (const footer of ['EST5EDT', 'EST5EDT,M3.2', 'rubbish', 'EST5EDT,M13.2.0,M11.1.0']) {
      expect([footer, outcomeOf(writeTzif({ ...slimToronto, footer }))]).toEqual([footer, 'refused'])
    }
  })

  test('a file with a change to an undefined local time type is rejected', () => {
    const changes = [[seconds('2007-03-11T07:00:00Z'), 7]] as const
    expect(outcomeOf(writeTzif({ ...slimToronto, changes }))).toBe('refused')
  })

  test('a file with changes in the wrong order is rejected', () => {
    const changes = slimToronto.changes?.toReversed() ?? []
    expect(outcomeOf(writeTzif({ ...slimToronto, changes }))).toBe('refused')
  })

  test('a file with an offset of more than a day is rejected', () => {
    expect(outcomeOf(writeTzif({ ...slimToronto, types: [-5 * hour, 400 * hour] }))).toBe('refused')
  })

  test('a file that declares more records than it contains is rejected', () => {
    const bytes = Buffer.from(whole)
    for (const field of [20, 24, 28, 32, 36, 40]) {
      bytes.writeUInt32BE(0xffff_ffff, whole.lastIndexOf('TZif') + field)
      expect(outcomeOf(bytes)).toBe('refused')
      whole.copy(bytes)
    }
  })
})
