import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { DirectoryFile } from '../../src/directory-files/document'
import { DirectoryInvalid } from '../../src/directory-files/faults'
import { tableNames } from '../../src/directory-files/table-rows'
import { formatTable } from '../../src/directory-files/tables'
import {
  compareWithDirectory,
  exportDirectory,
  loadCompared,
  loadDirectory,
  readDirectoryTables,
} from '../../src/operations/directory-loads'
import { countryWide, provider, region } from '../support/builders'
import { startService, type TestService } from '../support/service'

const awkward: DirectoryFile = {
  regions: [
    region(),
    countryWide('IE', 'Éire, "the Republic"'),
    region({ stateProvinceCode: 'QC', active: false }),
  ],
  providers: [
    provider('a, 1', {
      credentials: ' =1+1 ',
      bio: 'one\r\ntwo\nthree\rfour "five"',
      languagesSpoken: ['en-CA', 'fr'],
      inPersonRegions: ['IE', 'CA-ON'],
      licenses: [
        { region: 'IE', from: '2020-01-01', until: '2027-01-01' },
        { region: 'CA-ON', from: '2019-01-01' },
      ],
      workingHours: [
        {
          weekdays: ['wednesday', 'monday'],
          start: '22:00',
          end: '02:00',
          stepMinutes: 45,
          until: '2027-01-01',
        },
        { weekdays: ['sunday'], start: '00:00', end: '24:00', from: '2026-01-01' },
      ],
      overrides: [
        { date: '2026-12-25', windows: [] },
        {
          date: '2026-12-24',
          windows: [
            { start: '13:00', end: '14:00' },
            { start: '09:00', end: '10:00', stepMinutes: 60 },
          ],
        },
      ],
      timeOff: [
        { from: '2026-12-01', until: '2026-12-01' },
        { from: '2026-12-02T10:00', until: '2026-12-02T11:00' },
        { from: '2026-12-03T10:00:00Z', until: '2026-12-03T11:00:00Z' },
      ],
      minimumNoticeMinutes: 90,
    }),
    provider('ünlicensed', { licenses: [], workingHours: [], pronouns: '', gender: null, active: false }),
  ],
}

let service: TestService
beforeAll(async () => {
  service = await startService({ directory: awkward, listens: false })
})
afterAll(() => service.stop())

const bytesOf = (text: string) => new TextEncoder().encode(text)
const file = (name: string, text: string) => ({ name, bytes: bytesOf(text) })
const load = (...files: { name: string; bytes: Uint8Array }[]) =>
  loadCompared(
    service.context,
    compareWithDirectory(service.context, readDirectoryTables(service.context, files)),
    service.act(),
  )

function faultsOf(...files: { name: string; bytes: Uint8Array }[]): string[] {
  try {
    readDirectoryTables(service.context, files)
  } catch (error) {
    if (error instanceof DirectoryInvalid) return error.message.split('\n')
    throw error
  }
  return []
}

test('directory-files: loading an exported directory again, as JSON or CSV, changes nothing', async () => {
  const exported = exportDirectory(service.context)
  expect(await loadDirectory(service.context, exported, service.act())).toMatchObject({
    added: [],
    changed: [],
    deactivated: [],
  })
  const files = tableNames.map((table) => file(`${table}.csv`, formatTable(table, exported)))
  expect(await load(...files)).toEqual({ added: [], changed: [], deactivated: [], unchanged: 5 })
})

test('directory-files: CSV rows end in CR LF, and cells are quoted only if necessary', () => {
  expect(formatTable('licenses', exportDirectory(service.context))).toBe(
    'ref,region,from,until\r\n"a, 1",IE,2020-01-01,2027-01-01\r\n"a, 1",CA-ON,2019-01-01,\r\n',
  )
})

test('directory-files: tables that are not loaded do not change', () => {
  const before = exportDirectory(service.context)
  const { providers, regions } = readDirectoryTables(service.context, [
    file('l.csv', 'until,ref,region,from\n,ünlicensed,CA-ON,2024-01-01\n'),
  ])
  expect(regions).toHaveLength(3)
  expect(providers.map(({ ref, licenses }) => [ref, licenses])).toEqual([
    ['a, 1', []],
    ['ünlicensed', [{ region: 'CA-ON', from: '2024-01-01', until: null }]],
  ])
  expect(providers[0]?.overrides).toEqual(before.providers[0]?.overrides ?? [])
  expect(providers[0]?.bio).toBe('one\r\ntwo\nthree\rfour "five"')
})

test('directory-files: a table may have a byte order mark, LF line ends, blank lines, empty rows and upper-case TRUE', () => {
  const text =
    '\ufeffref,firstName,lastName,timeZone,languagesSpoken,modalities,active\n\n,,,,,,\n' +
    'b,Bo,Bee,Europe/Dublin,en; fr-CA,in-video,TRUE\n'
  const { providers } = readDirectoryTables(service.context, [file('p.csv', text)])
  expect(providers).toHaveLength(1)
  expect(providers[0]).toMatchObject({ ref: 'b', languagesSpoken: ['en', 'fr-CA'], active: true, bio: null })
})

test('directory-files: each fault names its file, line and column, even after cells with line breaks', () => {
  const providers =
    'ref,firstName,lastName,timeZone,languagesSpoken,modalities,bio,minimumNoticeMinutes\r\n' +
    'b,Bo,Bee,Europe/Dublin,en,in-video,"one\r\ntwo\nthree",\r\n' +
    '\r\n' +
    'c,,Cee,Europe/Dublin,en_,video,,1.5\r\n'
  const licenses = 'ref,region,from,until\nb,CA-ON,2026-02-30,\nnobody,CA-ON,2026-02-03,\nb,CA-ON\n'
  expect(faultsOf(file('p.csv', providers), file('l.csv', licenses))).toEqual([
    'l.csv line 2, from: "2026-02-30" must be a calendar date, written as YYYY-MM-DD',
    'l.csv line 3, ref: "nobody" is not a known provider',
    'l.csv line 4: has 2 cells, but the header row has 4',
    'p.csv line 6, firstName: is required',
    'p.csv line 6, languagesSpoken: "en_" must be a well-formed BCP 47 language tag',
    'p.csv line 6, modalities: "video" must be one of in-person, telephonic, in-video',
    'p.csv line 6, minimumNoticeMinutes: "1.5" must be an integer',
  ])
})

test('directory-files: faults that involve several cells or rows also name their lines', () => {
  const schedules =
    'ref,kind,weekdays,date,start,end,stepMinutes,from,until\n' +
    '"a, 1",hours,monday,,09:00,09:00,,,\n' +
    '"a, 1",override,,2026-12-01,09:00,10:00,,,\n' +
    '"a, 1",override,,2026-12-01,24:00,11:00,,,\n' +
    '"a, 1",time-off,,,,,,2026-12-02,2026-12-01\n'
  expect(faultsOf(file('s.csv', schedules))).toEqual([
    's.csv line 2, end: "09:00" must not equal start',
    's.csv line 4, start: "24:00" must be before 24:00',
    's.csv line 5, until: "2026-12-01" must be after from',
  ])
})

test('directory-files: invalid cells do not hide faults that involve several cells', () => {
  const providers =
    'ref,firstName,lastName,timeZone,languagesSpoken,modalities,minimumNoticeMinutes\n' +
    'b,Bo,Bee,Mars/One,en,in-video,soon\n'
  const schedules =
    'ref,kind,weekdays,date,start,end,stepMinutes,from,until\n' +
    'b,hours,monday,,9 am,10:00,,,\n' +
    'b,time-off,,,,,,2026-12-02,2026-12-01\n'
  expect(faultsOf(file('p.csv', providers), file('s.csv', schedules))).toEqual([
    'p.csv line 2, minimumNoticeMinutes: "soon" must be an integer',
    'p.csv line 2, timeZone: "Mars/One" must be an IANA time zone',
    's.csv line 2, start: "9 am" must be a time, written as HH:MM',
    's.csv line 3, until: "2026-12-01" must be after from',
  ])
})

test('directory-files: a schedule row may fill only the cells that belong to its kind', () => {
  const schedules =
    'ref,kind,weekdays,date,start,end,stepMinutes,from,until\n' +
    '"a, 1",lunch,,,,,,,\n' +
    '"a, 1",constructor,,,,,,,\n' +
    '"a, 1",time-off,monday,,,,,2026-12-01,2026-12-01\n' +
    '"a, 1",override,,2026-12-01,,,,,\n' +
    '"a, 1",override,,2026-12-01,09:00,10:00,,,\n'
  expect(faultsOf(file('s.csv', schedules))).toEqual([
    's.csv line 2, kind: "lunch" must be one of hours, override, time-off',
    's.csv line 3, kind: "constructor" must be one of hours, override, time-off',
    's.csv line 4, weekdays: ["monday"] must be empty if the kind is time-off',
    's.csv line 6, date: "2026-12-01": a row without start and end must be the only row of the provider with this date',
  ])
})

test('directory-files: a missing region is reported with each stored provider that refers to it', () => {
  const regions =
    'countryCode,stateProvinceCode,stateProvinceNameLocal,stateProvinceLabel\nCA,ON,Ontario,Province\n'
  expect(faultsOf(file('r.csv', regions))).toEqual([
    'provider a, 1 as stored, licenses[0].region: "IE" is not a region of this file',
    'provider a, 1 as stored, inPersonRegions[1]: "IE" is not a region of this file',
  ])
})

test.each([
  ['', 'x.csv: is empty: a header row is required'],
  [
    'one,two\n',
    'x.csv line 1: the header row matches no table: it must have the columns of one of regions, providers, licenses, schedules',
  ],
  [
    'ref,region,from,form,from\n',
    'x.csv line 1: column 4, "form", is not one of ref, region, from, until\nx.csv line 1: the header row has the column from twice',
  ],
  ['ref,region\n', 'x.csv line 1: the header row lacks the column from of licenses'],
  ['ref,region,from\n\n"a","b\n\n', 'x.csv line 3: the row that begins here has a quote that is not closed'],
  ['ref,region,from\na,"b"c,d\n', 'x.csv line 2: this row has a quote inside a quoted cell: double it'],
])('directory-files: a file that is not a table is rejected: %j', (text, fault) => {
  expect(faultsOf(file('x.csv', text)).join('\n')).toBe(fault)
})

test('directory-files: a file that is not UTF-8 is rejected, and so are two files of one table', () => {
  expect(faultsOf({ name: 'x.csv', bytes: new Uint8Array([0x61, 0xff]) })).toEqual([
    'x.csv line 1: the file is not valid UTF-8: save it as CSV UTF-8',
  ])
  expect(faultsOf({ name: 'x.txt', bytes: new Uint8Array([0xff, 0xfe, 0x61]) })).toEqual([
    'x.txt line 1: the file is not valid UTF-16: save it as CSV UTF-8',
  ])
  const licenses = 'ref,region,from,until\n'
  expect(faultsOf(file('1.csv', licenses), file('2.csv', licenses))).toEqual([
    '2.csv: another file also has the licenses: give only one of them',
  ])
})
