import type { DirectoryFile, ProviderInFile } from '../../src/directory-files/document'
import type { DirectoryLoad } from '../../src/domain/decisions/compare-directory'
import {
  dateOf,
  dayAt,
  dayMillis,
  dayOf,
  instantAt,
  minuteMillis,
  offsetAt,
  type ZoneName,
} from './wall-clock'

// A simple model of regions, providers and slots, written from the contract and the decisions.

export const slotMillis = 45 * minuteMillis
const horizonMillis = 30 * dayMillis

type RegionInFile = DirectoryFile['regions'][number]
type Window = ProviderInFile['workingHours'][number] | { start: string; end: string; stepMinutes?: number }
export type Absence = NonNullable<ProviderInFile['timeOff']>[number]

export interface KnownRegion {
  readonly id: number
  entry: RegionInFile
  active: boolean
}

export interface KnownProvider {
  readonly id: number
  entry: ProviderInFile
  /** The value of `active` in the directory file. */
  active: boolean
  /** True if staff deactivated the provider. */
  suspended: boolean
  away: readonly Absence[]
}

export function isWorking({ active, suspended }: KnownProvider): boolean {
  return active && !suspended
}

export function absencesOf({ entry: { timeOff = [] }, away }: KnownProvider): readonly Absence[] {
  return [...timeOff, ...away]
}

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

/** The region's reference in directory files: CA-ON, or GB for a whole country. */
export const codeOf = ({ countryCode, stateProvinceCode }: RegionInFile): string =>
  countryCode === stateProvinceCode ? countryCode : `${countryCode}-${stateProvinceCode}`

const zoneOf = ({ entry }: KnownProvider): ZoneName => entry.timeZone as ZoneName

export class OracleDirectory {
  readonly regions: KnownRegion[] = []
  readonly providers: KnownProvider[] = []

  load(file: DirectoryFile, idOf: (ref: string) => number): DirectoryLoad {
    const result = {
      added: [] as string[],
      changed: [] as string[],
      deactivated: [] as string[],
      unchanged: 0,
    }
    const note = (ref: string, known: { entry: object; active: boolean } | undefined, entry: object) => {
      const active = 'active' in entry ? Boolean(entry.active) : true
      if (!known) result.added.push(ref)
      else if (known.active && !active) result.deactivated.push(ref)
      else if (known.active === active && areEqual(known.entry, entry)) result.unchanged++
      else result.changed.push(ref)
      return active
    }
    for (const entry of file.regions) {
      const known = this.regions.find((one) => codeOf(one.entry) === codeOf(entry))
      const active = note(codeOf(entry), known, entry)
      if (known) Object.assign(known, { entry, active })
      else this.regions.push({ id: entry.id as number, entry, active })
    }
    for (const entry of file.providers) {
      const known = this.providers.find((one) => one.entry.ref === entry.ref)
      const active = note(entry.ref, known, entry)
      if (known) Object.assign(known, { entry, active })
      else this.providers.push({ id: idOf(entry.ref), entry, active, suspended: false, away: [] })
    }
    for (const [list, refs] of [
      [this.regions, file.regions.map(codeOf)],
      [this.providers, file.providers.map(({ ref }) => ref)],
    ] as const) {
      for (const known of list) {
        const ref = 'ref' in known.entry ? known.entry.ref : codeOf(known.entry)
        if (refs.includes(ref)) continue
        if (known.active) result.deactivated.push(ref)
        else result.unchanged++
        known.active = false
      }
    }
    return result
  }

  providerAt(place: number): KnownProvider | undefined {
    return this.providers.find(({ entry }) => entry.ref === `p${place}`)
  }

  activeRegions(country: string): KnownRegion[] {
    return this.regions
      .filter(({ entry, active }) => active && entry.countryCode === country)
      .sort((a, b) => (a.entry.stateProvinceCode < b.entry.stateProvinceCode ? -1 : 1))
  }

  listedIn({ entry: region }: KnownRegion, now: number): KnownProvider[] {
    return this.providers
      .filter((one) => isWorking(one) && isLicensed(one, codeOf(region), this.dayOf(one, now)))
      .sort((a, b) => a.id - b.id)
  }

  /**
   * Returns the starts (ms) of a provider's slots, ascending. Booked slots are included.
   * @param region `any` stands for all active regions
   * @param only the start (ms) of the only slot to return
   */
  slotsOf(provider: KnownProvider, region: KnownRegion | 'any', now: number, only?: number): number[] {
    if (!isWorking(provider)) return []
    const { minimumNoticeMinutes = 0 } = provider.entry
    const absences = absencesOf(provider).map((absence) => this.periodOf(provider, absence))
    const codes = (region === 'any' ? this.regions.filter(({ active }) => active) : [region]).map(
      ({ entry }) => codeOf(entry),
    )
    const horizon = now + horizonMillis
    const [from, until] = only === undefined ? [now, horizon] : [only, Math.min(only + 1, horizon)]
    return this.gridOf(provider, from, until).filter(
      (at) =>
        at >= now + minimumNoticeMinutes * minuteMillis &&
        !absences.some(([from, until]) => at < until && from < at + slotMillis) &&
        codes.some((code) => isWithinLicense(provider, code, at)),
    )
  }

  /** The UTC offset of a provider's clock at an instant (ms), in minutes. */
  clockOf(provider: KnownProvider, at: number): number {
    return offsetAt(zoneOf(provider), at)
  }

  /** The local date of a provider at an instant (ms), in days since 1970-01-01. */
  dayOf(provider: KnownProvider, at: number): number {
    return Math.floor((at + this.clockOf(provider, at) * minuteMillis) / dayMillis)
  }

  /** The start and end of an absence, in ms. */
  periodOf(provider: KnownProvider, { from, until }: Absence): readonly [number, number] {
    const zone = zoneOf(provider)
    if (from.endsWith('Z')) return [Date.parse(from), Date.parse(until)]
    if (!from.includes('T')) return [instantAt(zone, dayOf(from), 0), instantAt(zone, dayOf(until) + 1, 0)]
    const at = (text: string) => instantAt(zone, dayOf(text.slice(0, 10)), minutesOf(text.slice(11)))
    return [at(from), at(until)]
  }

  gridOf(provider: KnownProvider, from: number, until: number): number[] {
    const zone = zoneOf(provider)
    const starts: number[] = []
    for (let day = dayAt(zone, from) - 1; day <= dayAt(zone, until); day++) {
      for (const { start, end, stepMinutes = 45 } of windowsOn(provider, day)) {
        const endsNextDay = minutesOf(end) <= minutesOf(start)
        const closes = instantAt(zone, endsNextDay ? day + 1 : day, minutesOf(end))
        let at = instantAt(zone, day, minutesOf(start))
        for (; at + slotMillis <= closes; at += stepMinutes * minuteMillis) starts.push(at)
      }
    }
    return starts.filter((at) => from <= at && at < until).sort((a, b) => a - b)
  }
}

function windowsOn({ entry }: KnownProvider, day: number): readonly Window[] {
  const date = dateOf(day)
  const override = entry.overrides?.find((one) => one.date === date)
  if (override) return override.windows
  // 1970-01-01 was a Thursday.
  const weekday = weekdays[(day + 4) % 7] as (typeof weekdays)[number]
  return entry.workingHours.filter(
    ({ weekdays: on, from = '0000', until = '9999' }) =>
      on.includes(weekday) && from <= date && date <= until,
  )
}

/** Returns true if licenses of the region cover every date that the slot touches. */
function isWithinLicense(provider: KnownProvider, region: string, at: number): boolean {
  const zone = zoneOf(provider)
  return [at, at + slotMillis - 1].every((moment) => isLicensed(provider, region, dayAt(zone, moment)))
}

function isLicensed({ entry }: KnownProvider, region: string, day: number): boolean {
  const date = dateOf(day)
  return entry.licenses.some(
    (license) => license.region === region && license.from <= date && date <= (license.until ?? '9999'),
  )
}

function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
}

/** Compares two entries without their `active` field. */
function areEqual(one: object, other: object): boolean {
  return Bun.deepEquals({ ...one, active: null }, { ...other, active: null })
}
