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

// What the contract and the decisions say of regions, providers and their slots, said again as plainly as can be.

export const slotMillis = 45 * minuteMillis
const horizonMillis = 30 * dayMillis

type RegionInFile = DirectoryFile['regions'][number]
type Window = ProviderInFile['workingHours'][number] | { start: string; end: string; stepMinutes?: number }
export type Absence = NonNullable<ProviderInFile['timeOff']>[number]

export interface KnownRegion {
  readonly id: number
  said: RegionInFile
  active: boolean
}

export interface KnownProvider {
  readonly id: number
  said: ProviderInFile
  /** As the directory file had it. */
  active: boolean
  /** Whether staff have switched them off. */
  suspended: boolean
  /** The absences that staff have entered. */
  away: readonly Absence[]
}

export function isWorking({ active, suspended }: KnownProvider): boolean {
  return active && !suspended
}

export function absencesOf({ said: { timeOff = [] }, away }: KnownProvider): readonly Absence[] {
  return [...timeOff, ...away]
}

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

/** How directory files call a region: CA-ON, or GB for a whole country. */
export const codeOf = ({ countryCode, stateProvinceCode }: RegionInFile): string =>
  countryCode === stateProvinceCode ? countryCode : `${countryCode}-${stateProvinceCode}`

const zoneOf = ({ said }: KnownProvider): ZoneName => said.timeZone as ZoneName

/** The regions and providers that there are, and what follows from what was said of them. */
export class OracleDirectory {
  readonly regions: KnownRegion[] = []
  readonly providers: KnownProvider[] = []

  /** @param idOf the id that the service gave a provider whom it did not know before */
  load(file: DirectoryFile, idOf: (ref: string) => number): DirectoryLoad {
    const told = { added: [] as string[], changed: [] as string[], deactivated: [] as string[], unchanged: 0 }
    const note = (ref: string, known: { said: object; active: boolean } | undefined, said: object) => {
      const active = 'active' in said ? Boolean(said.active) : true
      if (!known) told.added.push(ref)
      else if (known.active && !active) told.deactivated.push(ref)
      else if (known.active === active && saySame(known.said, said)) told.unchanged++
      else told.changed.push(ref)
      return active
    }
    for (const said of file.regions) {
      const known = this.regions.find((one) => codeOf(one.said) === codeOf(said))
      const active = note(codeOf(said), known, said)
      if (known) Object.assign(known, { said, active })
      else this.regions.push({ id: said.id as number, said, active })
    }
    for (const said of file.providers) {
      const known = this.providers.find((one) => one.said.ref === said.ref)
      const active = note(said.ref, known, said)
      if (known) Object.assign(known, { said, active })
      else this.providers.push({ id: idOf(said.ref), said, active, suspended: false, away: [] })
    }
    for (const [list, refs] of [
      [this.regions, file.regions.map(codeOf)],
      [this.providers, file.providers.map(({ ref }) => ref)],
    ] as const) {
      for (const known of list) {
        const ref = 'ref' in known.said ? known.said.ref : codeOf(known.said)
        if (refs.includes(ref)) continue
        if (known.active) told.deactivated.push(ref)
        else told.unchanged++
        known.active = false
      }
    }
    return told
  }

  /** A provider by the place of their ref: p0, p1. */
  providerAt(place: number): KnownProvider | undefined {
    return this.providers.find(({ said }) => said.ref === `p${place}`)
  }

  activeRegions(country: string): KnownRegion[] {
    return this.regions
      .filter(({ said, active }) => active && said.countryCode === country)
      .sort((a, b) => (a.said.stateProvinceCode < b.said.stateProvinceCode ? -1 : 1))
  }

  /** The providers whom a search in a region lists, by id. */
  listedIn({ said: region }: KnownRegion, now: number): KnownProvider[] {
    return this.providers
      .filter((one) => isWorking(one) && isLicensed(one, codeOf(region), this.dayOf(one, now)))
      .sort((a, b) => a.id - b.id)
  }

  /**
   * The slots that a provider has to give in one region, or in any that is active, whoever holds them: ascending.
   * @param only those that start at this instant (ms)
   */
  slotsOf(provider: KnownProvider, region: KnownRegion | 'any', now: number, only?: number): number[] {
    if (!isWorking(provider)) return []
    const { minimumNoticeMinutes = 0 } = provider.said
    const absences = absencesOf(provider).map((absence) => this.periodOf(provider, absence))
    const codes = (region === 'any' ? this.regions.filter(({ active }) => active) : [region]).map(
      ({ said }) => codeOf(said),
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

  /** Minutes east of UTC of a provider's clock at an instant (ms). */
  clockOf(provider: KnownProvider, at: number): number {
    return offsetAt(zoneOf(provider), at)
  }

  /** The day that a provider's calendar shows at an instant (ms), counted from 1970-01-01. */
  dayOf(provider: KnownProvider, at: number): number {
    return Math.floor((at + this.clockOf(provider, at) * minuteMillis) / dayMillis)
  }

  /** When an absence begins and when it is over, in ms. */
  periodOf(provider: KnownProvider, { from, until }: Absence): readonly [number, number] {
    const zone = zoneOf(provider)
    if (from.endsWith('Z')) return [Date.parse(from), Date.parse(until)]
    if (!from.includes('T')) return [instantAt(zone, dayOf(from), 0), instantAt(zone, dayOf(until) + 1, 0)]
    const at = (text: string) => instantAt(zone, dayOf(text.slice(0, 10)), minutesOf(text.slice(11)))
    return [at(from), at(until)]
  }

  /** The slots of the working hours that start from one instant (ms) up to another: ascending. */
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

/** The working hours that begin on a day. */
function windowsOn({ said }: KnownProvider, day: number): readonly Window[] {
  const date = dateOf(day)
  const override = said.overrides?.find((one) => one.date === date)
  if (override) return override.windows
  // 1970-01-01 was a Thursday.
  const weekday = weekdays[(day + 4) % 7] as (typeof weekdays)[number]
  return said.workingHours.filter(
    ({ weekdays: on, from = '0000', until = '9999' }) =>
      on.includes(weekday) && from <= date && date <= until,
  )
}

/** Whether a slot lies whole inside licenses of one region: on each date that it touches. */
function isWithinLicense(provider: KnownProvider, region: string, at: number): boolean {
  const zone = zoneOf(provider)
  return [at, at + slotMillis - 1].every((moment) => isLicensed(provider, region, dayAt(zone, moment)))
}

function isLicensed({ said }: KnownProvider, region: string, day: number): boolean {
  const date = dateOf(day)
  return said.licenses.some(
    (license) => license.region === region && license.from <= date && date <= (license.until ?? '9999'),
  )
}

function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
}

/** Whether two entries of directory files say the same of all but whether it is active. */
function saySame(one: object, other: object): boolean {
  return Bun.deepEquals({ ...one, active: null }, { ...other, active: null })
}
