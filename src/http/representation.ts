import type { Coding } from './content-coding'

/**
 * An answer's body as it is sent, made once and sent many times: its bytes, which all who are sent them share, what tells
 * it from others, and its compressed forms.
 */
export class Representation {
  readonly #compressed = new Map<Coding, Blob>()
  #isSettled: boolean
  #bytes: number

  /**
   * @param tag its entity tag (RFC 9110 §8.8.3), weak: the same for all codings
   * @param isRebuilt whether it takes the place of another that is no longer right
   */
  constructor(
    readonly plain: Blob,
    readonly tag: string,
    isRebuilt = false,
  ) {
    this.#isSettled = !isRebuilt
    this.#bytes = plain.size
  }

  /** What stays as it is. */
  static of(bytes: Uint8Array<ArrayBuffer>): Representation {
    return new Representation(new Blob([bytes]), tagOf([digestOf(bytes)]))
  }

  /** How many are kept, of all its forms. */
  get bytes(): number {
    return this.#bytes
  }

  /** What it is in a coding, where that is at hand. */
  compressed(coding: Coding): Blob | undefined {
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
  keep(coding: Coding, bytes: Uint8Array): Blob {
    const blob = new Blob([bytes])
    this.#compressed.set(coding, blob)
    this.#bytes += blob.size
    return blob
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
