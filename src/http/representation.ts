import { constants, gzip } from 'node:zlib'
import { memo } from '../domain/memo'

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

/** The response may change at any moment and is for this partner only. */
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

/** A digest of bytes, for entity tags. */
export function digestOf(bytes: Uint8Array): bigint {
  return Bun.hash.xxHash3(bytes)
}

/** The entity tag of a body, from the digests of its parts. */
export function tagOf(digests: readonly bigint[]): string {
  return `W/"${digestOf(Buffer.from(digests.join())).toString(36)}"`
}

/** Content codings (RFC 9110 §8.4.1, RFC 8878). */
export type Coding = 'zstd' | 'gzip'

/** At the fastest level, because a page of search is sent only a few times before it changes. */
export const compress: Record<Coding, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array> = {
  zstd: (bytes) => Bun.zstdCompressSync(bytes),
  gzip: (bytes) => Bun.gzipSync(bytes, { library: 'libdeflate', level: 1 }),
}

/** The content coding that a client prefers; null for identity. */
interface Wish {
  readonly coding: Coding | null
  /** Whether the client refuses identity. */
  readonly isNeeded: boolean
}

const none: Wish = { coding: null, isNeeded: false }

/**
 * The content coding for an Accept-Encoding (RFC 9110 §12.5.3). A coding that is not named is accepted if `*` is. Identity
 * is accepted unless its weight is 0. At equal weights zstd wins, because it is smaller, unless only `*` allows it.
 * Identity if the client accepts nothing that we have.
 */
export function codingFor(acceptEncoding: string | null): Wish {
  return acceptEncoding === null ? none : wishIn(acceptEncoding)
}

// Clients send few different headers, and reading one takes longer than finding it here.
const wishIn = memo(100, (acceptEncoding) => toWish(weightsIn(acceptEncoding)))

/** Whether a client prefers gzip to identity. */
export function prefersGzip(acceptEncoding: string | null): boolean {
  const weights = weightsIn(acceptEncoding ?? '')
  return isPreferred(gzipWeight(weights), weights)
}

function toWish(weights: Weights): Wish {
  const [zstd, gzip] = [weights.get('zstd') ?? 0, gzipWeight(weights)]
  const best = Math.max(zstd, gzip)
  if (!isPreferred(best, weights)) return none
  const isNeeded = (weights.get('identity') ?? weights.get('*')) === 0
  return { coding: zstd === best ? 'zstd' : 'gzip', isNeeded }
}

type Weights = ReadonlyMap<string, number>

/** A longer header is ignored: reading it would take longer than the rest of a small response. */
const mostCharacters = 1_000

function weightsIn(acceptEncoding: string): Weights {
  if (acceptEncoding.length > mostCharacters) return new Map()
  return new Map(acceptEncoding.split(',').map(toWeight))
}

function gzipWeight(weights: Weights): number {
  return weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0
}

function isPreferred(weight: number, weights: Weights): boolean {
  return weight > 0 && weight >= (weights.get('identity') ?? 0)
}

/** A coding and its weight: 1 if there is none, 0 if it is malformed. */
function toWeight(text: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  if (parameters.length === 0) return [coding, 1]
  const [, weight] = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(parameters[0] ?? '') ?? []
  return [coding, Number(weight ?? 0)]
}

/** A document and its compressed form. */
export interface Document {
  readonly type: string
  /** Cache-Control. */
  readonly caching: string
  readonly plain: string | Blob
  /** Null for images, which are compressed already. */
  readonly compressed: (() => Promise<Uint8Array>) | null
}

/** A document that is compressed on first request, off the event loop, and then kept. */
export function toDocument(plain: string | Blob, type: string, caching: string): Document {
  if (type.startsWith('image/')) return { plain, type, caching, compressed: null }
  let made: Promise<Uint8Array> | undefined
  const compress = async () => toGzip(typeof plain === 'string' ? Buffer.from(plain) : await plain.bytes())
  return {
    plain,
    type,
    caching,
    compressed: () => {
      made ??= compress()
      return made
    },
  }
}

function toGzip(bytes: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    gzip(bytes, { level: constants.Z_BEST_COMPRESSION }, (error, result) =>
      error ? reject(error) : resolve(result),
    )
  })
}
