import { isatty } from 'node:tty'
import type { Clock } from '../../domain/ports/clock'
import { writeDefectsTo } from '../../http/defect-log'
import type { Log } from './json-log'
import { counted } from './layout'
import { LineWriter } from './line-writer'
import { oneLine } from './output'
import { requestLine } from './request-line'

const stderr = 2

/**
 * Has all that the process says of what it does written to a log, for as long as it does it: in lines on a terminal, and
 * otherwise in JSON.
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

/** Whether whoever started the process reads what it says. */
export function isOnTerminal(): boolean {
  return isatty(stderr)
}

/** A log in lines for whoever reads along. */
export function openTerminalLog(clock: Clock): Log {
  const say = (line: string) => writer.write(`${oneLine(line)}\n`)
  const report = (line: string) => say(`anteroom: ${line}`)
  const writer = new LineWriter(stderr, (count) => report(droppedText(count)))
  return {
    look: (entry) => writer.write(requestLine(entry, clock.now())),
    defect: say,
    report,
    end: () => writer.end(),
  }
}

/** A log in JSON, one object a line, for whatever collects logs. */
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
