import { join } from 'node:path'
import { cpuMicrosOf } from '../support/cpu'
import { type Ask, settled } from './asks'
import { Bare } from './bare'
import { comparing, type Row, rounds, type Told } from './row'

const connections = 16
const seconds = 1
/** What an answer may have of headers. */
const mostHeaderBytes = 2_000

/** How it was made, for whoever reads the figures. */
export const loadGenerator = `wrk of one thread, ${connections} connections, rounds of ${seconds} s`

/** The version of wrk that is here; null if none is. */
export function wrkVersion(): string | null {
  if (Bun.which('wrk') === null) return null
  // Asked for its version, it tells its usage too, and fails.
  return /^wrk (\S+)/.exec(Bun.spawnSync(['wrk', '--version']).stdout.toString())?.[1] ?? null
}

/** A process that answers. */
export interface Server {
  readonly baseUrl: string
  readonly pid: number
}

/** A service beside a bare server that answers with the same bytes. */
export async function besideBare(told: Told, service: Server, ask: Ask): Promise<Row> {
  await using bare = await Bare.start(await settled(service.baseUrl, ask))
  return await takeTurns(told, { server: service, ask }, { server: bare, ask })
}

/** What is asked of whom. */
export interface Target {
  readonly server: Server
  readonly ask: Ask
}

/**
 * Two targets that take turns; first comes a round of each that is not counted.
 *
 * @param beside what theirs is, where that is not a bare server
 */
export async function takeTurns(told: Told, ours: Target, theirs: Target, beside?: string): Promise<Row> {
  const [ourBytes, theirBytes] = [await bytesOf(ours), await bytesOf(theirs)]
  const taken: [Round, Round][] = []
  for (let round = -1; round < rounds; round++) {
    const pair: [Round, Round] = [await run(ours, ourBytes), await run(theirs, theirBytes)]
    if (round >= 0) taken.push(pair)
  }
  return comparingRounds(told, taken, beside)
}

/** The row of rounds that took turns. */
export function comparingRounds(
  told: Told,
  taken: readonly (readonly [ours: Round, theirs: Round])[],
  beside?: string,
): Row {
  return comparing(told, {
    ours: taken.map(([{ perSecond }]) => perSecond),
    theirs: taken.map(([, { perSecond }]) => perSecond),
    cpuRatios: taken.map(([ours, theirs]) => theirs.cpuMicros / ours.cpuMicros),
    unit: 'a second',
    beside,
  })
}

async function bytesOf({ server, ask }: Target): Promise<number> {
  return (await settled(server.baseUrl, ask)).bytes.length
}

/** Pages that are asked for one after the other, each once. */
export interface Walk {
  readonly count: number
  readonly first: number
}

export interface Round {
  /** Answers in a second. */
  readonly perSecond: number
  /** What the server's process took for each. */
  readonly cpuMicros: number
}

/**
 * Asks for the same all the time, or for the pages of its path that a walk names.
 *
 * @param bytes the size of the body, that of a walk nearly
 * @throws Error where what came is not what is measured
 */
export async function run({ server, ask }: Target, bytes: number, walk?: Walk): Promise<Round> {
  const headers = Object.entries(ask.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const walked = walk ? [`${walk.count}`, `${walk.first}`, ask.path.replace(/\d+$/, '')] : []
  const words = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '-s',
    join(import.meta.dir, 'wrk.lua'),
    ...headers,
  ]
  const before = await cpuMicrosOf(server.pid)
  const child = Bun.spawn(['wrk', ...words, server.baseUrl + ask.path, ...walked], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const printed = await child.stdout.text()
  const took = (await cpuMicrosOf(server.pid)) - before
  const told: Printed = JSON.parse(printed.trimEnd().split('\n').at(-1) ?? '')
  requireExpected(told, ask, bytes, walk ? 0.1 : 0.01)
  return { perSecond: (told.requests / told.micros) * 1e6, cpuMicros: took / told.requests }
}

/** @param tolerance by which share the size of a body may differ */
function requireExpected(told: Printed, { status }: Ask, bytes: number, tolerance: number): void {
  const refused = status >= 400 ? told.requests : 0
  // What is on its way when the round ends is counted as bytes, but not as an answer.
  const [least, most] = [
    told.requests * bytes * (1 - tolerance),
    (told.requests + connections) * (bytes * (1 + tolerance) + mostHeaderBytes),
  ]
  if (
    told.requests === 0 ||
    told.refused !== refused ||
    told.broken > 0 ||
    told.bytes < least ||
    told.bytes > most
  ) {
    throw new Error(`not what was asked for (a body of ${bytes} bytes): ${JSON.stringify(told)}`)
  }
}

/** What wrk.lua tells. */
interface Printed {
  readonly requests: number
  readonly micros: number
  readonly bytes: number
  /** Answers that are neither 2xx nor 3xx. */
  readonly refused: number
  readonly broken: number
}
