import { isatty } from 'node:tty'
import { styleText } from 'node:util'
import { SonicBoom } from 'sonic-boom'
import type { Clock } from '../../domain/ports/time'
import { type LogEntry, writeDefectsTo } from '../../http/log'
import type { Log } from './json-log'
import { counted } from './layout'
import { oneLine } from './output'

const stderr = 2

/**
 * Opens the log for as long as `act` runs: lines on a terminal, otherwise JSON.
 */
export async function withLog(clock: Clock, act: (log: Log) => Promise<void>): Promise<void> {
  const log = isOnTerminal() ? openTerminalLog(clock) : await openJsonLog(clock)
  writeDefectsTo(log.defect)
  try {
    await act(log)
  } catch (error) {
    await log.end()
    throw error
  }
  // What the system still tries to write would keep the process for as long as nobody takes it.
  if (!(await log.end())) process.exit()
}

/** Whether stderr is a terminal. */
export function isOnTerminal(): boolean {
  return isatty(stderr)
}

/** A log in lines, for a person at a terminal. */
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

/** A log in JSON, one object a line, for a log collector. */
async function openJsonLog(clock: Clock): Promise<Log> {
  // Whoever reads along does not wait for it to be loaded.
  const { jsonLogger } = await import('./json-log')
  const writer = new LineWriter(stderr, (count) => logger.report(droppedText(count)))
  const logger = jsonLogger(clock, writer)
  return { ...logger, end: () => writer.end() }
}

function droppedText(count: number): string {
  return `${counted(count, 'line')} of this log were dropped, for want of somebody to take them`
}

type Format = Parameters<typeof styleText>[0]

/** Characters; the length of the paths requested most. */
const routeWidth = 30

/** A request in one line, for a person at a terminal. A refused one with its request id, which a partner may quote. */
export function requestLine(entry: LogEntry, at: number): string {
  const { method, route, status, millis, bytes, partnerId, refusedFor, id } = entry
  const meaning = meaningOf(status)
  const cells = [
    painted('dim', new Date(at).toISOString().slice(11, 19)),
    painted(meaning, String(status)),
    method.padEnd(4),
    oneLine(route ?? '-').padEnd(routeWidth),
    `${millis.toFixed(1)} ms`.padStart(9),
    sizeText(bytes).padStart(8),
    partnerId === null ? '' : `partner ${partnerId}`,
    refusedFor === null ? '' : `${painted(meaning, refusedFor)} ${painted('dim', oneLine(id))}`,
  ]
  return `${cells.filter(Boolean).join('  ')}\n`
}

function meaningOf(status: number): Format {
  if (status >= 500) return ['red', 'bold']
  return status >= 400 ? 'yellow' : 'green'
}

function sizeText(bytes: number): string {
  return bytes < 1_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(1)} kB`
}

/** In color if the terminal supports it and NO_COLOR is not set. */
function painted(format: Format, text: string): string {
  return styleText(format, text, { stream: process.stderr })
}

/** For how long lines are gathered into one write, in ms. A killed process loses at most these lines. */
const gatherMillis = 100
/** Bytes that are written without gathering more, and the most in one write. */
const [batchBytes, mostAtOnce] = [64 * 1024, 128 * 1024]
/** Bytes kept for a slow reader. */
const mostKept = 4 * 1024 * 1024
/** How long closing waits for a reader, in ms. */
const endMillis = 1_000

/**
 * Writes lines to a descriptor, many at once, without blocking. While the pipe or the disk is full, lines are kept and
 * written later. Beyond the limit they are dropped and counted.
 */
export class LineWriter {
  readonly #stream: SonicBoom
  /** Bytes. */
  #waiting = 0
  #dropped = 0
  #timer: Timer | null = null
  readonly #end = Promise.withResolvers<boolean>()
  #isEnding = false

  /** @param reportDropped reports how many lines were dropped, once there is room for that */
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
      // A full pipe or disk is retried by the writer; closing does not wait for anything else.
      .on('error', () => (this.#isEnding ? this.#end.resolve(true) : this.#flushSoon()))
      .on('drop', (line) => {
        this.#waiting -= line.length
        this.#dropped++
      })
  }

  /** Adds a line, with its line break. */
  write(line: string): void {
    const bytes = Buffer.from(line)
    this.#waiting += bytes.length
    this.#stream.write(bytes as never)
    this.#flushSoon()
  }

  /** Writes the lines that remain. False if they could not be written in time. */
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
