import pino from 'pino'
import type { Report } from '../../domain/measures'
import type { Clock } from '../../domain/ports/time'
import type { LogEntry, RequestObserver } from '../../http/log'
import { oneLine } from './output'

/**
 * Writes a log as JSON, one object a line: `time` (ISO 8601, UTC), `level`, and either what is known of a request or `msg`. Of
 * a request nothing is written but what is named here.
 */
export function jsonLogger(clock: Clock, stream: pino.DestinationStream): Omit<Log, 'end'> {
  const timeAt = writingTimes()
  const options = {
    // What runs it, and where, is known to whoever collects it.
    base: null,
    timestamp: () => `,"time":"${timeAt(clock.now())}"`,
    formatters: { level: (level: string) => ({ level }) },
  }
  const logger = pino(options, stream)
  return {
    observe: (entry) => logger[levelOf(entry)](fieldsOf(entry)),
    defect: (line) => logger.error({ msg: oneLine(line) }),
    report: (line, level = 'warn') => logger[level]({ msg: oneLine(line) }),
  }
}

/** Writes instants, the same one once: many lines are of one ms where it matters what a line costs. */
function writingTimes(): (at: number) => string {
  let [last, text] = [Number.NaN, '']
  return (at) => {
    if (at !== last) [last, text] = [at, new Date(at).toISOString()]
    return text
  }
}

/** A client's fault is none of the service's (OpenTelemetry, HTTP server spans): what strangers send wakes nobody. */
function levelOf({ status }: LogEntry): 'info' | 'error' {
  return status >= 500 ? 'error' : 'info'
}

function fieldsOf({ id, partnerId, method, route, status, refusedFor, millis, bytes }: LogEntry) {
  const durationMs = Math.round(millis * 1_000) / 1_000
  return { requestId: id, partnerId, method, route, status, errorCode: refusedFor, durationMs, bytes }
}

/** The log of a service, on stderr. Nobody waits for it. */
export interface Log {
  /** Logs a request that was answered. */
  readonly observe: RequestObserver
  /** Logs a defect, in the words of its log. */
  readonly defect: (line: string) => void
  /** Logs all else. */
  readonly report: Report
  /** Writes what waits. False where nobody takes it. */
  end(): Promise<boolean>
}
