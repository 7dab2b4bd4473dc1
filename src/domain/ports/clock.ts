/** Tells the time. Each request asks once and passes the answer on. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00Z. */
  now(): number
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() }

/** A clock that shows `startsAt` (ms) when it is made and ticks on from there. */
export function clockStartingAt(startsAt: number): Clock {
  const made = performance.now()
  return { now: () => startsAt + Math.floor(performance.now() - made) }
}

/** Waits. */
export function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis))
}

/** How long the machine has been at it, in ms: tells how long something takes, never when. */
export function elapsedMillis(): number {
  return performance.now()
}
