import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Refusal } from '../../src/domain/errors'
import { minuteMillis } from '../../src/scheduling/calendar'
import { offsetAt } from '../../src/scheduling/time-zone'
import { zonesFromFolder } from '../../src/zones/folder'
import { builtInZones } from '../../src/zones/packed'
import { daily, practice, slotsOf } from '../scheduling/provider'
import { makeFifo } from '../support/fifo'
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

  test('has its own zones, and those that it lacks from the built-in data', () => {
    const zones = zonesFromFolder(
      folderOf({ 'America/Toronto': toronto, 'America/Argentina/Ushuaia': changed, 'Mars/Olympus': changed }),
    )
    expect(zones.find('America/Argentina/Ushuaia')).toEqual({
      name: 'America/Argentina/Ushuaia',
      transitions: [],
      offsets: [-300],
    })
    expect(zones.find('America/Vancouver')).toEqual(builtInZones().find('America/Vancouver'))
    expect([...zones.names].sort()).toEqual([...builtInZones().names, 'Mars/Olympus'].sort())
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
    expect(zones.names.length).toBeLessThan(builtInZones().names.length + 10)
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
    expect(zones.names).toEqual(builtInZones().names)
  })

  test('tells its edition, where it does, and how that stands to the built-in one', () => {
    const told = (files: Record<string, string>) => {
      const folder = folderOf({ 'America/Toronto': toronto, ...files })
      const { edition, age, folder: from, builtIn } = zonesFromFolder(folder)
      expect([from, builtIn.edition]).toEqual([folder, builtInZones().edition])
      return [edition, age]
    }
    const comment = '# This zic input file is in the public domain.\n'
    expect(told({ 'tzdata.zi': `# version 2099z\n${comment}` })).toEqual(['2099z', 'current'])
    expect(told({ 'tzdata.zi': `# version ${builtInZones().edition}\n` })).toEqual([
      builtInZones().edition,
      'current',
    ])
    expect(told({ '+VERSION': '2026a\n' })).toEqual(['2026a', 'older'])
    expect(told({ '+VERSION': 'of our own\n', 'tzdata.zi': comment })).toEqual(['unknown', 'unknown'])
    expect(told({})).toEqual(['unknown', 'unknown'])
  })

  test('is read once: what is changed in it later does not show', () => {
    const folder = folderOf({ 'America/Toronto': toronto })
    const zones = zonesFromFolder(folder)
    writeFileSync(join(folder, 'America/Toronto'), changed)
    const summer = Date.UTC(2027, 6, 1) / minuteMillis
    expect(offsetAt(zones.find('America/Toronto') as never, summer)).toBe(-240)
  })

  const faultOf = (folder: string) => {
    try {
      zonesFromFolder(folder)
    } catch (error) {
      if (error instanceof Refusal && error.kind === 'settings_invalid') return error.message
      throw error
    }
    return null
  }

  test('without zones is refused', () => {
    for (const folder of [folderOf({ 'zone.tab': 'CA\n' }), folderOf({})]) {
      expect(faultOf(folder)).toBe(`the zone folder ${folder} holds no zones`)
    }
  })

  test('that is not there, or is something else, is refused by its name', () => {
    const folder = folderOf({ file: 'text', link: '->nowhere' })
    makeFifo(join(folder, 'fifo'))
    expect(faultOf('/nowhere/zoneinfo')).toBe('the zone folder /nowhere/zoneinfo is missing')
    expect(faultOf(join(folder, 'link'))).toBe(`the zone folder ${folder}/link is missing`)
    expect(faultOf(join(folder, 'file'))).toBe(`the zone folder ${folder}/file is not a folder`)
    expect(faultOf(join(folder, 'fifo'))).toBe(`the zone folder ${folder}/fifo is not a folder`)
  })

  const faults: [string, Buffer | string, string][] = [
    ['empty', '', 'is empty'],
    ['other text', 'not a zone', 'holds no zone'],
    ['cut short in its header', toronto.subarray(0, 20), 'is cut short'],
    ['cut short in its second block', toronto.subarray(0, 100), 'is cut short'],
    ['cut short in its footer', toronto.subarray(0, toronto.length - 8), 'is cut short'],
    ['of a rule that is none', writeTzif({ types: [0], footer: 'never' }), 'is damaged'],
    [
      'of version 1',
      writeTzif({ types: [0], version: 1, footer: 'UTC0' }),
      'is of version 1, which ends in 2037',
    ],
    ['a link to nothing', '->Winnipeg', 'is a link that leads nowhere'],
    ['a link to itself', '->Toronto', 'is a link that leads nowhere'],
  ]
  test.each(faults)('with a zone file that is %s is refused by the name of the file', (_, content, fault) => {
    const folder = folderOf({ 'America/Toronto': content, UTC: writeTzif({ types: [0], footer: 'UTC0' }) })
    expect(faultOf(folder)).toBe(`the zone file America/Toronto ${fault}`)
  })

  test('with a pipe among its files is refused, and nobody waits for what may come through it', () => {
    for (const name of ['America/Toronto', 'tzdata.zi', '+VERSION']) {
      const folder = folderOf({ 'America/Vancouver': toronto })
      makeFifo(join(folder, name))
      expect(faultOf(folder)).toBe(`the zone file ${name} is not a file`)
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
    const edition = Number(/^20\d\d/.exec(folder.edition)?.[0] ?? 2020)
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
    if (differing.length > 0) console.warn(`edition ${folder.edition} differs: ${differing.join(', ')}`)
    expect(differing.length).toBeLessThan(shared.length / 50)
  })
})
