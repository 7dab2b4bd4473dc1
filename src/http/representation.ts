import { constants, gzip } from 'node:zlib'
import { memo } from '../domain/memo'

/** One encoding of a cached response. A Blob is sent without a copy, but late responses need bytes. */
export class Form {
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

  /** Returns the bytes, and caches them from the second call on. Only asynchronous responses call this. */
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

  slice(start: number, end: number): Blob | Uint8Array<ArrayBuffer> {
    const body = this.#body ?? new Uint8Array()
    return body instanceof Uint8Array ? body.subarray(start, end) : body.slice(start, end)
  }
}

/** For a private response. Clients must revalidate the response before every use. */
export const revalidated = {
  Vary: 'Accept-Encoding',
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
}

/** A cached response in all forms: plain, compressed, and 304 Not Modified (RFC 9110 §8.4, §15.4.5). */
export class Representation {
  readonly plain: Form
  readonly unchanged: Form
  readonly #compressed = new Map<Coding, Form>()
  #isSettled: boolean
  #bytes: number

  /** @param tag weak entity tag (RFC 9110 §8.8.3), the same for all codings */
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

  get bytes(): number {
    return this.#bytes
  }

  compressed(coding: Coding): Form | undefined {
    return this.#compressed.get(coding)
  }

  /** False on the first call, because a new page may soon change again. Compressing costs more than rebuilding. */
  isWorthCompressing(): boolean {
    const isSettled = this.#isSettled
    this.#isSettled = true
    return isSettled
  }

  keep(coding: Coding, bytes: Uint8Array): Form {
    const headers = new Headers(this.plain.headers)
    headers.set('Content-Encoding', coding)
    const form = new Form(this.plain.status, new Blob([bytes]), headers)
    this.#compressed.set(coding, form)
    this.#bytes += form.size
    return form
  }
}

/** Returns a hash that is fast but not cryptographic. */
export function digestOf(bytes: Uint8Array): bigint {
  return Bun.hash.xxHash3(bytes)
}

export function tagOf(digests: readonly bigint[]): string {
  return `W/"${digestOf(Buffer.from(digests.join())).toString(36)}"`
}

/** RFC 9110 §8.4.1, RFC 8878. */
export type Coding = 'zstd' | 'gzip'

/** Prefers speed to size, because a search page is sent only a few times before it changes. */
export const compress: Record<Coding, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array> = {
  zstd: (bytes) => Bun.zstdCompressSync(bytes),
  gzip: (bytes) => Bun.gzipSync(bytes, { library: 'libdeflate', level: 1 }),
}

interface Wish {
  readonly coding: Coding | null
  /** True if the client rejects an uncompressed response. */
  readonly isNeeded: boolean
}

const none: Wish = { coding: null, isNeeded: false }

/** Chooses the content coding (RFC 9110 §12.5.3). `*` means gzip. At equal weights, zstd wins (smaller output). */
export function codingFor(acceptEncoding: string | null): Wish {
  return acceptEncoding === null ? none : wishIn(acceptEncoding)
}

// Cached, because clients send few different headers. Parsing takes longer than a lookup.
const wishIn = memo(100, (acceptEncoding) => toWish(weightsIn(acceptEncoding)))

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

/** Longer headers are ignored, because parsing takes longer than sending a small response. */
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

/** A missing weight is 1, and a malformed weight is 0. */
function toWeight(text: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  if (parameters.length === 0) return [coding, 1]
  const [, weight] = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(parameters[0] ?? '') ?? []
  return [coding, Number(weight ?? 0)]
}

export interface Document {
  readonly type: string
  readonly caching: string
  readonly plain: string | Blob
  /** Null for images, which are already compressed. */
  readonly compressed: (() => Promise<Uint8Array>) | null
}

/** Returns a document. At the first request, compresses it in another thread and keeps the result. */
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
