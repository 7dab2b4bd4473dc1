import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { DirectoryFile } from '../../src/directory-files/document'
import { DirectoryInvalid } from '../../src/directory-files/faults'
import { tableNames } from '../../src/directory-files/table-rows'
import { checkTables, formatTable, readTables } from '../../src/directory-files/tables'
import { provider, region } from '../support/builders'

const isZone = (name: string) => name === 'America/Toronto'
const stored = { regions: [region()], providers: [provider('on-1')], unreadable: new Set() }
const file = (name: string, text: string) => ({ name, bytes: new TextEncoder().encode(text) })

/** The table of schedules that these tests vary, as plain CSV (RFC 4180). */
const plain =
  'ref,kind,weekdays,date,start,end,stepMinutes,from,until\n' +
  'on-1,hours,monday tuesday,,09:00,17:00,60,,\n' +
  'on-1,override,,2026-12-24,09:00,10:30,,,\n'

function schedulesOf(bytes: Uint8Array) {
  const { providers } = readTables([{ name: 's.csv', bytes }], stored, isZone)
  return providers.map(({ workingHours, overrides, timeOff }) => ({ workingHours, overrides, timeOff }))
}

function utf16(text: string): Uint8Array {
  return new Uint8Array([
    0xff,
    0xfe,
    ...new Uint8Array(Uint16Array.from(text, (c) => c.charCodeAt(0)).buffer),
  ])
}

const encode = (text: string) => new TextEncoder().encode(text)

describe('directory-files: a table that a spreadsheet exported', () => {
  const expected = schedulesOf(encode(plain))

  test('a plain table is read', () => {
    expect(expected[0]?.workingHours).toEqual([
      { weekdays: ['monday', 'tuesday'], start: '09:00', end: '17:00', stepMinutes: 60 },
    ])
  })

  test.each<[how: string, bytes: Uint8Array]>([
    ['with semicolons', encode(plain.replaceAll(',', ';'))],
    ['with semicolons and a byte order mark', encode(`\ufeff${plain.replaceAll(',', ';')}`)],
    ['with tabs', encode(plain.replaceAll(',', '\t'))],
    ['in UTF-16, with tabs', utf16(plain.replaceAll(',', '\t').replaceAll('\n', '\r\n'))],
    ['with times of one digit', encode(plain.replaceAll('09:00', '9:00'))],
    ['with times that have seconds', encode(plain.replace(/(\d\d:\d\d)/g, '$1:00'))],
    ['with column names in upper case', encode(plain.replace(/^.*/, (names) => names.toUpperCase()))],
    [
      'with spaces around column names',
      encode(plain.replace(/^.*/, (names) => ` ${names.replaceAll(',', ' , ')} `)),
    ],
    ['with spaces around cells', encode(plain.replace(/(hours|override|60|\d\d:\d\d|2026-12-24)/g, ' $1 '))],
    ['with quotes around all cells', encode(plain.replace(/[^,\n]+/g, '"$&"'))],
    ['with empty columns at the end', encode(plain.replaceAll('\n', ',,,\n'))],
    ['with an empty column at the end that rows leave out', encode(plain.replace('\n', ',,\n'))],
    ['with empty rows at the end', encode(`${plain},,,,,,,,\n , ,,,,,,,\n\n`)],
  ])('a table %s is read', (_, bytes) => {
    expect(schedulesOf(bytes)).toEqual(expected)
  })

  test('a table with an unnamed column, a short row, or a time with seconds is rejected', () => {
    const faultsOf = (text: string) => faultLines(() => readTables([file('l.csv', text)], stored, isZone))
    expect(faultsOf('ref,region,from,,note\non-1,CA-ON,2020-01-01,,\n')).toEqual([
      'l.csv line 1: column 4, without a name, is not one of ref, region, from, until',
      'l.csv line 1: column 5, "note", is not one of ref, region, from, until',
    ])
    expect(faultsOf('ref,region,from,until,,\non-1,CA-ON\non-1,CA-ON,2020-01-01,,,x\n')).toEqual([
      'l.csv line 2: has 2 cells, but the header row has 4',
      'l.csv line 3: has 6 cells, but the header row has 4',
    ])
    expect(faultsOf('ref,kind,weekdays,start,end\non-1,hours,monday,09:00:30,10:00\n')).toEqual([
      'l.csv line 2, start: "09:00:30" must be a time, written as HH:MM',
    ])
  })
})

function faultLines(read: () => unknown): readonly string[] {
  try {
    read()
  } catch (error) {
    if (error instanceof DirectoryInvalid) return error.lines
    throw error
  }
  return []
}

test('directory-files: tables with any texts in their cells are read back as they were written', () => {
  const cell = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'=+-@\'";,\t\r\n aé'), minLength: 1, maxLength: 6 }),
    fc.string({ minLength: 1, maxLength: 6 }).filter((text) => !text.includes('\0')),
  )
  fc.assert(
    fc.property(cell, cell, cell, fc.option(cell), (ref, firstName, lastName, bio) => {
      const directory: DirectoryFile = {
        regions: [region({ stateProvinceNameLocal: lastName })],
        providers: [provider(ref, { firstName, lastName, credentials: null, bio, minimumNoticeMinutes: 5 })],
      }
      const files = tableNames.map((table) => file(table, formatTable(table, directory)))
      const { regions, providers } = readTables(files, { ...stored, providers: [] }, isZone)
      expect(regions).toMatchObject([{ localName: lastName }])
      expect(providers).toMatchObject([{ ref, firstName, lastName, bio, minimumNoticeMinutes: 5 }])
      expect(providers[0]?.licenses).toHaveLength(1)
      expect(providers[0]?.workingHours).toHaveLength(1)
    }),
    { numRuns: 300 },
  )
})

describe('directory-files: checking tables without a database', () => {
  const check = (text: string) => checkTables([file('x.csv', text)], isZone)

  test('the check accepts references to tables that are not given', () => {
    expect(check('ref,region,from\non-7,CA-ON,2020-01-01\non-8,GB,2020-01-01\n')).toEqual({ licenses: 2 })
    expect(check(plain)).toEqual({ schedules: 2 })
    expect(
      check(
        'ref,firstName,lastName,timeZone,languagesSpoken,modalities,inPersonRegions\n' +
          'b,Bo,Bee,America/Toronto,en,in-person,CA-ON US-NY\n',
      ),
    ).toEqual({ providers: 1 })
  })

  test('the check rejects references to missing rows of a given table, and malformed region codes', () => {
    const profiles = file(
      'p.csv',
      'ref,firstName,lastName,timeZone,languagesSpoken,modalities\nb,Bo,Bee,America/Toronto,en,in-video\n',
    )
    const licenses = file('l.csv', 'ref,region,from\nb,CA-ON,2020-01-01\nc,Ontario,2020-02-30\n')
    expect(faultLines(() => checkTables([profiles, licenses], isZone))).toEqual([
      'l.csv line 3, ref: "c" is not a known provider',
    ])
    expect(faultLines(() => checkTables([licenses], isZone))).toEqual([
      'l.csv line 3, from: "2020-02-30" must be a calendar date, written as YYYY-MM-DD',
    ])
    expect(faultLines(() => check('ref,region,from\nb,ON,2020-01-01\n'))).toEqual([
      'x.csv line 2, region: "ON" is not a region of this file',
    ])
  })
})
