import type { Serving } from './service'

export const encodings = ['identity', 'gzip', 'zstd'] as const
export type Encoding = (typeof encodings)[number]

/** A request of the benchmark and its expected response. */
export interface Ask {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly status: number
  readonly encoding: Encoding
}

export interface Received {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
}

/** A search for all providers. @param filter further query parameters, for example `&language=fr` */
export function search(
  { token, regionId }: Serving,
  page = 1,
  encoding: Encoding = 'identity',
  filter = '',
): Ask {
  const path = `/partners/v1/providers/?region_id=${regionId}${filter}&page=${page}`
  return { path, headers: { ...bearer(token), 'Accept-Encoding': encoding }, status: 200, encoding }
}

/** Returns the same request with the ETag of an earlier response. The response must be a 304. */
export function unchanged(ask: Ask, { headers }: Received): Ask {
  const tag = headers.get('etag')
  if (!tag) throw new Error('the response has no ETag')
  return { ...ask, headers: { ...ask.headers, 'If-None-Match': tag }, status: 304, encoding: 'identity' }
}

export function regionList({ token }: Serving): Ask {
  return small('/partners/v1/provider-regions/?country_code=CA', bearer(token))
}

export function lookUp({ token }: Serving, externalUserId: string): Ask {
  return small(`/partners/v1/user/?external_user_id=${externalUserId}`, bearer(token))
}

/** A request with a forged token signature. */
export function forged({ token }: Serving): Ask {
  const [header, payload, signature = ''] = token.split('.')
  const other = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
  return refused(bearer([header, payload, other].join('.')))
}

export function tokenless(): Ask {
  return refused({})
}

function refused(headers: Record<string, string>): Ask {
  return { ...small('/partners/v1/provider-regions/?country_code=CA', headers), status: 401 }
}

function small(path: string, headers: Record<string, string>): Ask {
  return { path, headers: { ...headers, 'Accept-Encoding': 'identity' }, status: 200, encoding: 'identity' }
}

function bearer(token: string) {
  return { Authorization: `Bearer ${token}` }
}

/**
 * Warms up the service with a request, and returns the next response.
 * @throws Error if the status or the encoding is not the expected one
 */
export async function settled(baseUrl: string, ask: Ask): Promise<Received> {
  // A page that was just built may first be sent uncompressed.
  for (let earlier = 0; earlier < 3; earlier++) await receive(baseUrl, ask)
  const received = await receive(baseUrl, ask)
  if (received.status !== ask.status) throw new Error(`answered ${received.status}, not ${ask.status}`)
  const encoding = received.headers.get('content-encoding') ?? 'identity'
  if (encoding !== ask.encoding)
    throw new Error(`the response is encoded with ${encoding} instead of ${ask.encoding}`)
  return received
}

export async function receive(baseUrl: string, { path, headers }: Ask): Promise<Received> {
  const response = await fetch(baseUrl + path, { headers, decompress: false })
  return { status: response.status, headers: response.headers, bytes: await response.bytes() }
}

/** The decompressed body as text. */
export function textOf({ headers, bytes }: Pick<Received, 'headers' | 'bytes'>): string {
  return new TextDecoder().decode(decoded(bytes, headers.get('content-encoding')))
}

function decoded(bytes: Uint8Array, encoding: string | null): Uint8Array {
  if (encoding === 'gzip') return Bun.gunzipSync(new Uint8Array(bytes))
  return encoding === 'zstd' ? Bun.zstdDecompressSync(new Uint8Array(bytes)) : bytes
}
