import { deepStrictEqual } from 'node:assert/strict'
import { Temporal } from 'temporal-polyfill'
import { compileLicenses, compileSchedule } from '../../src/directory/compile'
import { type Provider, weekdays } from '../../src/domain/provider'
import { Draft, SlotTable, slotBytes } from '../../src/http/endpoints/provider-page'
import { availabilityAt, type Calendar, slotAt } from '../../src/scheduling/availability'
import type { Interval } from '../../src/scheduling/interval'
import { builtInZones } from '../../src/zones/packed'
import { median, type Row } from './row'

const rounds = 7
const roundMicros = 200_000

const [minute, day] = [60_000, 86_400_000]
const slotMillis = 45 * minute
const stepMinutes = 45

const now = Date.UTC(2027, 2, 1, 12, 0, 30)
const timeZone = 'America/Toronto'
const provider = {
  workingHours: [
    { weekdays: weekdays.slice(0, 5), start: '09:00', end: '12:00' },
    { weekdays: weekdays.slice(0, 5), start: '13:00', end: '17:00' },
  ],
  overrides: [{ date: '2027-03-09', windows: [] }],
  timeOff: [{ from: '2027-03-18', until: '2027-03-19' }],
}
const license = { regionId: 1, from: '2020-01-01', until: null }
const taken = [
  '2027-03-02T14:00Z',
  '2027-03-03T14:45Z',
  '2027-03-10T18:00Z',
  '2027-03-16T13:00Z',
  '2027-03-22T13:00Z',
].map(Date.parse)

interface Implementation {
  slots(): ArrayLike<number>
  json(): Uint8Array
}

/** Compares the service with plain Temporal: the time to compute the slots of an uncached provider. */
export async function benchAvailability(): Promise<Row[]> {
  const [ours, theirs] = [service(), plain()]
  deepStrictEqual(
    Array.from(ours.slots(), (start) => start * minute),
    [...Array.from(theirs.slots())],
  )
  deepStrictEqual(Buffer.from(ours.json()).toString(), Buffer.from(theirs.json()).toString())
  const name = 'availability of a provider for 30 days'
  return [
    compare(`${name}, slots and JSON, compared with plain Temporal`, ours.json, theirs.json, '>= 15'),
    compare(`${name}, slots only, compared with plain Temporal`, ours.slots, theirs.slots),
  ]
}

function service(): Implementation {
  const zone = builtInZones().find(timeZone)
  if (!zone) throw new Error(`no zone ${timeZone}`)
  const calendar: Calendar = {
    schedule: compileSchedule(provider as unknown as Provider, zone),
    taken: taken.map((start) => slotAt(start / minute)),
    minimumNoticeMinutes: 0,
  }
  const licensed: Interval[] = compileLicenses([license], zone).map(({ interval }) => interval)
  const [table, draft] = [new SlotTable(), new Draft()]
  const slots = () => availabilityAt(calendar, licensed, now).slots
  return {
    slots,
    json() {
      const starts = slots()
      draft.clear()
      draft.add(starts.length * slotBytes, (bytes, at) => table.write(starts, now, bytes, at))
      draft.addText(']')
      const bytes = draft.slice(0, draft.end)
      // Replaces the comma before the first slot by a bracket. There is at least one slot.
      bytes.write('[', 0)
      return bytes
    },
  }
}

interface PlainSlot {
  readonly start: number
  readonly utcStartTime: () => string
  readonly utcEndTime: () => string
}

function cut(begins: Temporal.ZonedDateTime, ends: Temporal.ZonedDateTime): PlainSlot[] {
  const stampOf = (millis: number) => () => `${new Date(millis).toISOString().slice(0, 19)}Z`
  const slots: PlainSlot[] = []
  const last = ends.epochMilliseconds - slotMillis
  for (let start = begins.epochMilliseconds; start <= last; start += stepMinutes * minute) {
    slots.push({ start, utcStartTime: stampOf(start), utcEndTime: stampOf(start + slotMillis) })
  }
  return slots
}

/** A straightforward implementation with Temporal. All texts are parsed beforehand. */
function plain(): Implementation {
  const midnightOf = (date: Temporal.PlainDate) => date.toZonedDateTime({ timeZone }).epochMilliseconds
  const hours = provider.workingHours.map(({ weekdays: names, start, end }) => ({
    days: new Set(names.map((name) => weekdays.indexOf(name) + 1)),
    start: Temporal.PlainTime.from(start),
    end: Temporal.PlainTime.from(end),
  }))
  const off = new Set(provider.overrides.map(({ date }) => date))
  const busy = [
    ...taken.map((start) => ({ start, end: start + slotMillis })),
    ...provider.timeOff.map(({ from, until }) => ({
      start: midnightOf(Temporal.PlainDate.from(from)),
      end: midnightOf(Temporal.PlainDate.from(until).add({ days: 1 })),
    })),
  ]
  const licensedFrom = midnightOf(Temporal.PlainDate.from(license.from))
  const isFree = (start: number) =>
    start >= now &&
    start < now + 30 * day &&
    start >= licensedFrom &&
    !busy.some((interval) => start < interval.end && interval.start < start + slotMillis)
  const list = () => {
    const slots: PlainSlot[] = []
    const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone).toPlainDate()
    for (let ahead = 0; ahead <= 31; ahead++) {
      const date = today.add({ days: ahead })
      if (off.has(date.toString())) continue
      for (const { days, start, end } of hours) {
        if (!days.has(date.dayOfWeek)) continue
        const [begins, ends] = [start, end].map((plainTime) => date.toZonedDateTime({ timeZone, plainTime }))
        if (begins && ends) slots.push(...cut(begins, ends).filter((slot) => isFree(slot.start)))
      }
    }
    return slots
  }
  return {
    slots: () => list().map(({ start }) => start),
    json: () =>
      Buffer.from(
        JSON.stringify(
          list().map(({ utcStartTime, utcEndTime }) => ({
            utcStartTime: utcStartTime(),
            utcEndTime: utcEndTime(),
          })),
        ),
      ),
  }
}

function compare(name: string, ours: () => unknown, theirs: () => unknown, goal?: string): Row {
  rate(ours)
  rate(theirs)
  const turns = Array.from({ length: rounds }, () => ({ ours: rate(ours), theirs: rate(theirs) }))
  const toText = (rates: readonly number[]) => `${(1_000_000 / median(rates)).toPrecision(3)} us`
  return {
    name,
    figure: toText(turns.map(({ ours }) => ours)),
    reference: toText(turns.map(({ theirs }) => theirs)),
    ratio: median(turns.map(({ ours, theirs }) => ours / theirs)),
    ...(goal && { goal }),
  }
}

/** Runs per second of CPU time. Other processes affect CPU time little. */
function rate(work: () => unknown): number {
  const begun = process.cpuUsage()
  let [done, spent] = [0, 0]
  while (spent < roundMicros) {
    for (let i = 0; i < 20; i++) work()
    done += 20
    const { user, system } = process.cpuUsage(begun)
    spent = user + system
  }
  return (done * 1_000_000) / spent
}
