import { booking } from '../support/builders'
import { type KnownSlot, type Nodes, searchPath } from './nodes'

export interface Call {
  readonly node: number
  /** The times are in ms of `performance.now()`. */
  readonly beganAt: number
  readonly endedAt: number
  /** The HTTP status. Null if the connection failed. */
  readonly status: number | null
  readonly code: string | null
}

export interface Submission {
  readonly number: number
  readonly slot: KnownSlot | undefined
  readonly key: string | null
  /** The acknowledged result. Null if the submission was not acknowledged. */
  answer: { readonly id: number; readonly memberId: number; readonly text: string } | null
  /** True if the submission may be stored, although it was not acknowledged. */
  isUnknown: boolean
}

const timeoutMillis = 20_000
/** The pause after a 503 or a failed connection. */
const pauseMillis = 100

/** Sends partners' requests to all nodes until it is stopped, and records the result of each. */
export class Load {
  readonly calls: Call[] = []
  readonly submissions: Submission[] = []
  /** One sentence for each failure, for example a booked slot that a search still offered. */
  readonly faults: string[] = []
  /** The number of searches after an acknowledged booking. No such search may offer the booked slot. */
  searches = 0
  /** Retries that returned a stored booking after a first attempt without an answer. */
  recovered = 0
  #isStopped = false
  readonly #workers: Promise<unknown>

  /**
   * @param from the number of the first submission
   * @param perNode concurrent workers for each node
   * @param portOf returns the port of a node; called for each request
   */
  constructor(
    private readonly nodes: Nodes,
    private from: number,
    perNode: number,
    private readonly portOf: (node: number) => number,
  ) {
    const homes = Array.from({ length: perNode * nodes.nodes.length }, (_, index) => index)
    this.#workers = Promise.all(homes.map((home) => this.#work(home % nodes.nodes.length)))
  }

  get acknowledged(): number {
    return this.submissions.filter(({ answer }) => answer !== null).length
  }

  get next(): number {
    return this.from
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#workers
  }

  async #work(home: number): Promise<void> {
    while (!this.#isStopped) {
      const submission = this.#take()
      await this.#submit(submission, home)
      if (submission.answer && submission.slot && submission.number % 4 === 0)
        await this.#look(submission.slot, home + 1)
      if (submission.answer && submission.key && submission.number % 3 === 0)
        await this.#submit(submission, home + 2)
    }
  }

  /**
   * Returns the next submission. Of five submissions, two book the same slot, one books another slot, and two are
   * intakes. Every second submission has an idempotency key.
   */
  #take(): Submission {
    const number = this.from++
    const [five, place] = [Math.floor(number / 5), number % 5]
    const slot = place < 3 ? this.nodes.slots[five * 2 + (place === 2 ? 1 : 0)] : undefined
    if (place < 3 && !slot) throw new Error('all slots are booked')
    const key = number % 2 === 0 ? `key-${number}` : null
    const submission = { number, slot, key, answer: null, isUnknown: false }
    this.submissions.push(submission)
    return submission
  }

  async #submit(submission: Submission, home: number): Promise<void> {
    const { number, slot, key } = submission
    const body = JSON.stringify(booking(`member-${number}`, slot))
    const deadline = performance.now() + 3 * timeoutMillis
    for (let node = home, wasLost = false; ; node++) {
      const answer = await this.#send(node, '/partners/v1/booking-request/', body, key)
      if (answer.status === 201) {
        if (wasLost && answer.isReplay) this.recovered++
        return this.#note(submission, answer.text)
      }
      if (answer.code === 'slot_unavailable' && !submission.answer) return
      if (answer.status !== null && answer.status !== 503) {
        this.faults.push(`submission ${number} was answered ${answer.status} ${answer.code}`)
        return
      }
      wasLost = true
      if (!submission.answer) submission.isUnknown = true
      await Bun.sleep(pauseMillis)
      if (!key) return
      if (performance.now() > deadline) {
        this.faults.push(`submission ${number} was not answered within a minute`)
        return
      }
    }
  }

  #note(submission: Submission, text: string): void {
    const { number, answer } = submission
    if (answer && answer.text !== text)
      this.faults.push(`submission ${number} got a different answer when it was retried`)
    const { id, member } = JSON.parse(text)
    submission.answer = { id, memberId: member.id, text }
    submission.isUnknown = false
  }

  async #look({ language, providerId, utcStartTime }: KnownSlot, node: number): Promise<void> {
    const { status, text } = await this.#send(node, searchPath(language))
    if (status !== 200) return
    this.searches++
    const [found] = JSON.parse(text).results
    const isOffered = found?.availability.some((slot: KnownSlot) => slot.utcStartTime === utcStartTime)
    if (found?.providerId !== providerId || isOffered)
      this.faults.push(`the slot ${providerId} ${utcStartTime} was offered after it was booked`)
  }

  async #send(node: number, path: string, body?: string, key: string | null = null) {
    const beganAt = performance.now()
    const headers = new Headers({ Authorization: `Bearer ${this.nodes.token}` })
    if (body) headers.set('Content-Type', 'application/json')
    if (key) headers.set('Idempotency-Key', key)
    const at = node % this.nodes.nodes.length
    const url = `http://127.0.0.1:${this.portOf(at)}${path}`
    const signal = AbortSignal.timeout(timeoutMillis)
    const init = { headers, signal, ...(body && { method: 'POST', body }) }
    const answer = await fetch(url, init)
      .then(async (response) => ({ response, text: await response.text() }))
      .catch(() => null)
    const { response, text = '' } = answer ?? {}
    const status = response?.status ?? null
    const code = response?.headers.get('x-error-code') ?? null
    if (status === 503 && !response?.headers.has('retry-after')) this.faults.push('a 503 without Retry-After')
    this.calls.push({
      node: at,
      beganAt,
      endedAt: performance.now(),
      status,
      code,
    })
    return { status, code, text, isReplay: response?.headers.get('idempotency-replayed') === 'true' }
  }
}
