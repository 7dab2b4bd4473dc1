/** How much what is told matters: all is as it was asked to be, somebody should look, something fails. */
export type Level = 'info' | 'warn' | 'error'

/** Is told what an operator should know of, in one line; a warning unless it is said to be something else. */
export type Report = (line: string, level?: Level) => void

/** How often a measure lay between which bounds: a histogram, as plain numbers. */
export class Distribution {
  /** How many lay at or below each bound and above the one before it; the last is for those above all. */
  readonly counts: number[]
  #sum = 0

  /** @param bounds ascending */
  constructor(readonly bounds: readonly number[]) {
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  /** Of all that was noted. */
  get sum(): number {
    return this.#sum
  }

  /** Takes a measure: for each request, so in nanoseconds. */
  note(value: number): void {
    const { bounds, counts } = this
    let place = 0
    // Most lie among the first.
    while (place < bounds.length && value > (bounds[place] as number)) place++
    counts[place] = (counts[place] as number) + 1
    this.#sum += value
  }
}

/** Bounds of what takes from 0.1 ms to 10 s, in ms. */
export const durationBounds: readonly number[] = [
  ...[0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500],
  ...[1_000, 2_500, 5_000, 10_000],
]

/** What an engine tells of the way to its server. */
export interface DatabaseServerMeasures {
  /** Connections of this process, and works that wait for one. */
  readonly connections: { readonly free: number; readonly used: number; readonly waiting: number }
  /** What the server's clock shows beyond this machine's; null until it was read. */
  readonly clockDifferenceMillis: number | null
}

/** What an engine tells of itself since it was opened. */
export interface EngineMeasures {
  /** Writes that were asked for and are not begun. */
  readonly queueDepth: number
  /** Of each transaction of the service: how many writes shared it. */
  readonly groupSizes: Distribution
  /** How long each took up to its commit, in ms. */
  readonly commitMillis: Distribution
  /** Transactions that were begun, or tried to be, and not committed. */
  readonly failedGroups: number
  /** What is stored, and what of it is not yet in its place; null where that is not known. */
  readonly databaseBytes: number | null
  readonly logBytes: number | null
  /** Null for an engine that has no server. */
  readonly server: DatabaseServerMeasures | null
  /** The number of the schema. */
  readonly schema: number
}

/** Is told what a long work is at, and which share of that is done, from 0 to 1, where it can be known. */
export type ReportProgress = (what: string, share?: number) => void
