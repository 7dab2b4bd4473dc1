import pino from 'pino'
import type { Report } from '../../domain/measures'
import type { Clock } from '../../domain/ports/time'
import type { LogEntry, RequestObserver } from '../../http/log'
import { oneLine } from './output'

/** Writes one JSON object a line, with `time` (ISO 8601, UTC), `level`, and `msg` or the fields of a request. */
export function jsonLogger(clock: Clock, stream: pino.DestinationStream): Omit<Log, 'end'> {
  const timeAt = writingTimes()
  const options = {
    // Leaves out the process id and the host name, because the log collector adds both.
    base: null,
    timestamp: () => `,"time":"${timeAt(clock.now())}"`,
    formatters: { level: (level: string) => ({ level }) },
  }
  const logger = pino(options, stream)
  return {
    observe: (entry) => logger[levelOf(entry)](logFields(entry)),
    defect: (line) => logger.error({ msg: oneLine(line) }),
    report: (line, level = 'warn') => logger[level]({ msg: oneLine(line) }),
  }
}

/** Caches the last text: under load, many lines share a millisecond. */
function writingTimes(): (at: number) => string {
  let [last, text] = [Number.NaN, '']
  return (at) => {
    if (at !== last) [last, text] = [at, new Date(at).toISOString()]
    return text
  }
}

/** Status 4xx is not an error, so that clients cannot trigger alerts (OpenTelemetry, HTTP server spans). */
function levelOf({ status }: LogEntry): 'info' | 'error' {
  return status >= 500 ? 'error' : 'info'
}

function logFields({ id, partnerId, method, route, status, refusedFor, millis, bytes }: LogEntry) {
  const durationMs = Math.round(millis * 1_000) / 1_000
  return { requestId: id, partnerId, method, route, status, errorCode: refusedFor, durationMs, bytes }
}

/** The log of a service, on stderr. Logging never blocks. */
export interface Log {
  readonly observe: RequestObserver
  readonly defect: (line: string) => void
  readonly report: Report
  /** Writes the remaining lines. Returns false if the reader does not accept them in time. */
  end(): Promise<boolean>
}
