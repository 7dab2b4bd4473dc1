import { InvalidArgumentError } from 'commander'
import { dayMinutes, minuteMillis } from '../../scheduling/calendar'

/** How long ago an instant was, in its largest unit, as `12 min`, `5 h`, `3 d`. All are ms. */
export function ageText(since: number, now: number): string {
  const minutes = Math.max(0, Math.floor((now - since) / minuteMillis))
  if (minutes < 60) return `${minutes} min`
  return minutes < 2 * dayMinutes ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / dayMinutes)} d`
}

const unitMinutes: Readonly<Record<string, number>> = {
  min: 1,
  h: 60,
  d: dayMinutes,
  w: 7 * dayMinutes,
}

/** A length of time as `90min`, `12h`, `3d` or `2w`, in ms. */
export function lengthOfTime(text: string): number {
  const [, count, unit = ''] = /^(\d{1,5}) ?(min|h|d|w)$/.exec(text) ?? []
  const minutes = unitMinutes[unit]
  if (minutes === undefined) throw new InvalidArgumentError('It must be a length as 90min, 12h, 3d or 2w.')
  return Number(count) * minutes * minuteMillis
}
