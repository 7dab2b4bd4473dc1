import { constants, gzip } from 'node:zlib'

/** A document as it is served: as it is, and where it pays compressed, which is done once. */
export interface Document {
  readonly type: string
  /** Cache-Control. */
  readonly caching: string
  readonly plain: string | Blob
  /** Null for what would not get smaller. */
  readonly compressed: (() => Promise<Uint8Array>) | null
}

/** A document that is compressed when it is first asked for so, away from the event loop, and kept. */
export function toDocument(plain: string | Blob, type: string, caching: string): Document {
  // Those are compressed already.
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

/**
 * Whether a client would rather have gzip than what is not compressed, by its Accept-Encoding (RFC 9110 §12.5.3). What it does not
 * name it takes where it names `*`, and identity in any case; what it gives the weight 0 it does not take.
 */
export function prefersGzip(acceptEncoding: string | null): boolean {
  const weights = new Map((acceptEncoding ?? '').split(',').map(toWeight))
  const gzip = weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0)
}

/** A coding and its weight: 1 unless told, and 0 where what is told is none. */
function toWeight(text: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  if (parameters.length === 0) return [coding, 1]
  const [, weight] = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(parameters[0] ?? '') ?? []
  return [coding, Number(weight ?? 0)]
}
