import moment from 'moment-timezone'
import { absentAt, type Clock, slotsWithin, watchClock } from '../scheduling/oracle'
import {
  type Absence,
  absencesOf,
  codeOf,
  isWorking,
  type KnownProvider,
  type KnownRegion,
  OracleDirectory,
} from './oracle-directory'
import { dayMillis, minuteMillis } from './wall-clock'

// The oracle's directory for providers anywhere, with any hours: their slots are those that a scan of every minute finds.

const [daysBehind, daysAhead, horizonDays] = [8, 5, 30]

const watched = new Map<string, Clock>()

export class WatchedDirectory extends OracleDirectory {
  /** The slots that follow from what is said of a provider in a region: as long as that stands, they do. */
  readonly #starts = new WeakMap<KnownProvider['said'], Map<string, readonly number[]>>()

  /** @param until the last moment to be asked about (ms), as `from` is the first */
  constructor(
    private readonly from: number,
    private readonly until: number,
  ) {
    super()
  }

  override clockOf({ said }: KnownProvider, at: number): number {
    return -(moment.tz.zone(said.timeZone)?.utcOffset(at) as number)
  }

  override periodOf({ said }: KnownProvider, absence: Absence): readonly [number, number] {
    const { begins, ends } = absentAt(this.watch(said.timeZone), absence)
    return [begins * minuteMillis, ends * minuteMillis]
  }

  override slotsOf(
    provider: KnownProvider,
    region: KnownRegion | 'any',
    now: number,
    only?: number,
  ): number[] {
    if (!isWorking(provider)) return []
    const codes = (region === 'any' ? this.regions.filter(({ active }) => active) : [region]).map(
      ({ said }) => codeOf(said),
    )
    const from = now + (provider.said.minimumNoticeMinutes ?? 0) * minuteMillis
    const until = now + horizonDays * dayMillis
    const [first, ...others] = codes.map((code) => this.#startsOf(provider, code))
    const starts =
      others.length === 0
        ? (first ?? [])
        : [...new Set([first ?? [], ...others].flat())].sort((a, b) => a - b)
    return starts.filter((at) => from <= at && at < until && (only === undefined || at === only))
  }

  #startsOf(provider: KnownProvider, code: string): readonly number[] {
    const { said } = provider
    const byCode = this.#starts.get(said) ?? new Map<string, readonly number[]>()
    this.#starts.set(said, byCode)
    const known = byCode.get(code)
    if (known) return known
    const { timeZone, workingHours, overrides = [] } = said
    const timeOff = absencesOf(provider)
    const licenses = said.licenses
      .filter(({ region }) => region === code)
      .map(({ from, until = null }) => ({ from, until }))
    const practice = { timeZone, workingHours, overrides, timeOff, licenses, taken: [] }
    const { slots, seesBeginnings } = slotsWithin(practice, this.watch(timeZone))
    if (!seesBeginnings)
      throw new Error(`${said.ref} works without a pause: nobody can tell where slots begin`)
    const starts = slots.map((minute) => minute * minuteMillis)
    byCode.set(code, starts)
    return starts
  }

  /** The next instant (ms) after another at which clocks of a zone are changed; never for one that does not change them. */
  nextChange(timeZone: string, after: number): number {
    return moment.tz.zone(timeZone)?.untils.find((at) => at > after) ?? Number.POSITIVE_INFINITY
  }

  /** What a zone's clock shows in all the time that is asked about. */
  watch(timeZone: string): Clock {
    const from = Math.floor(this.from / minuteMillis) - daysBehind * 1_440
    const to = Math.floor(this.until / minuteMillis) + (horizonDays + daysAhead) * 1_440
    const name = `${timeZone} ${from}`
    const clock = watched.get(name) ?? watchClock(timeZone, from, to)
    watched.set(name, clock)
    return clock
  }
}
