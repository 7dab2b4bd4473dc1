import { memo } from '../domain/memo'

/** How a body is compressed on its way (RFC 9110 §8.4.1, RFC 8878). */
export type Coding = 'zstd' | 'gzip'

/** Compresses as fast as it can be done: a page of search is sent a few times before it is another. */
export const compress: Record<Coding, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array> = {
  zstd: (bytes) => Bun.zstdCompressSync(bytes),
  gzip: (bytes) => Bun.gzipSync(bytes, { library: 'libdeflate', level: 1 }),
}

/** What a client would have a body compressed with; null for none. */
interface Wish {
  readonly coding: Coding | null
  /** Whether it takes nothing that is not compressed. */
  readonly isNeeded: boolean
}

const none: Wish = { coding: null, isNeeded: false }

/**
 * The coding that a client would rather have than what is not compressed, by its Accept-Encoding (RFC 9110 §12.5.3). What it does not
 * name it takes where it names `*`, and identity in any case but where it gives that the weight 0; what it gives the weight 0 it does
 * not take. Of those that it gives the same weight it gets zstd, which is smaller, but not by `*`. It gets identity where it
 * takes nothing that there is.
 */
export function codingFor(acceptEncoding: string | null): Wish {
  return acceptEncoding === null ? none : wishIn(acceptEncoding)
}

// Clients send few headers, and to read one takes longer than to find it.
const wishIn = memo(100, (acceptEncoding) => toWish(weightsIn(acceptEncoding)))

/** Whether a client would rather have gzip than what is not compressed. */
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

/** The longest header that is read: a longer one takes more time than all the rest of a small answer, and is as none. */
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

/** A coding and its weight: 1 unless told, and 0 where what is told is none. */
function toWeight(text: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  if (parameters.length === 0) return [coding, 1]
  const [, weight] = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(parameters[0] ?? '') ?? []
  return [coding, Number(weight ?? 0)]
}
