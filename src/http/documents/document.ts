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
