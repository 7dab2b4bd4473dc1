import { describe, expect, test } from 'bun:test'
import { readDirectoryFile } from '../../src/directory-files/document'
import { DirectoryInvalid } from '../../src/directory-files/faults'
import { readTables } from '../../src/directory-files/tables'
import { provider, region } from '../support/builders'

const stored = { regions: [region()], providers: [provider('on-1')], unreadable: new Set() }

function refusalOf(read: () => unknown): DirectoryInvalid {
  try {
    read()
  } catch (error) {
    if (error instanceof DirectoryInvalid) return error
    throw error
  }
  throw new Error('nothing was refused')
}

const tableRefusal = (text: string) =>
  refusalOf(() => readTables([{ name: 'l.csv', bytes: new TextEncoder().encode(text) }], stored, () => true))
const fileRefusal = (...providers: unknown[]) =>
  refusalOf(() => readDirectoryFile({ regions: [region()], providers }, (name) => name === 'America/Toronto'))

describe('directory-files: the faults of a directory', () => {
  test('many faults of one kind in one column are printed on one line', () => {
    const rows = Array.from({ length: 159 }, (_, index) => `on-1,CA-ON,4/${index + 1}/2012,2030-01-01\n`)
    const mangled = tableRefusal(`ref,region,from,until\n${rows.join('')}nobody,CA-ON,2012-01-04,\n`)
    expect(mangled.lines).toEqual([
      'l.csv, from: 159 rows, first line 2: "4/1/2012" must be a calendar date, written as YYYY-MM-DD',
      'l.csv line 161, ref: "nobody" is not a known provider',
    ])
    expect(mangled.faults).toHaveLength(160)
    expect(mangled.faults[158]).toMatchObject({ path: 'l.csv line 160, from', value: '4/159/2012' })
  })

  test('three faults of one kind are printed one by one', () => {
    const rows = ['x', 'y', 'z'].map((from) => `on-1,CA-ON,${from}\n`)
    expect(tableRefusal(`ref,region,from\n${rows.join('')}`).lines).toEqual([
      'l.csv line 2, from: "x" must be a calendar date, written as YYYY-MM-DD',
      'l.csv line 3, from: "y" must be a calendar date, written as YYYY-MM-DD',
      'l.csv line 4, from: "z" must be a calendar date, written as YYYY-MM-DD',
    ])
  })

  test('many faults of one kind in a JSON file are printed on one line', () => {
    const many = Array.from({ length: 4 }, (_, index) =>
      provider(`p-${index}`, {
        timeZone: 'Mars/One',
        licenses: [
          { region: 'CA-ON', from: '2020-01-01' },
          { region: 'CA-ON', from: '1/4/2012' },
        ],
      }),
    )
    expect(fileRefusal(provider('first'), ...many).lines).toEqual([
      'providers[].licenses[].from: 4 entries, first providers[1].licenses[1]: ' +
        '"1/4/2012" must be a calendar date, written as YYYY-MM-DD',
      'providers[].timeZone: 4 entries, first providers[1]: "Mars/One" must be an IANA time zone',
    ])
  })

  test('a fault shows the rejected value shortened and on one line, but hides the value of an unknown field', () => {
    const shown = fileRefusal({
      ...provider('first\n\u001b[31m'),
      timeZone: 'x'.repeat(100),
      credentials: { a: 1 },
      bio: 5,
      password: 'secret',
      languagesSpoken: ['e\nn\u0007'],
    })
    expect(shown.lines).toEqual([
      'providers[0].password: is not a known field',
      'providers[0].credentials: {"a":1} must be a string',
      'providers[0].bio: 5 must be a string',
      'providers[0].languagesSpoken[0]: "e\\nn\\u0007" must be a well-formed BCP 47 language tag',
      `providers[0].timeZone: "${'x'.repeat(59)}…" must be an IANA time zone`,
    ])
  })
})
