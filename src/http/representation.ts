import type { Coding } from './content-coding'

/** One way in which an answer is sent: made once, and shared by all who are sent it. */
export interface Form {
  readonly status: number
  readonly body: Blob | null
  readonly headers: Headers
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
    this.plain = { status: 200, body, headers: new Headers({ 'Content-Type': 'application/json', ...about }) }
    this.unchanged = { status: 304, body: null, headers: new Headers(about) }
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
    const body = new Blob([bytes])
    const headers = new Headers(this.plain.headers)
    headers.set('Content-Encoding', coding)
    const form = { ...this.plain, body, headers }
    this.#compressed.set(coding, form)
    this.#bytes += body.size
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
