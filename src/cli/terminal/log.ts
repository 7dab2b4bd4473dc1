import { isatty } from 'node:tty'
import { styleText } from 'node:util'
import { SonicBoom } from 'sonic-boom'
import type { Clock } from '../../domain/ports/time'
import { type LogEntry, writeDefectsTo } from '../../http/log'
import type { Log } from './json-log'
import { counted } from './layout'
import { oneLine } from './output'

const stderr = 2

export async function withLog(clock: Clock, act: (log: Log) => Promise<void>): Promise<void> {
  const log = isOnTerminal() ? openTerminalLog(clock) : await openJsonLog(clock)
  writeDefectsTo(log.defect)
  try {
    await act(log)
  } catch (error) {
    await log.end()
    throw error
  }
  // Exits at once if the reader stalls, because the pending write would keep the process alive.
  if (!(await log.end())) process.exit()
}

export function isOnTerminal(): boolean {
  return isatty(stderr)
}

export function openTerminalLog(clock: Clock): Log {
  const say = (line: string) => writer.write(`${oneLine(line)}\n`)
  const report = (line: string) => say(`anteroom: ${line}`)
  const writer = new LineWriter(stderr, (count) => report(droppedText(count)))
  return {
    observe: (entry) => writer.write(requestLine(entry, clock.now())),
    defect: say,
    report,
    end: () => writer.end(),
  }
}

async function openJsonLog(clock: Clock): Promise<Log> {
  const { jsonLogger } = await import('./json-log')
  const writer = new LineWriter(stderr, (count) => logger.report(droppedText(count)))
  const logger = jsonLogger(clock, writer)
  return { ...logger, end: () => writer.end() }
}

function droppedText(count: number): string {
  return `log overflow: ${counted(count, 'line')} dropped because the reader is too slow`
}

type Format = Parameters<typeof styleText>[0]

const routeWidth = 30

/** The line of a refused request contains the request id, because the partner may quote this id. */
export function requestLine(entry: LogEntry, at: number): string {
  const { method, route, status, millis, bytes, partnerId, refusedFor, id } = entry
  const meaning = formatOfStatus(status)
  const cells = [
    painted('dim', new Date(at).toISOString().slice(11, 19)),
    painted(meaning, String(status)),
    method.padEnd(4),
    oneLine(route ?? '-').padEnd(routeWidth),
    `${millis.toFixed(1)} ms`.padStart(9),
    (bytes < 1_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(1)} kB`).padStart(8),
    partnerId === null ? '' : `partner ${partnerId}`,
    refusedFor === null ? '' : `${painted(meaning, refusedFor)} ${painted('dim', oneLine(id))}`,
  ]
  return `${cells.filter(Boolean).join('  ')}\n`
}

function formatOfStatus(status: number): Format {
  if (status >= 500) return ['red', 'bold']
  return status >= 400 ? 'yellow' : 'green'
}

/** Returns the text without colors if NO_COLOR is set or the terminal has no colors. */
function painted(format: Format, text: string): string {
  return styleText(format, text, { stream: process.stderr })
}

/** Lines are collected for this long (ms), then written together. A killed process loses the collected lines. */
const gatherMillis = 100
/** If this many bytes are collected, they are written at once. */
const batchBytes = 64 * 1024
const mostAtOnce = 128 * 1024
const mostKept = 4 * 1024 * 1024
/** Timeout for the last write, in ms. */
const endMillis = 1_000

/** Writes lines in batches, without blocking. If more than `mostKept` bytes wait, drops new lines and counts them. */
export class LineWriter {
  readonly #stream: SonicBoom
  #waiting = 0
  #dropped = 0
  #timer: Timer | null = null
  readonly #end = Promise.withResolvers<boolean>()
  #isEnding = false

  /** @param reportDropped called with the number of dropped lines when the reader accepts lines again */
  constructor(
    descriptor: number,
    private readonly reportDropped: (count: number) => void,
  ) {
    const sizes = { minLength: batchBytes, maxWrite: mostAtOnce, maxLength: mostKept }
    this.#stream = new SonicBoom({ fd: descriptor, contentMode: 'buffer', ...sizes })
      .on('write', (bytes) => {
        this.#waiting -= bytes
      })
      .on('drain', () => this.#drained())
      // Retries after an error, for example a full disk. A closing log does not retry.
      .on('error', () => (this.#isEnding ? this.#end.resolve(true) : this.#flushSoon()))
      .on('drop', (line) => {
        this.#waiting -= line.length
        this.#dropped++
      })
  }

  /** `line` includes its line break. */
  write(line: string): void {
    const bytes = Buffer.from(line)
    this.#waiting += bytes.length
    this.#stream.write(bytes as never)
    this.#flushSoon()
  }

  async end(): Promise<boolean> {
    this.#isEnding = true
    const waiting = setTimeout(() => this.#end.resolve(false), endMillis)
    if (this.#waiting === 0) this.#end.resolve(true)
    else this.#stream.flush()
    return this.#end.promise.finally(() => clearTimeout(waiting))
  }

  #drained(): void {
    const dropped = this.#dropped
    this.#dropped = 0
    if (dropped > 0) this.reportDropped(dropped)
    if (this.#waiting > 0) this.#isEnding ? this.#stream.flush() : this.#flushSoon()
    else if (this.#isEnding) this.#end.resolve(true)
  }

  #flushSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      if (this.#waiting > 0) this.#stream.flush()
    }, gatherMillis).unref()
  }
}
