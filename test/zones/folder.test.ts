import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { minuteMillis } from '../../src/scheduling/calendar'
import { offsetAt } from '../../src/scheduling/time-zone'
import { zonesFromFolder } from '../../src/zones/folder'
import { builtInZones } from '../../src/zones/packed'
import { daily, practice, slotsOf } from '../scheduling/provider'
import { notNames } from './names'
import { writeTzif } from './write-tzif'

const toronto = writeTzif({ types: [-18_000], footer: 'EST5EDT,M3.2.0,M11.1.0' })
/** Toronto, had its law been changed to winter time for good. */
const changed = writeTzif({ types: [-18_000], footer: 'EST5' })

const made: string[] = []
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
})

/** A folder of files by path; a text that begins with `->` is a link to what follows. */
function folderOf(files: Record<string, Buffer | string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'anteroom-zones-'))
  made.push(folder)
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    if (typeof content === 'string' && content.startsWith('->')) symlinkSync(content.slice(2), file)
    else writeFileSync(file, content)
  }
  return folder
}

describe('a zoneinfo folder', () => {
  test("takes the place of the built-in data: a provider works by the folder's rules", () => {
    const zones = zonesFromFolder(folderOf({ 'America/Toronto': changed }))
    const summer = practice({
      workingHours: [daily('09:00', '09:45', { from: '2027-07-01', until: '2027-07-01' })],
    })
    expect(slotsOf(summer, '2027-06-30T00:00:00Z')).toEqual(['2027-07-01T13:00:00Z'])
    expect(slotsOf(summer, '2027-06-30T00:00:00Z', zones)).toEqual(['2027-07-01T14:00:00Z'])
  })

  test('has the zones that it has, and no other', () => {
    const zones = zonesFromFolder(
      folderOf({ 'America/Toronto': toronto, 'America/Argentina/Ushuaia': changed }),
    )
    expect([...zones.names].sort()).toEqual(['America/Argentina/Ushuaia', 'America/Toronto'])
    expect(zones.find('America/Argentina/Ushuaia')?.name).toBe('America/Argentina/Ushuaia')
    expect(zones.find('America/Vancouver')).toBeNull()
    for (const name of notNames) expect([name, zones.find(name)]).toEqual([name, null])
  })

  test('may hold links to files, whose name is their own', () => {
    const zones = zonesFromFolder(
      folderOf({ 'America/Toronto': toronto, 'Canada/Eastern': '->../America/Toronto' }),
    )
    expect(zones.find('Canada/Eastern')).toEqual({
      ...zones.find('America/Toronto'),
      name: 'Canada/Eastern',
    } as never)
  })

  test('may hold links to folders', () => {
    const zones = zonesFromFolder(folderOf({ 'versions/1/Toronto': toronto, America: '->versions/1' }))
    expect(zones.find('America/Toronto')?.name).toBe('America/Toronto')
  })

  test('may hold a link that leads back to where it stands', () => {
    const zones = zonesFromFolder(folderOf({ 'America/Toronto': toronto, 'America/back': '->..' }))
    expect(zones.find('America/Toronto')?.name).toBe('America/Toronto')
    expect(zones.names.length).toBeLessThan(10)
  })

  test('holds other files and the same zones over again, which are no zones', () => {
    const zones = zonesFromFolder(
      folderOf({
        'America/Toronto': toronto,
        'posix/America/Toronto': toronto,
        'right/America/Toronto': toronto,
        localtime: '->America/Toronto',
        posixrules: toronto,
        Factory: toronto,
        'tzdata.zi': '# version 2026z\n',
        'zone.tab': 'CA\t+4339-07923\tAmerica/Toronto\n',
        'leap-seconds.list': '',
      }),
    )
    expect(zones.names).toEqual(['America/Toronto'])
  })

  test('tells its edition, where it does', () => {
    const editionOf = (files: Record<string, string>) =>
      zonesFromFolder(folderOf({ 'America/Toronto': toronto, ...files })).version
    expect(
      editionOf({ 'tzdata.zi': '# version 2026z\n# This zic input file is in the public domain.\n' }),
    ).toBe('2026z')
    expect(editionOf({ '+VERSION': '2026y\n' })).toBe('2026y')
    expect(editionOf({})).toBe('unknown')
  })

  test('is read once: what is changed in it later does not show', () => {
    const folder = folderOf({ 'America/Toronto': toronto })
    const zones = zonesFromFolder(folder)
    writeFileSync(join(folder, 'America/Toronto'), changed)
    const summer = Date.UTC(2027, 6, 1) / minuteMillis
    expect(offsetAt(zones.find('America/Toronto') as never, summer)).toBe(-240)
  })

  test('without zones is refused', () => {
    expect(() => zonesFromFolder(folderOf({ 'zone.tab': 'CA\n' }))).toThrow('holds no zones')
    expect(() => zonesFromFolder(folderOf({}))).toThrow('holds no zones')
  })

  test('that is not there, or is a file, is refused by its name', () => {
    expect(() => zonesFromFolder('/nowhere/zoneinfo')).toThrow('/nowhere/zoneinfo')
    const folder = folderOf({ file: 'text' })
    expect(() => zonesFromFolder(join(folder, 'file'))).toThrow(join(folder, 'file'))
  })

  test('with a damaged zone is refused by the name of that zone', () => {
    for (const bytes of [toronto.subarray(0, 100), toronto.subarray(0, toronto.length - 8)]) {
      const folder = folderOf({ 'America/Toronto': bytes, UTC: writeTzif({ types: [0], footer: 'UTC0' }) })
      expect(() => zonesFromFolder(folder)).toThrow('America/Toronto')
    }
  })
})

const systemFolder = '/usr/share/zoneinfo'
const hasSystemZones = existsSync(join(systemFolder, 'America/Toronto'))

describe("the host's zoneinfo folder", () => {
  const title = "agrees with the built-in data on the years from 2000 to the folder's edition"
  if (!hasSystemZones) console.warn(`skipped: there is no ${systemFolder} to compare with`)

  test.skipIf(!hasSystemZones)(hasSystemZones ? title : `${title} (skipped: no ${systemFolder})`, () => {
    const folder = zonesFromFolder(systemFolder)
    const builtIn = builtInZones()
    // An edition knows of the years before it; what it says of later ones may have been overtaken since.
    const edition = Number(/^20\d\d/.exec(folder.version)?.[0] ?? 2020)
    const [from, to] = [Date.UTC(2000, 0, 1), Date.UTC(Math.min(edition, 2025), 0, 1)].map(
      (at) => at / minuteMillis,
    ) as [number, number]
    const shared = builtIn.names.filter((name) => folder.find(name) !== null)
    const differing = shared.filter((name) => {
      const [a, b] = [folder.find(name), builtIn.find(name)]
      if (!a || !b) return true
      const instants = [...a.transitions, ...b.transitions].flatMap((at) => [at - 1, at, at + 1])
      for (let at = from; at < to; at += 7 * 1_440 + 61) instants.push(at)
      return instants.some((at) => from <= at && at < to && offsetAt(a, at) + 0 !== offsetAt(b, at) + 0)
    })
    expect(shared.length).toBeGreaterThan(400)
    // Later editions mend the past of a zone now and then.
    if (differing.length > 0) console.warn(`edition ${folder.version} differs: ${differing.join(', ')}`)
    expect(differing.length).toBeLessThan(shared.length / 50)
  })
})
