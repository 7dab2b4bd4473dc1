import { readFileSync } from 'node:fs'
import { pause } from '../../domain/ports/time'

/**
 * Whether the kernel holds anything for a port that this process has not been given: connections whose clients have sent
 * nothing yet (TCP_DEFER_ACCEPT keeps them from being accepted, and closing resets them), those that wait to be accepted, and
 * bytes that were not read. False where that cannot be had: Linux alone tells it (proc_pid_net(5)).
 */
export function hasWaiting(port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  // Local address, remote address, state (03 has sent nothing, 01 is connected, 0A listens), tx_queue:rx_queue.
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

/** How long a busy server goes on as before but for Connection: close, in ms: those who keep a connection use it once more. */
const lingerMillis = 500

/** How often it is looked whether anybody still asks, in ms. */
const lookMillis = 25

/** How many looks in a row find nothing new until it is quiet: longer than a client takes from an answer to its next request. */
const quietLooks = 8

/** How many looks there are at most, where clients go on asking. */
const mostLooks = 24

/** How long those who have connected and sent nothing are waited for, in looks, and how far these are apart, in ms. */
const [mostWaits, waitMillis] = [1_000, 5]

/**
 * Draining, as the first part of a graceful shutdown: whatever reaches a server before it closes is answered, and told that
 * its connection ends with that (RFC 9112 §9.6). What the kernel holds when a server stops listening it resets, so answers
 * are held back in the end: their clients, who have no more than so many requests under way, send nothing new meanwhile.
 */
export class Drain {
  #arrived = 0
  #isDraining = false
  /** Resolves once nobody is listened to any more; null while answers are not held back. */
  #closing: PromiseWithResolvers<void> | null = null

  /** Hands a request on. */
  answer(request: Request, handle: Handle): Response | Promise<Response> {
    this.#arrived++
    const answer = handle(request)
    if (answer instanceof Promise) return answer.then(this.#last)
    return this.#isDraining ? this.#last(answer) : answer
  }

  /** The answer to what was under way when the draining began counts too. */
  readonly #last = (answer: Response): Response | Promise<Response> => {
    if (!this.#isDraining) return answer
    answer.headers.set('Connection', 'close')
    return this.#closing ? this.#closing.promise.then(() => answer) : answer
  }

  /**
   * Closes once it is quiet.
   *
   * @param isAnswering whether anything is being answered: where nothing is, nor anything waits, it soon is quiet
   * @param hasWaiting whether the kernel holds anything that would be cut off: asked last, and closed in the same moment
   * @param close is called where neither a look brought anything nor anything waits, if that comes to be
   */
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
