/** A half-open interval [start, end) of instants, in minutes since 1970-01-01T00:00Z. */
export interface Interval {
  readonly start: number
  readonly end: number
}

/** Returns true if two intervals overlap. Adjacent and empty intervals do not overlap. */
export function touches(a: Interval, b: Interval): boolean {
  return Math.max(a.start, b.start) < Math.min(a.end, b.end)
}

/** Returns true if `inner` lies entirely inside `outer`. */
export function contains(outer: Interval, inner: Interval): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}

/** Merges overlapping and adjacent intervals. Returns ascending intervals. */
export function union(intervals: readonly Interval[]): Interval[] {
  const joined: Interval[] = []
  for (const interval of intervals.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1)
    if (last && interval.start <= last.end) {
      joined[joined.length - 1] = { start: last.start, end: Math.max(last.end, interval.end) }
    } else joined.push(interval)
  }
  return joined
}

/** Finds the latest end of started intervals. Query ascending instants, because each interval is visited once. */
export class Reach {
  private readonly ascending: readonly Interval[]
  private next = 0
  private nextStart: number
  private end = -Infinity

  constructor(intervals: readonly Interval[]) {
    this.ascending = inOrder(intervals)
    this.nextStart = this.ascending[0]?.start ?? Infinity
  }

  /** Returns the latest end of the intervals that start before an instant; -Infinity if there are none. */
  before(instant: number): number {
    while (this.nextStart < instant) {
      const { end } = this.ascending[this.next] as Interval
      if (end > this.end) this.end = end
      this.nextStart = this.ascending[++this.next]?.start ?? Infinity
    }
    return this.end
  }
}

/** Drops empty intervals and sorts by start. Returns sorted input unchanged. */
function inOrder(intervals: readonly Interval[]): readonly Interval[] {
  let before = -Infinity
  for (const { start, end } of intervals) {
    if (start < before || end <= start) {
      return intervals.filter(({ start, end }) => start < end).sort((a, b) => a.start - b.start)
    }
    before = start
  }
  return intervals
}
