import { elapsedMillis } from '../domain/ports/clock'

/** What measures count of an answer beside its status. */
export interface Counted {
  /** Slots that a search shows. */
  readonly slotsShown?: number
  readonly stored?: 'booking' | 'intake'
  /** Whether it is the answer to an earlier call. */
  readonly isReplay?: boolean
}

/** What a log and measures may know of one request: never what it asks for, holds or hands over, nor whom it is about. */
export interface Seen {
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
  readonly told: Record<string, string>
}

/** Is shown each request once its answer has been made. */
export type Onlooker = (seen: Seen) => void

const sightings = new WeakMap<Request, Seen>()

/** What is seen of a request, to be added to. */
export function seenOf(request: Request): Seen {
  const known = sightings.get(request)
  if (known) return known
  const seen = firstSightOf(request, {})
  sightings.set(request, seen)
  return seen
}

/** What names a request, as the document has it. */
export const requestIdHeader = {
  'X-Request-Id': {
    description: "Names the request in the service's log: tell it to the operator where something went wrong",
    schema: { type: 'string' },
  },
}

/**
 * Writes what one is told into headers that are made once. A Response copies them; to write into the copy makes an object of
 * that, which takes longer than making the whole answer.
 */
export function tellIn(headers: Headers, told: Record<string, string>): void {
  for (const name in told) headers.set(name, told[name] as string)
}

function firstSightOf({ method }: Request, always: Record<string, string>): Seen {
  const id = crypto.randomUUID()
  const told = { ...always, 'X-Request-Id': id }
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
    told,
  }
}

/**
 * Has a handler's requests seen: each answer carries X-Request-Id, and all that `told` has.
 *
 * @param always headers of every answer
 */
export function watched(
  handle: (request: Request) => Response | Promise<Response>,
  onlookers: readonly Onlooker[],
  always: Record<string, string> = {},
): (request: Request) => Response | Promise<Response> {
  const finish = (response: Response, seen: Seen, startedAt: number) => {
    seen.status = response.status
    seen.millis = elapsedMillis() - startedAt
    if (seen.method === 'HEAD') seen.bytes = 0
    for (const look of onlookers) look(seen)
    return response
  }
  return (request) => {
    const startedAt = elapsedMillis()
    const seen = firstSightOf(request, always)
    sightings.set(request, seen)
    const answer = handle(request)
    if (answer instanceof Promise) return answer.then((response) => finish(response, seen, startedAt))
    return finish(answer, seen, startedAt)
  }
}
