/** A half-open interval [start, end) of instants, in minutes since 1970-01-01T00:00Z. */
export interface Interval {
  readonly start: number
  readonly end: number
}

/** Whether two intervals share any time; intervals that merely meet do not. */
export function touches(a: Interval, b: Interval): boolean {
  return a.start < b.end && b.start < a.end
}

/** Whether `inner` lies whole inside `outer`. */
export function contains(outer: Interval, inner: Interval): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}
