import { minuteMillis } from '../scheduling/calendar'
import { offsetAt, type TimeZone } from '../scheduling/time-zone'

const monthMillis = 30 * 24 * 60 * minuteMillis

/**
 * The zones in which the runtime's own zone data is not of one mind with ours, some time in the year after
 * `now` (ms); a zone that the runtime does not know is one of them.
 */
export function zonesUnlikeRuntime(zones: readonly TimeZone[], now: number): string[] {
  const months = Array.from({ length: 13 }, (_, index) => now + index * monthMillis)
  return zones
    .filter((zone) => months.some((at) => runtimeOffset(zone.name, at) !== offsetOf(zone, at)))
    .map(({ name }) => name)
}

function offsetOf(zone: TimeZone, at: number): number {
  return offsetAt(zone, Math.floor(at / minuteMillis))
}

/** Minutes east of UTC by the runtime's clock; null for a zone that it does not know. */
function runtimeOffset(name: string, at: number): number | null {
  try {
    const format =
      formats.get(name) ?? new Intl.DateTimeFormat('en', { timeZone: name, timeZoneName: 'longOffset' })
    formats.set(name, format)
    const text = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours, minutes] = /^GMT(?:([+-])(\d{2}):(\d{2}))?/.exec(text) ?? []
    if (hours === undefined) return 0
    const offset = Number(hours) * 60 + Number(minutes)
    return sign === '-' ? -offset : offset
  } catch {
    return null
  }
}

const formats = new Map<string, Intl.DateTimeFormat>()
