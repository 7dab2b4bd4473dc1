import type { Serving } from './service'

export const encodings = ['identity', 'gzip', 'zstd'] as const
export type Encoding = (typeof encodings)[number]

/** A request of the bench, and what its answer must be. */
export interface Ask {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly status: number
  readonly encoding: Encoding
}

/** An answer as it came. */
export interface Received {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
}

/** A search in the region of all providers: a page of 20, of those whom a filter such as `&language=fr` finds. */
export function search(
  { token, regionId }: Serving,
  page = 1,
  encoding: Encoding = 'identity',
  filter = '',
): Ask {
  const path = `/partners/v1/providers/?region_id=${regionId}${filter}&page=${page}`
  return { path, headers: { ...bearer(token), 'Accept-Encoding': encoding }, status: 200, encoding }
}

/** The same of somebody who has the answer already. */
export function unchanged(ask: Ask, { headers }: Received): Ask {
  const tag = headers.get('etag')
  if (!tag) throw new Error('an answer has no ETag')
  return { ...ask, headers: { ...ask.headers, 'If-None-Match': tag }, status: 304, encoding: 'identity' }
}

export function regionList({ token }: Serving): Ask {
  return small('/partners/v1/provider-regions/?country_code=CA', bearer(token))
}

export function lookUp({ token }: Serving, externalUserId: string): Ask {
  return small(`/partners/v1/user/?external_user_id=${externalUserId}`, bearer(token))
}

/** A request whose token is the real one but for its signature. */
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
 * The answer of a service that has been asked the same just before, as what is measured has been.
 *
 * @throws Error where it is not what it must be
 */
export async function settled(baseUrl: string, ask: Ask): Promise<Received> {
  // While a page has only just been made anew, it may be answered as it is.
  for (let earlier = 0; earlier < 3; earlier++) await receive(baseUrl, ask)
  const received = await receive(baseUrl, ask)
  if (received.status !== ask.status) throw new Error(`answered ${received.status}, not ${ask.status}`)
  const encoding = received.headers.get('content-encoding') ?? 'identity'
  if (encoding !== ask.encoding) throw new Error(`not compressed: ${encoding} instead of ${ask.encoding}`)
  return received
}

/** Asks once. The body stays as it is sent. */
export async function receive(baseUrl: string, { path, headers }: Ask): Promise<Received> {
  const response = await fetch(baseUrl + path, { headers, decompress: false })
  return { status: response.status, headers: response.headers, bytes: await response.bytes() }
}

/** What an answer says, whatever it was sent as. */
export function textOf({ headers, bytes }: Pick<Received, 'headers' | 'bytes'>): string {
  return new TextDecoder().decode(decoded(bytes, headers.get('content-encoding')))
}

function decoded(bytes: Uint8Array, encoding: string | null): Uint8Array {
  if (encoding === 'gzip') return Bun.gunzipSync(new Uint8Array(bytes))
  return encoding === 'zstd' ? Bun.zstdDecompressSync(new Uint8Array(bytes)) : bytes
}
