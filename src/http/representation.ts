import type { Coding } from './content-coding'

/**
 * One way in which an answer is sent: made once, and shared by all who are sent it. Its body is kept once: as a blob, which is
 * sent without being copied, or as bytes, for answers that come late.
 */
export class Form {
  /** Of the body, in bytes. */
  readonly size: number
  #body: Blob | Uint8Array<ArrayBuffer> | null
  #wasRead = false

  constructor(
    readonly status: number,
    body: Blob | null,
    readonly headers: Headers,
  ) {
    this.#body = body
    this.size = body?.size ?? 0
  }

  get body(): Blob | null {
    if (this.#body instanceof Uint8Array) this.#body = new Blob([this.#body])
    return this.#body
  }

  /** The body's bytes. What is read a second time is kept as bytes: where an engine is on a server, each answer comes late. */
  read(): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
    if (this.#body instanceof Uint8Array) return this.#body
    const reading = this.#body?.bytes() ?? Promise.resolve(new Uint8Array())
    if (!this.#wasRead) {
      this.#wasRead = true
      return reading
    }
    return reading.then((bytes) => {
      this.#body = bytes
      return bytes
    })
  }

  /** A part of the body, to make another of. */
  slice(start: number, end: number): Blob | Uint8Array<ArrayBuffer> {
    const body = this.#body ?? new Uint8Array()
    return body instanceof Uint8Array ? body.subarray(start, end) : body.slice(start, end)
  }
}

/** It may be another at any moment, and is for nobody but whoever asked. */
export const revalidated = {
  Vary: 'Accept-Encoding',
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
}

/**
 * An answer that is made once and sent many times: as it is, compressed, or as the word that it is still the same (RFC 9110
 * §8.4, §15.4.5).
 */
export class Representation {
  readonly plain: Form
  readonly unchanged: Form
  readonly #compressed = new Map<Coding, Form>()
  #isSettled: boolean
  #bytes: number

  /**
   * @param body JSON
   * @param tag its entity tag (RFC 9110 §8.8.3), weak: the same for all codings
   * @param others more headers
   * @param isRebuilt whether it takes the place of another that is no longer right
   */
  constructor(
    body: Blob,
    readonly tag: string,
    others: Record<string, string> = {},
    isRebuilt = false,
  ) {
    const about = { ...others, ETag: tag, ...revalidated }
    this.plain = new Form(200, body, new Headers({ 'Content-Type': 'application/json', ...about }))
    this.unchanged = new Form(304, null, new Headers(about))
    this.#isSettled = !isRebuilt
    this.#bytes = body.size
  }

  /** How many are kept, of all its forms. */
  get bytes(): number {
    return this.#bytes
  }

  /** What it is in a coding, where that is at hand. */
  compressed(coding: Coding): Form | undefined {
    return this.#compressed.get(coding)
  }

  /**
   * Whether it is worth compressing. What took the place of another may not be right for long either, and compressing
   * takes longer than making it: so not for the first who asks.
   */
  isWorthCompressing(): boolean {
    const isSettled = this.#isSettled
    this.#isSettled = true
    return isSettled
  }

  /** Keeps what it is in a coding. */
  keep(coding: Coding, bytes: Uint8Array): Form {
    const headers = new Headers(this.plain.headers)
    headers.set('Content-Encoding', coding)
    const form = new Form(this.plain.status, new Blob([bytes]), headers)
    this.#compressed.set(coding, form)
    this.#bytes += form.size
    return form
  }
}

/** What tells bytes from others. */
export function digestOf(bytes: Uint8Array): bigint {
  return Bun.hash.xxHash3(bytes)
}

/** The entity tag of what is made of parts with these digests. */
export function tagOf(digests: readonly bigint[]): string {
  return `W/"${digestOf(Buffer.from(digests.join())).toString(36)}"`
}
