import { describe, expect, test } from 'bun:test'
import { type DirectoryFile, readDirectoryFile } from '../../src/directory-files/document'
import { builtInDirectory, withGenerated } from '../../src/directory-files/sandbox'
import { formatDate, parseDate, parseTimeOfDay } from '../../src/scheduling/calendar'
import { builtInZones } from '../../src/zones/packed'

const zones = builtInZones()
const isZone = (name: string) => zones.find(name) !== null
const dayOf = (date: string) => parseDate(date) as number

type Provider = DirectoryFile['providers'][number]

const territories = ['NT', 'NU', 'YT']
const provinces = ['AB', 'BC', 'MB', 'NB', 'NL', 'NS', 'ON', 'PE', 'QC', 'SK']
const states =
  'AK AL AR AZ CA CO CT DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM NV NY OH OK OR PA RI SC SD TN TX UT VA VT WA WI WV WY'.split(
    ' ',
  )

describe.each(['2000-01-02', '2024-02-29', '2026-01-05', '2026-11-21', '2036-12-31'])(
  'directory-files: the built-in directory on %s',
  (date) => {
    const today = dayOf(date)
    const directory = builtInDirectory(today)
    const { regions, providers } = directory
    const active = providers.filter((provider) => provider.active !== false)
    const isHeld = (license: Provider['licenses'][number]) =>
      license.from <= date && (!license.until || license.until >= date)
    const licensedIn = (region: string) =>
      active.filter(({ licenses }) =>
        licenses.some((license) => license.region === region && isHeld(license)),
      )
    const some = (what: (provider: Provider) => boolean) => active.filter(what).length

    test('is a valid directory file', () => {
      const read = readDirectoryFile(directory, isZone)
      expect(read.regions.length).toBe(regions.length)
      expect(read.providers.length).toBe(providers.length)
    })

    test('has the provinces and territories of Canada', () => {
      const found = regions.filter(({ countryCode }) => countryCode === 'CA')
      const labels = Object.fromEntries(
        found.map((region) => [region.stateProvinceCode, region.stateProvinceLabel]),
      )
      expect(labels).toEqual({
        ...Object.fromEntries(provinces.map((code) => [code, 'Province'])),
        ...Object.fromEntries(territories.map((code) => [code, 'Territory'])),
      })
      expect(found.find(({ stateProvinceCode }) => stateProvinceCode === 'QC')?.stateProvinceNameLocal).toBe(
        'Québec',
      )
    })

    test('has the states of the United States and the District of Columbia', () => {
      const found = regions.filter(({ countryCode }) => countryCode === 'US')
      const labels = Object.fromEntries(
        found.map((region) => [region.stateProvinceCode, region.stateProvinceLabel]),
      )
      expect(states).toHaveLength(50)
      expect(labels).toEqual({ ...Object.fromEntries(states.map((code) => [code, 'State'])), DC: 'District' })
      expect(new Set(found.map((region) => region.stateProvinceNameLocal)).size).toBe(51)
    })

    test.each(['GB', 'IE', 'NZ'])('has %s as a single country-wide region with providers', (country) => {
      const found = regions.filter(({ countryCode }) => countryCode === country)
      expect(found.map((region) => [region.stateProvinceCode, region.stateProvinceLabel])).toEqual([
        [country, 'Country'],
      ])
      expect(licensedIn(country).length).toBeGreaterThan(0)
    })

    test('has at least 80 active providers, and at least 25 in Ontario', () => {
      expect(active.length).toBeGreaterThanOrEqual(80)
      expect(licensedIn('CA-ON').length).toBeGreaterThanOrEqual(25)
      expect(providers.length).toBeGreaterThan(active.length)
    })

    test('has providers in at least ten time zones, from St. John’s to Auckland', () => {
      const used = new Set(active.map(({ timeZone }) => timeZone))
      for (const zone of ['America/St_Johns', 'America/Vancouver', 'America/Toronto', 'Pacific/Auckland']) {
        expect(used, zone).toContain(zone)
      }
      expect(used.size).toBeGreaterThanOrEqual(10)
    })

    test('has language tags with and without regions, and every modality', () => {
      const spoken = new Set(active.flatMap(({ languagesSpoken }) => languagesSpoken))
      const isRegional = (tag: string) => /-[A-Z]{2}$/.test(tag)
      expect([...spoken].filter(isRegional).length).toBeGreaterThanOrEqual(3)
      expect([...spoken].filter((tag) => !isRegional(tag)).length).toBeGreaterThanOrEqual(3)
      for (const modality of ['in-person', 'telephonic', 'in-video'] as const) {
        expect(some(({ modalities }) => modalities.includes(modality))).toBeGreaterThan(0)
        expect(some(({ modalities }) => !modalities.includes(modality))).toBeGreaterThan(0)
      }
      expect(some(({ inPersonRegions = [] }) => inPersonRegions.length > 0)).toBeGreaterThan(0)
    })

    test('has licenses that have ended, licenses that start later and licenses that end within 30 days', () => {
      const soon = formatDate(today + 29)
      const has = (what: (license: Provider['licenses'][number]) => boolean) =>
        some(({ licenses }) => licenses.some(what))
      expect(has(({ until }) => Boolean(until && until < date))).toBeGreaterThan(0)
      expect(has(({ from }) => from > date)).toBeGreaterThan(0)
      expect(
        has(({ from, until }) => from <= date && Boolean(until && until >= date && until <= soon)),
      ).toBeGreaterThan(0)
    })

    test('has lunch breaks, evenings, nights, overrides and time off', () => {
      const minute = (time: string) => parseTimeOfDay(time) as number
      const hours = (what: (hours: Provider['workingHours']) => boolean) =>
        some(({ workingHours }) => what(workingHours))
      const lunch = hours((windows) =>
        windows.some((one) =>
          windows.some(
            (other) =>
              one.weekdays.some((day) => other.weekdays.includes(day)) &&
              minute(other.start) > minute(one.end) &&
              minute(other.start) <= minute(one.end) + 90 &&
              minute(one.end) >= 11 * 60,
          ),
        ),
      )
      expect(lunch).toBeGreaterThan(0)
      expect(hours((windows) => windows.some(({ start }) => minute(start) >= 17 * 60))).toBeGreaterThan(0)
      expect(
        hours((windows) => windows.some(({ start, end }) => minute(end) < minute(start))),
      ).toBeGreaterThan(0)
      expect(
        some(({ overrides = [] }) => overrides.some(({ windows }) => windows.length === 0)),
      ).toBeGreaterThan(0)
      expect(
        some(({ overrides = [] }) => overrides.some(({ windows }) => windows.length > 0)),
      ).toBeGreaterThan(0)
      const horizon = formatDate(today + 30)
      const ahead = (text: string) => text.slice(0, 10) >= date && text.slice(0, 10) <= horizon
      expect(
        some(({ timeOff = [] }) => timeOff.some(({ from, until }) => ahead(from) || ahead(until))),
      ).toBeGreaterThan(0)
      expect(
        some(({ overrides = [] }) => overrides.some((override) => ahead(override.date))),
      ).toBeGreaterThan(0)
    })
  },
)

describe('directory-files: generated providers', () => {
  const directory = builtInDirectory(dayOf('2026-11-21'))
  const generate = (from: DirectoryFile, count: number) => withGenerated(from, count) as DirectoryFile

  test('are the same each time, come after the built-in providers and are valid', () => {
    const once = generate(directory, 250)
    expect(generate(builtInDirectory(dayOf('2026-11-21')), 250)).toEqual(once)
    expect(once.regions).toEqual(directory.regions)
    expect(once.providers.slice(0, directory.providers.length)).toEqual(directory.providers)
    expect(once.providers.length).toBe(directory.providers.length + 250)
    expect(new Set(once.providers.map(({ ref }) => ref)).size).toBe(once.providers.length)
    expect(readDirectoryFile(once, isZone).providers.length).toBe(once.providers.length)
  })

  test('do not depend on how many providers are requested', () => {
    const few = generate(directory, 10)
    expect(generate(directory, 100).providers.slice(0, few.providers.length)).toEqual(few.providers)
  })

  test('are not added if 0 are requested', () => {
    expect(generate(directory, 0)).toEqual(directory)
  })
})
