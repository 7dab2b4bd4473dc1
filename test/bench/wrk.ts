import { join } from 'node:path'
import { cpuMicrosOf } from '../support/cpu'
import { type Ask, settled } from './asks'
import { Bare } from './bare'
import { comparing, type Row, type RowSpec, rounds } from './row'

const connections = 16
const seconds = 1
/** The largest allowed size of a response head, in bytes. */
const mostHeaderBytes = 2_000

export const loadGenerator = `wrk of one thread, ${connections} connections, rounds of ${seconds} s`

/** The version of wrk; null if it is not installed. */
export function wrkVersion(): string | null {
  if (Bun.which('wrk') === null) return null
  // `wrk --version` also prints its usage, and fails.
  return /^wrk (\S+)/.exec(Bun.spawnSync(['wrk', '--version']).stdout.toString())?.[1] ?? null
}

export interface Server {
  readonly baseUrl: string
  readonly pid: number
}

export async function compareWithBare(spec: RowSpec, service: Server, ask: Ask): Promise<Row> {
  await using bare = await Bare.start(await settled(service.baseUrl, ask))
  return await takeTurns(spec, { server: service, ask }, { server: bare, ask })
}

export interface Target {
  readonly server: Server
  readonly ask: Ask
}

/**
 * Measures two targets in turn. The first round of each target is not counted.
 * @param referenceName the name of the reference; absent for a bare server
 */
export async function takeTurns(
  spec: RowSpec,
  ours: Target,
  theirs: Target,
  referenceName?: string,
): Promise<Row> {
  const [ourBytes, theirBytes] = [await bytesOf(ours), await bytesOf(theirs)]
  const taken: [Round, Round][] = []
  for (let round = -1; round < rounds; round++) {
    const pair: [Round, Round] = [await run(ours, ourBytes), await run(theirs, theirBytes)]
    if (round >= 0) taken.push(pair)
  }
  return comparingRounds(spec, taken, referenceName)
}

export function comparingRounds(
  spec: RowSpec,
  taken: readonly (readonly [ours: Round, theirs: Round])[],
  referenceName?: string,
): Row {
  return comparing(spec, {
    ours: taken.map(([{ perSecond }]) => perSecond),
    theirs: taken.map(([, { perSecond }]) => perSecond),
    cpuRatios: taken.map(([ours, theirs]) => theirs.cpuMicros / ours.cpuMicros),
    unit: 'a second',
    referenceName,
  })
}

async function bytesOf({ server, ask }: Target): Promise<number> {
  return (await settled(server.baseUrl, ask)).bytes.length
}

export interface Walk {
  readonly count: number
  readonly first: number
}

export interface Round {
  /** Responses per second. */
  readonly perSecond: number
  /** CPU time of the server for each response. */
  readonly cpuMicros: number
}

/**
 * Repeats one request, or requests the pages of a walk.
 * @param bytes the size of the body; an estimate for a walk
 * @throws Error for an unexpected response
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
  const summary: Printed = JSON.parse(printed.trimEnd().split('\n').at(-1) ?? '')
  requireExpected(summary, ask, bytes, walk ? 0.1 : 0.01)
  return { perSecond: (summary.requests / summary.micros) * 1e6, cpuMicros: took / summary.requests }
}

/** @param tolerance the share by which the size of a body may differ */
function requireExpected(summary: Printed, { status }: Ask, bytes: number, tolerance: number): void {
  const refused = status >= 400 ? summary.requests : 0
  // wrk counts the bytes of an unfinished response, but does not count the response.
  const [least, most] = [
    summary.requests * bytes * (1 - tolerance),
    (summary.requests + connections) * (bytes * (1 + tolerance) + mostHeaderBytes),
  ]
  if (
    summary.requests === 0 ||
    summary.refused !== refused ||
    summary.broken > 0 ||
    summary.bytes < least ||
    summary.bytes > most
  ) {
    throw new Error(`unexpected responses (expected bodies of ${bytes} bytes): ${JSON.stringify(summary)}`)
  }
}

interface Printed {
  readonly requests: number
  readonly micros: number
  readonly bytes: number
  /** Responses that are neither 2xx nor 3xx. */
  readonly refused: number
  readonly broken: number
}
