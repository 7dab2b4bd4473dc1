/** `info`: normal operation. `warn`: an operator should check the cause. `error`: something fails. */
type Level = 'info' | 'warn' | 'error'

/** Reports one line to the operator. The level is `warn` by default. */
export type Report = (line: string, level?: Level) => void

export class Distribution {
  /** `counts[i]` counts values in (bounds[i - 1], bounds[i]]. The last element counts larger values. */
  readonly counts: number[]
  #sum = 0

  /** @param bounds ascending */
  constructor(readonly bounds: readonly number[]) {
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  get sum(): number {
    return this.#sum
  }

  /** Records a value. This runs on every request, so it must be cheap. */
  note(value: number): void {
    const { bounds, counts } = this
    let bucket = 0
    // Linear search: most values fall into the first buckets.
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++
    counts[bucket] = (counts[bucket] as number) + 1
    this.#sum += value
  }
}

/** Histogram bounds for durations, in ms. */
export const durationBounds: readonly number[] = [
  ...[0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500],
  ...[1_000, 2_500, 5_000, 10_000],
]

export interface DatabaseServerMeasures {
  /** `waiting` counts the operations that wait for a connection. */
  readonly connections: { readonly free: number; readonly used: number; readonly waiting: number }
  /** The database server's clock minus this machine's clock; null before the first reading. */
  readonly clockDifferenceMillis: number | null
}

export interface EngineMeasures {
  /** The number of writes that have not started yet. */
  readonly queueDepth: number
  readonly groupSizes: Distribution
  /** The time from the start of each transaction to its commit, in ms. */
  readonly commitMillis: Distribution
  readonly failedGroups: number
  /** Null if the engine does not know the size of the database. */
  readonly databaseBytes: number | null
  /** The size of the write-ahead log; null if the engine does not know it. */
  readonly logBytes: number | null
  /** Free space of the file system; null for a database on a server. */
  readonly freeBytes: number | null
  readonly server: DatabaseServerMeasures | null
  readonly schema: number
}

/** Reports the current step of a long operation. `share` is the completed part, from 0 to 1. */
export type ReportProgress = (step: string, share?: number) => void
