import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { paths } from '../contract/contract'
import type { Query } from './oracle-answers'

// Pages of searches as they come over the wire, undone by hand, and what every one of them must be whatever it says.

export type Coding = 'identity' | 'gzip' | 'zstd'

/** What clients say that they take, and what they may then be given. */
export const acceptances: readonly (readonly [accepts: string | null, given: readonly Coding[]])[] = [
  [null, ['identity']],
  ['', ['identity']],
  ['identity', ['identity']],
  ['br', ['identity']],
  ['gzip;q=0', ['identity']],
  ['gzip;q=0, zstd;q=0.000, *;q=0.5, identity', ['identity']],
  ['gzip', ['gzip', 'identity']],
  ['GZip', ['gzip', 'identity']],
  ['gzip, deflate', ['gzip', 'identity']],
  ['identity;q=0.1, gzip;q=0.2', ['gzip', 'identity']],
  ['zstd;q=0, *', ['gzip', 'identity']],
  ['zstd', ['zstd', 'identity']],
  ['gzip;q=0, *;q=0.1', ['zstd', 'identity']],
  ['gzip, deflate, br, zstd', ['zstd', 'gzip', 'identity']],
  ['zstd;q=0.4, gzip;q=0.9', ['zstd', 'gzip', 'identity']],
  ['*', ['zstd', 'gzip', 'identity']],
  ['identity;q=0, gzip', ['gzip']],
  ['gzip;q=0.001, *;q=0', ['gzip']],
  ['zstd, identity;q=0', ['zstd']],
]

/** A search as a client sends it. */
export interface Sent {
  readonly url: string
  readonly token: string
  readonly method: 'GET' | 'HEAD'
  /** Accept-Encoding; null for none. */
  readonly accepts: string | null
  readonly given: readonly Coding[]
  readonly ifNoneMatch: string | null
}

/** An answer as it came. */
export interface Received {
  readonly status: number
  readonly headers: Headers
  readonly coding: Coding
  readonly length: number
  readonly tag: string
  /** The body, decoded; null where there is none. */
  readonly text: string | null
}

/** Below the base address, with parameters that nobody knows. */
export function pathTo(query: Query, { hasSlash, extra }: { hasSlash: boolean; extra: string }): string {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
  return `${hasSlash ? paths.providers : paths.providers.slice(0, -1)}?${new URLSearchParams(parameters)}${extra}`
}

/** Sends a search, and undoes what the answer was coded with. @throws Error where it cannot be undone */
export async function send({ url, token, method, accepts, ifNoneMatch }: Sent): Promise<Received> {
  const response = await fetch(url, {
    method,
    // Otherwise decoded, and asked to be coded, behind our back.
    decompress: false,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(accepts !== null && { 'Accept-Encoding': accepts }),
      ...(ifNoneMatch !== null && { 'If-None-Match': ifNoneMatch }),
    },
  })
  const raw = await response.bytes()
  const { status, headers } = response
  const coding = (headers.get('content-encoding') ?? 'identity') as Coding
  const text = raw.length === 0 ? null : new TextDecoder('utf-8', { fatal: true }).decode(decode(raw, coding))
  return { status, headers, coding, length: raw.length, tag: headers.get('etag') ?? '', text }
}

function decode(raw: Uint8Array, coding: string): Uint8Array {
  switch (coding) {
    case 'identity':
      return raw
    case 'gzip':
      return gunzipSync(raw)
    case 'zstd':
      return zstdDecompressSync(raw)
    default:
      throw new Error(`nobody knows how to undo ${coding}`)
  }
}

/** What is wrong with a page, or with a word that nothing has changed, whatever the page says. */
export function faultsOf(
  { method, given, ifNoneMatch }: Sent,
  { status, headers, coding, length, tag, text }: Received,
): string[] {
  const header = (name: string) => headers.get(name) ?? 'none'
  const isPage = status === 200
  const hasBody = isPage && method === 'GET'
  const checks: readonly (readonly [isSo: boolean, fault: string])[] = [
    [!isPage || given.includes(coding), `it was coded with ${coding}`],
    [hasBody === (text !== null), hasBody ? 'it had no body' : 'it had a body'],
    // RFC 9110 §8.6: of an answer without a body it would be the page's length, or it is left out.
    [isPage || header('content-length') === 'none', `304 with Content-Length ${header('content-length')}`],
    [
      !hasBody || header('content-length') === String(length),
      `Content-Length ${header('content-length')} for ${length}`,
    ],
    [
      !isPage || /^application\/json\b/.test(header('content-type')),
      `Content-Type ${header('content-type')}`,
    ],
    [/(^|,) *accept-encoding *(,|$)/i.test(header('vary')), `Vary ${header('vary')}`],
    [header('cache-control') === 'private, no-cache', `Cache-Control ${header('cache-control')}`],
    [/^(W\/)?"[!#-~]*"$/.test(tag), `ETag ${tag || 'none'}`],
    [isPage || ifNoneMatch === '*' || includesTag(ifNoneMatch, tag), `304 of ${tag} to ${ifNoneMatch}`],
  ]
  return checks.flatMap(([isSo, fault]) => (isSo ? [] : [fault]))
}

/** Whether a tag is one of a list's (RFC 9110 §8.8.3.2: weakly compared). */
function includesTag(list: string | null, tag: string): boolean {
  return (list ?? '').split(', ').some((one) => opaque(one) === opaque(tag))
}

/** A tag without saying how strong it is. */
export function opaque(tag: string): string {
  return tag.replace(/^W\//, '')
}
