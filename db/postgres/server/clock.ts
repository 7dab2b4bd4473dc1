import type { Report } from '../../../src/domain/report'
import type { Finding } from '../../../src/domain/upkeep'
import type { Connection } from '../client/connection'

/** From which difference between clocks on somebody is told, in ms. */
const mostMillis = 100
/**
 * From which on a node is not ready: slots begin at full minutes, and one that is further off offers what has begun, or takes
 * a token for one that has not.
 */
const unfitMillis = 60_000

/** What the server's clock showed beyond this machine's, in ms. It may be as much more or less as it is in doubt. */
export interface ClockReading {
  readonly difference: number
  readonly doubt: number
}

/** @param now this machine's clock, in ms */
export async function readClock(connection: Connection, now: () => number = Date.now): Promise<ClockReading> {
  const before = now()
  const [row] = await connection.run('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8', [])
  const after = now()
  return { difference: Number(row?.[0]) - (before + after) / 2, doubt: (after - before) / 2 }
}

/** Whether clocks differ by more than they may, as far as is certain. */
function areApart({ difference, doubt }: ClockReading, most = mostMillis): boolean {
  return Math.abs(difference) - doubt > most
}

function describeDifference({ difference }: ClockReading): string {
  const millis = Math.round(Math.abs(difference))
  const told = millis < 10_000 ? `${millis} ms` : `${Math.round(millis / 1_000)} s`
  return `the server's is ${told} ${difference < 0 ? 'behind' : 'ahead of'} this machine's`
}

const clockRemedy = 'let both take the time from the same source (NTP)'

/** Compares the clocks: tokens and slots are judged by ours, other nodes are seen by the server's. */
export async function clockFinding(connection: Connection): Promise<Finding> {
  const check = 'clock'
  let best: ClockReading = { difference: 0, doubt: Infinity }
  // The fastest answer is the most exact.
  for (let time = 0; time < 5; time++) {
    const reading = await readClock(connection)
    if (reading.doubt < best.doubt) best = reading
  }
  const detail = describeDifference(best)
  if (!areApart(best)) return { check, state: 'ok', detail }
  return { check, state: 'bad', detail, remedy: clockRemedy }
}

type Standing = 'right' | 'apart' | 'unfit'

/** How this node's clock stands to the server's, which is the same for all nodes; each change of that is told once. */
export class ClockWatch {
  #standing: Standing = 'right'
  #reading: ClockReading | null = null

  /** What the server's shows beyond this machine's, in ms; null until it was read. */
  get difference(): number | null {
    return this.#reading?.difference ?? null
  }

  /** Whether times can be judged by this machine's clock. */
  get isFit(): boolean {
    return this.#standing !== 'unfit'
  }

  note(reading: ClockReading, tell: Report): void {
    this.#reading = reading
    const was = this.#standing
    this.#standing = standingOf(reading, was)
    if (this.#standing === was) return
    const words = `the database server's clock is not this machine's: ${describeDifference(reading)}`
    if (this.#standing === 'unfit') tell(`not ready: ${words}; ${clockRemedy}`, 'error')
    else if (was === 'unfit') tell('ready again', 'info')
    if (this.#standing === 'apart') tell(`${words}; ${clockRemedy}`)
    if (this.#standing === 'right')
      tell("this machine's clock shows what the database server's does again", 'info')
  }
}

/** Half of what was too much is near enough again: one that is at the edge is not told of over and over. */
function standingOf(reading: ClockReading, was: Standing): Standing {
  const most = (millis: number, isBeyond: boolean) => (isBeyond ? millis / 2 : millis)
  if (areApart(reading, most(unfitMillis, was === 'unfit'))) return 'unfit'
  return areApart(reading, most(mostMillis, was !== 'right')) ? 'apart' : 'right'
}
