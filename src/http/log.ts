import { elapsedMillis, systemClock } from '../domain/ports/time'

export interface Counted {
  readonly slotsShown?: number
  readonly stored?: 'booking' | 'intake'
  readonly isReplay?: boolean
}

/** Log record of a request. No query, body, token or personal data. */
export interface LogEntry {
  /** Sent as X-Request-Id. May be the id that a proxy chose. */
  id: string
  readonly method: string
  /** Path template; null for an unknown path. */
  route: string | null
  /** Null until authenticated. */
  partnerId: number | null
  status: number
  refusedFor: string | null
  counted: Counted | null
  bytes: number
  /** Time in ms between the arrival of the headers and the response. */
  millis: number
  /** True if the event loop turn of the request ends before the response is sent. */
  isLate: boolean
  /** Headers of every response to this request, including an error. */
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

/** Use this before the Response is created. Setting headers on a Response takes longer than creating the Response. */
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

/** Creates a log entry for each request and passes it to the observers. @param always headers of every response */
export function withLogEntries(
  handle: (request: Request) => Response | Promise<Response>,
  observers: readonly RequestObserver[],
  always: Record<string, string> = {},
): (request: Request) => Response | Promise<Response> {
  const finish = (response: Response, entry: LogEntry, startedAt: number) => {
    entry.status = response.status
    entry.millis = elapsedMillis() - startedAt
    if (entry.method === 'HEAD') {
      entry.bytes = 0
      // Bun sends no Date with a response to HEAD.
      response.headers.set('Date', new Date(systemClock.now()).toUTCString())
    }
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

/** In ms. After a defect is logged, repeats in this period are only counted. */
const quietMillis = 1_000

const since = new Map<string, number>()

let write = (line: string): void => console.error(line)

/** Writes defects to `log` from now on. The default is stderr. */
export function writeDefectsTo(log: (line: string) => void): void {
  write = log
}

/** Returns one line with the location of the error. Omits the error's message, which may contain health data. */
function describeDefect(what: string, error: unknown): string {
  const name = error instanceof Error ? error.constructor.name : typeof error
  const code = (error as { code?: unknown } | null)?.code
  const frames = error instanceof Error ? (error.stack ?? '').match(/(?<=^\s+at ).*$/gm) : null
  return [`${what}: ${name}`, code, frames && `at ${frames.slice(0, 8).join(' < ')}`]
    .filter(Boolean)
    .join(' ')
}

/** Logs a defect, at most once a second for each kind. Counts repeats, and logs their number with the next line. */
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
