import type { Report } from '../../../src/domain/measures'
import type { Connection } from '../client/connection'

/** In ms. If the clocks differ by more than this, the operator gets a warning. */
const warnMillis = 100
/** In ms. Maximum difference of the clocks for a node that is ready. With more, it could offer past slots. */
const unfitMillis = 60_000

/** All fields are in ms. */
export interface ClockReading {
  /** The database server's time minus this machine's time. */
  readonly difference: number
  /** The true difference lies between `difference - doubt` and `difference + doubt`. */
  readonly doubt: number
}

export async function readClock(connection: Connection, now: () => number = Date.now): Promise<ClockReading> {
  const before = now()
  const [row] = await connection.run('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8', [])
  const after = now()
  return { difference: Number(row?.[0]) - (before + after) / 2, doubt: (after - before) / 2 }
}

/** True if the smallest possible difference exceeds the limit. */
export function isApart({ difference, doubt }: ClockReading, limitMillis = warnMillis): boolean {
  return Math.abs(difference) - doubt > limitMillis
}

export function describeDifference({ difference }: ClockReading): string {
  const millis = Math.round(Math.abs(difference))
  const amount = millis < 10_000 ? `${millis} ms` : `${Math.round(millis / 1_000)} s`
  return `the server's clock is ${amount} ${difference < 0 ? 'behind' : 'ahead of'} this machine's clock`
}

export const clockRemedy = 'synchronize both with the same time source (NTP)'

/** Compares the clocks of this node and of the database server. Reports each change of state once. */
export class ClockWatch {
  #state: 'right' | 'apart' | 'unfit' = 'right'
  #reading: ClockReading | null = null

  /** The database server's time minus this machine's time, in ms; null until measured. */
  get difference(): number | null {
    return this.#reading?.difference ?? null
  }

  /** False if the clocks differ too much to check slots and tokens. */
  get isFit(): boolean {
    return this.#state !== 'unfit'
  }

  note(reading: ClockReading, report: Report): void {
    this.#reading = reading
    const was = this.#state
    // Hysteresis, so that a difference near the limit is reported only once.
    const isUnfit = isApart(reading, was === 'unfit' ? unfitMillis / 2 : unfitMillis)
    const isOff = isApart(reading, was === 'right' ? warnMillis : warnMillis / 2)
    this.#state = isUnfit ? 'unfit' : isOff ? 'apart' : 'right'
    if (this.#state === was) return
    const words = `the clocks of the database server and this machine differ: ${describeDifference(reading)}; ${clockRemedy}`
    if (this.#state === 'unfit') report(`not ready: ${words}`, 'error')
    else if (was === 'unfit') report('ready again', 'info')
    if (this.#state === 'apart') report(words)
    if (this.#state === 'right')
      report('the clocks of the database server and this machine agree again', 'info')
  }
}
