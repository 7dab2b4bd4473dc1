import { join } from 'node:path'
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

/** What is asked of whom. */
export interface Target {
  readonly baseUrl: string
  readonly ask: Ask
}

/** A target beside a bare server that answers with the same bytes. */
export async function besideBare(told: Told, { baseUrl, ask }: Target): Promise<Row> {
  await using bare = await Bare.start(await settled(baseUrl, ask))
  return await takeTurns(told, { baseUrl, ask }, { baseUrl: bare.baseUrl, ask })
}

/**
 * Two targets that take turns; first comes a round of each that is not counted.
 *
 * @param beside what theirs is, where that is not a bare server
 */
export async function takeTurns(told: Told, ours: Target, theirs: Target, beside?: string): Promise<Row> {
  const [ourBytes, theirBytes] = [await bytesOf(ours), await bytesOf(theirs)]
  const figures: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] }
  for (let round = -1; round < rounds; round++) {
    const [a, b] = [await run(ours, ourBytes), await run(theirs, theirBytes)]
    if (round < 0) continue
    figures.ours.push(a)
    figures.theirs.push(b)
  }
  return comparing(told, { ...figures, unit: 'a second', beside })
}

async function bytesOf({ baseUrl, ask }: Target): Promise<number> {
  return (await settled(baseUrl, ask)).bytes.length
}

/** Pages that are asked for one after the other, each once. */
export interface Walk {
  readonly count: number
  readonly first: number
}

/**
 * Asks for the same all the time, or for the pages of its path that a walk names, and tells how many answers there were in
 * a second.
 *
 * @param bytes the size of the body, that of a walk nearly
 * @throws Error where what came is not what is measured
 */
export async function run({ baseUrl, ask }: Target, bytes: number, walk?: Walk): Promise<number> {
  const headers = Object.entries(ask.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const walked = walk ? [`${walk.count}`, `${walk.first}`, ask.path.replace(/\d+$/, '')] : []
  const child = Bun.spawn(
    [
      ...['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '-s', join(import.meta.dir, 'wrk.lua')],
      ...headers,
      ...[baseUrl + ask.path, ...walked],
    ],
    { stdout: 'pipe', stderr: 'inherit' },
  )
  const round: Round = JSON.parse(lastLine(await child.stdout.text()))
  const { requests, micros, broken } = round
  const each = round.bytes / requests
  const refused = ask.status >= 400 ? requests : 0
  // Slots of some providers are fewer than those of others.
  const [least, most] = walk ? [bytes * 0.9, bytes * 1.1] : [bytes, bytes]
  if (round.refused !== refused || broken > 0)
    throw new Error(`not what was asked for: ${JSON.stringify(round)}`)
  if (each < least * 0.99 || each > most + mostHeaderBytes) {
    throw new Error(`${Math.round(each)} bytes an answer, of a body of ${bytes}`)
  }
  return (requests / micros) * 1e6
}

/** What wrk.lua tells. */
interface Round {
  readonly requests: number
  readonly micros: number
  readonly bytes: number
  /** Answers that are neither 2xx nor 3xx. */
  readonly refused: number
  readonly broken: number
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? ''
}
