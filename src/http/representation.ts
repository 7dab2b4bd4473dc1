import type { Coding } from './content-coding'

/** One way in which an answer is sent: made once, and shared by all who are sent it. */
export class Form {
  /** Of the body, in bytes. */
  readonly size: number
  #read: Uint8Array | null = null
  #wasRead = false

  constructor(
    readonly status: number,
    readonly body: Blob | null,
    readonly headers: Headers,
  ) {
    this.size = body?.size ?? 0
  }

  /** How many bytes are kept of it. */
  get keptBytes(): number {
    return this.size + (this.#read?.length ?? 0)
  }

  /**
   * The body's bytes, a copy of it. What is read once may never be read again: kept is what is read twice, as each time where
   * an engine is on a server.
   */
  read(): Uint8Array | Promise<Uint8Array> {
    if (this.#read) return this.#read
    const reading = this.body?.bytes() ?? Promise.resolve(new Uint8Array())
    if (!this.#wasRead) {
      this.#wasRead = true
      return reading
    }
    return reading.then((bytes) => {
      this.#read = bytes
      return bytes
    })
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

  /**
   * @param body JSON
   * @param tag its entity tag (RFC 9110 §8.8.3), weak: the same for all codings
   * @param told other headers of it
   * @param isRebuilt whether it takes the place of another that is no longer right
   */
  constructor(
    readonly body: Blob,
    readonly tag: string,
    told: Record<string, string> = {},
    isRebuilt = false,
  ) {
    const about = { ...told, ETag: tag, ...revalidated }
    this.plain = new Form(200, body, new Headers({ 'Content-Type': 'application/json', ...about }))
    this.unchanged = new Form(304, null, new Headers(about))
    this.#isSettled = !isRebuilt
  }

  /** How many are kept, of all its forms. */
  get bytes(): number {
    let bytes = this.plain.keptBytes
    for (const form of this.#compressed.values()) bytes += form.keptBytes
    return bytes
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
