import { elapsedMillis } from '../domain/ports/time'

/** Values that the metrics count for each request, besides its status. */
export interface Counted {
  readonly slotsShown?: number
  readonly stored?: 'booking' | 'intake'
  readonly isReplay?: boolean
}

/** Log record of a request. No query, body, token or personal data. */
export interface LogEntry {
  /** Sent as X-Request-Id; a proxy may have chosen it. */
  id: string
  readonly method: string
  /** Path template; null for an unknown path. */
  route: string | null
  /** Null until authenticated. */
  partnerId: number | null
  status: number
  refusedFor: string | null
  counted: Counted | null
  /** Size of the response body as sent. */
  bytes: number
  /** Time in ms from receiving the request's headers to passing the response to Bun. */
  millis: number
  /** True if the response is sent after the event loop turn in which the request arrived. */
  isLate: boolean
  /** Headers that are sent with each response to the request, also with an error. */
  readonly headers: Record<string, string>
}

export type RequestObserver = (entry: LogEntry) => void

const sightings = new WeakMap<Request, LogEntry>()

export function logEntryOf(request: Request): LogEntry {
  const known = sightings.get(request)
  if (known) return known
  const entry = firstSightOf(request, {})
  sightings.set(request, entry)
  return entry
}

export const requestIdHeader = {
  'X-Request-Id': {
    description: "Identifies the request in the service's log. Quote it when you report a problem",
    schema: { type: 'string' },
  },
}

/** Sets headers before a Response is created. Setting them on the Response takes longer than creating it. */
export function setAll(headers: Headers, values: Record<string, string>): void {
  for (const name in values) headers.set(name, values[name] as string)
}

function firstSightOf({ method }: Request, always: Record<string, string>): LogEntry {
  const id = crypto.randomUUID()
  const headers = { ...always, 'X-Request-Id': id }
  return {
    id,
    method,
    route: null,
    partnerId: null,
    status: 0,
    refusedFor: null,
    counted: null,
    bytes: 0,
    millis: 0,
    isLate: false,
    headers,
  }
}

/** Creates each request's log entry and passes it to the observers. `always`: headers of every response. */
export function withLogEntries(
  handle: (request: Request) => Response | Promise<Response>,
  observers: readonly RequestObserver[],
  always: Record<string, string> = {},
): (request: Request) => Response | Promise<Response> {
  const finish = (response: Response, entry: LogEntry, startedAt: number) => {
    entry.status = response.status
    entry.millis = elapsedMillis() - startedAt
    if (entry.method === 'HEAD') entry.bytes = 0
    for (const look of observers) look(entry)
    return response
  }
  return (request) => {
    const startedAt = elapsedMillis()
    const entry = firstSightOf(request, always)
    sightings.set(request, entry)
    const answer = handle(request)
    if (answer instanceof Promise) return answer.then((response) => finish(response, entry, startedAt))
    return finish(answer, entry, startedAt)
  }
}

/** For this long after a defect was logged, repeats of it are counted but not logged. */
const quietMillis = 1_000

// Number of repeats of each defect within the last second.
const since = new Map<string, number>()

let write = (line: string): void => console.error(line)

/** From now on, defects are written to `log` instead of stderr. */
export function writeDefectsTo(log: (line: string) => void): void {
  write = log
}

/** Returns one line with the place of the failure. Leaves out the error's message, which may contain health data. */
export function describeDefect(what: string, error: unknown): string {
  const name = error instanceof Error ? error.constructor.name : typeof error
  const code = (error as { code?: unknown } | null)?.code
  const frames = error instanceof Error ? (error.stack ?? '').match(/(?<=^\s+at ).*$/gm) : null
  return [`${what}: ${name}`, code, frames && `at ${frames.slice(0, 8).join(' < ')}`]
    .filter(Boolean)
    .join(' ')
}

/** Logs a defect, at most once a second for each kind. The next line says how often it was repeated. */
export function logDefect(what: string, error: unknown): void {
  const kind = describeDefect(what, error)
  const more = since.get(kind)
  if (more !== undefined) since.set(kind, more + 1)
  else writeDefect(kind, kind)
}

function writeDefect(kind: string, line: string): void {
  write(line)
  since.set(kind, 0)
  const ending = setTimeout(() => {
    const more = since.get(kind)
    since.delete(kind)
    if (more) writeDefect(kind, `${kind} (${more} more in the last second)`)
  }, quietMillis)
  ending.unref()
}
