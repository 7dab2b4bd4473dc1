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
/** Toronto with permanent winter time, unlike the real law. */
const changed = writeTzif({ types: [-18_000], footer: 'EST5' })

const made: string[] = []
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
})

/** A folder with the given files. A text with the prefix `->` becomes a symbolic link. */
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

describe('zones: a zoneinfo folder', () => {
  test('a folder replaces built-in zones', () => {
    const zones = zonesFromFolder(folderOf({ 'America/Toronto': changed }))
    const summer = practice({
      workingHours: [daily('09:00', '09:45', { from: '2027-07-01', until: '2027-07-01' })],
    })
    expect(slotsOf(summer, '2027-06-30T00:00:00Z')).toEqual(['2027-07-01T13:00:00Z'])
    expect(slotsOf(summer, '2027-06-30T00:00:00Z', zones)).toEqual(['2027-07-01T14:00:00Z'])
  })

  test('a folder without a built-in zone does not remove the zone', () => {
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

  test('a link to a zone file defines a zone with the name of the link', () => {
    const zones = zonesFromFolder(
      folderOf({ 'America/Toronto': toronto, 'Canada/Eastern': '->../America/Toronto' }),
    )
    expect(zones.find('Canada/Eastern')).toEqual({
      ...zones.find('America/Toronto'),
      name: 'Canada/Eastern',
    } as never)
  })

  test('a folder may contain links to folders', () => {
    const zones = zonesFromFolder(folderOf({ 'versions/1/Toronto': toronto, America: '->versions/1' }))
    expect(zones.find('America/Toronto')?.name).toBe('America/Toronto')
  })

  test('a folder may contain a link to its parent folder', () => {
    const zones = zonesFromFolder(folderOf({ 'America/Toronto': toronto, 'America/back': '->..' }))
    expect(zones.find('America/Toronto')?.name).toBe('America/Toronto')
    expect(zones.names.length).toBeLessThan(builtInZones().names.length + 10)
  })

  test('other files and the folders posix/ and right/ add no zones', () => {
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

  test('a folder reports whether its edition is older than the built-in edition', () => {
    const reported = (files: Record<string, string>) => {
      const folder = folderOf({ 'America/Toronto': toronto, ...files })
      const { edition, age, folder: from, builtIn } = zonesFromFolder(folder)
      expect([from, builtIn.edition]).toEqual([folder, builtInZones().edition])
      return [edition, age]
    }
    const comment = '# This zic input file is in the public domain.\n'
    expect(reported({ 'tzdata.zi': `# version 2099z\n${comment}` })).toEqual(['2099z', 'current'])
    expect(reported({ 'tzdata.zi': `# version ${builtInZones().edition}\n` })).toEqual([
      builtInZones().edition,
      'current',
    ])
    expect(reported({ '+VERSION': '2026a\n' })).toEqual(['2026a', 'older'])
    expect(reported({ '+VERSION': 'of our own\n', 'tzdata.zi': comment })).toEqual(['unknown', 'unknown'])
    expect(reported({})).toEqual(['unknown', 'unknown'])
  })

  test('later changes of the files have no effect', () => {
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

  test('a folder without zones is rejected', () => {
    for (const folder of [folderOf({ 'zone.tab': 'CA\n' }), folderOf({})]) {
      expect(faultOf(folder)).toBe(
        `the zone folder ${folder} has no zone files: name another folder, or leave --zones out`,
      )
    }
  })

  test('a missing folder is rejected with an error that names the folder', () => {
    const folder = folderOf({ file: 'text', link: '->nowhere' })
    makeFifo(join(folder, 'fifo'))
    expect(faultOf('/nowhere/zoneinfo')).toBe(
      'the zone folder /nowhere/zoneinfo is missing: name another folder, or leave --zones out',
    )
    expect(faultOf(join(folder, 'link'))).toBe(
      `the zone folder ${folder}/link is missing: name another folder, or leave --zones out`,
    )
    expect(faultOf(join(folder, 'file'))).toBe(
      `the zone folder ${folder}/file is not a folder: name another folder, or leave --zones out`,
    )
    expect(faultOf(join(folder, 'fifo'))).toBe(
      `the zone folder ${folder}/fifo is not a folder: name another folder, or leave --zones out`,
    )
  })

  const faults: [string, Buffer | string, string][] = [
    ['empty', '', 'is empty'],
    ['text of another kind', 'not a zone', 'has no zone'],
    ['cut short in its header', toronto.subarray(0, 20), 'is cut short'],
    ['cut short in its second block', toronto.subarray(0, 100), 'is cut short'],
    ['cut short in its footer', toronto.subarray(0, toronto.length - 8), 'is cut short'],
    ['damaged in its rule', writeTzif({ types: [0], footer: 'never' }), 'is damaged'],
    [
      'of version 1',
      writeTzif({ types: [0], version: 1, footer: 'UTC0' }),
      'has format version 1, which ends in 2037',
    ],
    ['a link to nothing', '->Winnipeg', 'is a broken link'],
    ['a link to itself', '->Toronto', 'is a broken link'],
  ]
  test.each(faults)(
    'a zone file that is %s is rejected with an error that names the file',
    (_, content, fault) => {
      const folder = folderOf({ 'America/Toronto': content, UTC: writeTzif({ types: [0], footer: 'UTC0' }) })
      expect(faultOf(folder)).toBe(
        `the zone file America/Toronto ${fault}: install the zone data again, or leave --zones out`,
      )
    },
  )

  test('a folder with a named pipe is rejected at once', () => {
    for (const name of ['America/Toronto', 'tzdata.zi', '+VERSION']) {
      const folder = folderOf({ 'America/Vancouver': toronto })
      makeFifo(join(folder, name))
      expect(faultOf(folder)).toBe(
        `the zone file ${name} is not a file: install the zone data again, or leave --zones out`,
      )
    }
  })
})

const systemFolder = '/usr/share/zoneinfo'
const hasSystemZones = existsSync(join(systemFolder, 'America/Toronto'))

describe('zones: the zoneinfo folder of the host', () => {
  const title = "agrees with the built-in data on the years from 2000 to the folder's edition"
  if (!hasSystemZones) console.warn(`skipped: there is no ${systemFolder} to compare with`)

  test.skipIf(!hasSystemZones)(hasSystemZones ? title : `${title} (skipped: no ${systemFolder})`, () => {
    const folder = zonesFromFolder(systemFolder)
    const builtIn = builtInZones()
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
    if (differing.length > 0) console.warn(`edition ${folder.edition} differs: ${differing.join(', ')}`)
    expect(differing.length).toBeLessThan(shared.length / 50)
  })
})
