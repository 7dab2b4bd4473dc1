import { elapsedMillis } from '../domain/ports/time'

/** Counts that metrics add up for each response, beside its status. */
export interface Counted {
  /** Slots that a search shows. */
  readonly slotsShown?: number
  readonly stored?: 'booking' | 'intake'
  /** Whether it is the answer to an earlier call. */
  readonly isReplay?: boolean
}

/** Log entry of a request, which metrics count too. No query, body, token or personal data. */
export interface LogEntry {
  /** Names it in the log and to its caller, as X-Request-Id; a proxy in front may have named it. */
  id: string
  readonly method: string
  /** Where it was led, as the document writes the path; null where there is nothing. */
  route: string | null
  /** Who was found to send it. */
  partnerId: number | null
  status: number
  /** What it was refused for. */
  refusedFor: string | null
  counted: Counted | null
  /** Of the answer's body as it is sent. */
  bytes: number
  /** From when it was whole but for its body until its answer was handed over to be sent, in ms. */
  millis: number
  /** Whether something was waited for since the turn of the event loop in which it came. */
  isLate: boolean
  /** Headers of its answer, whatever that will be. */
  readonly headers: Record<string, string>
}

/** Is shown each request once its answer has been made. */
export type RequestObserver = (entry: LogEntry) => void

const sightings = new WeakMap<Request, LogEntry>()

/** The log entry of a request, which is filled in while it is answered. */
export function logEntryOf(request: Request): LogEntry {
  const known = sightings.get(request)
  if (known) return known
  const entry = firstSightOf(request, {})
  sightings.set(request, entry)
  return entry
}

/** What names a request, as the document has it. */
export const requestIdHeader = {
  'X-Request-Id': {
    description: "Names the request in the service's log: tell it to the operator where something went wrong",
    schema: { type: 'string' },
  },
}

/**
 * Sets headers that a Response is then made with. Setting them on the Response takes longer than making it.
 */
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

/**
 * Logs a handler's requests. Each response carries X-Request-Id and the headers of its log entry.
 *
 * @param always headers of every answer
 */
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

/** For this long, the same defect is counted instead of logged again. */
const quietMillis = 1_000

// By kind of defect logged within the last second: how many more there have been.
const since = new Map<string, number>()

let write = (line: string): void => console.error(line)

/** Sends the process's defects to a log. Until then they go to stderr. */
export function writeDefectsTo(log: (line: string) => void): void {
  write = log
}

/** One line: what failed and where. Without the error's message, which may contain health data. */
export function describeDefect(what: string, error: unknown): string {
  const name = error instanceof Error ? error.constructor.name : typeof error
  const code = (error as { code?: unknown } | null)?.code
  const frames = error instanceof Error ? (error.stack ?? '').match(/(?<=^\s+at ).*$/gm) : null
  return [`${what}: ${name}`, code, frames && `at ${frames.slice(0, 8).join(' < ')}`]
    .filter(Boolean)
    .join(' ')
}

/** Logs a defect, at most one line a second for each kind. The next line counts those in between. */
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
