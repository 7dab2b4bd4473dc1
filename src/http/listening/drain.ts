import { readFileSync } from 'node:fs'
import { pause } from '../../domain/ports/time'

/**
 * True if closing the port would reset something: connections without data (TCP_DEFER_ACCEPT), the accept
 * queue, or unread bytes. Always false outside Linux (proc_pid_net(5)).
 */
export function hasWaiting(port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  // Local address, remote address, state (01 ESTABLISHED, 03 SYN_RECV, 0A LISTEN), tx_queue:rx_queue.
  const waiting = new RegExp(`:${hex} [0-9A-F]+:[0-9A-F]{4} (?:03|(?:01|0A) [0-9A-F]{8}:(?!0{8}))`)
  return ['tcp', 'tcp6'].some((table) => waiting.test(read(`/proc/self/net/${table}`)))
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

type Handle = (request: Request) => Response | Promise<Response>

/** For this many ms a busy server only adds Connection: close, and clients reuse a connection once more. */
const lingerMillis = 500

/** Interval between checks for new requests, in ms. */
const lookMillis = 25

/** Quiet checks in a row before closing. Longer than a client needs to send its next request. */
const quietLooks = 8

/** Maximum number of checks, if clients keep sending. */
const mostLooks = 24

/** Wait for connections that have sent nothing: maximum number of checks, and ms between them. */
const [mostWaits, waitMillis] = [1_000, 5]

/**
 * Draining, the first part of a graceful shutdown. All requests that arrive before closing are answered with
 * Connection: close (RFC 9112 §9.6). Closing resets pending connections, so the last responses are held back
 * until then: clients that limit their requests in flight send nothing new.
 */
export class Drain {
  #arrived = 0
  #isDraining = false
  /** Resolves when the server no longer listens; null until responses are held back. */
  #closing: PromiseWithResolvers<void> | null = null

  answer(request: Request, handle: Handle): Response | Promise<Response> {
    this.#arrived++
    const answer = handle(request)
    if (answer instanceof Promise) return answer.then(this.#last)
    return this.#isDraining ? this.#last(answer) : answer
  }

  /** Also applied to requests that were in flight when draining began. */
  readonly #last = (answer: Response): Response | Promise<Response> => {
    if (!this.#isDraining) return answer
    answer.headers.set('Connection', 'close')
    return this.#closing ? this.#closing.promise.then(() => answer) : answer
  }

  /** Closes once no requests arrive, or after the maximum wait. `hasWaiting` runs just before `close`. */
  async close<T>(isAnswering: boolean, hasWaiting: () => boolean, close: () => T): Promise<Awaited<T>> {
    this.#isDraining = true
    const isBusy = isAnswering || hasWaiting()
    if (isBusy) await pause(lingerMillis)
    this.#closing = Promise.withResolvers()
    let quiet = isBusy ? 0 : quietLooks - 1
    for (let look = 0; look < mostLooks && quiet < quietLooks; look++) {
      quiet = (await this.#bringsNothing(lookMillis)) ? quiet + 1 : 0
    }
    for (let wait = 0; wait < mostWaits && hasWaiting(); wait++) await pause(waitMillis)
    const closed = close()
    this.#closing.resolve()
    return await closed
  }

  async #bringsNothing(millis: number): Promise<boolean> {
    const before = this.#arrived
    await pause(millis)
    return this.#arrived === before
  }
}
