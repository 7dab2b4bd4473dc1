import { Refusal } from '../domain/errors'
import type { Words } from './errors'

const maximumBodyBytes = 256 * 1024
const maximumDepth = 32

/** Timeout in ms for receiving a body. Meanwhile, the request counts as in flight. */
const mostMillis = 10_000

export const bodyRefusals = {
  media_type_unsupported: 'Content-Type: must be application/json in UTF-8',
  body_too_large: `body: larger than ${maximumBodyBytes} bytes`,
  body_malformed: 'body: must be JSON in UTF-8',
} as const satisfies Words

/** @throws Refusal media_type_unsupported, body_too_large, or body_malformed if the body is incomplete or too slow */
export async function readBody(request: Request): Promise<Uint8Array> {
  const { headers } = request
  if (!isJson(headers.get('content-type') ?? '')) {
    throw new Refusal('media_type_unsupported', bodyRefusals.media_type_unsupported)
  }
  if (!/^(identity)?$/i.test(headers.get('content-encoding') ?? '')) {
    throw new Refusal('media_type_unsupported', 'Content-Encoding: must be omitted')
  }
  return readBytes(request)
}

/** Reads a body that the endpoint ignores. @throws Refusal body_too_large */
export async function skipBody(request: Request): Promise<Uint8Array> {
  return readBytes(request).catch((error) => {
    if (error instanceof Refusal && error.kind === 'body_malformed') return new Uint8Array()
    throw error
  })
}

async function readBytes(request: Request): Promise<Uint8Array> {
  const length = request.headers.get('content-length')
  if (Number(length ?? 0) > maximumBodyBytes) throw tooLarge()
  try {
    // The server enforces Content-Length. With this header, the body is read in one call, which is much faster.
    return await inTime(length === null ? readChunks(request) : request.bytes())
  } catch (error) {
    if (error instanceof Refusal) throw error
    // The client disconnected or broke the protocol.
    throw new Refusal('body_malformed', 'body: incomplete')
  }
}

/** Returns 0 for a body that is too large, or whose length is only known once it is read. */
export function declaredBytes({ headers }: Request): number {
  const length = Number(headers.get('content-length') ?? 0)
  return length <= maximumBodyBytes ? length : 0
}

const bytesOfUnit = 8 * 1024

/** A call costs 1, and 1 more for each full 8 KiB of its body: stored data must not grow faster than the rate. */
export function costOfBody(bytes: number): number {
  return 1 + Math.floor(bytes / bytesOfUnit)
}

async function readChunks({ body }: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > maximumBodyBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function inTime(reading: Promise<Uint8Array>): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const giveUp = () => reject(new Refusal('body_malformed', 'body: not received within 10 seconds'))
  const timer = setTimeout(giveUp, mostMillis)
  reading.then(resolve, reject).finally(() => clearTimeout(timer))
  return promise
}

function tooLarge(): Refusal {
  return new Refusal('body_too_large', bodyRefusals.body_too_large)
}

/** Ignores case (RFC 9110 §8.3.1) and parameters other than charset. */
function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  return type === 'application/json' && (charset === undefined || /^charset="?utf-8"?$/.test(charset))
}

/** @throws Refusal body_malformed if the body is nested too deeply, not UTF-8 or not JSON */
export function parseJson(bytes: Uint8Array): unknown {
  if (isTooDeep(bytes)) {
    throw new Refusal('body_malformed', `body: nested more than ${maximumDepth} levels deep`)
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new Refusal('body_malformed', bodyRefusals.body_malformed)
  }
}

const [quote, backslash, openArray, closeArray, openObject, closeObject] = Buffer.from('"\\[]{}')

/** Called before parsing, because deeply nested values cost far more than their size suggests. */
function isTooDeep(bytes: Uint8Array): boolean {
  let depth = 0
  let isInString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isInString) {
      if (byte === backslash) at++
      else if (byte === quote) isInString = false
    } else if (byte === quote) isInString = true
    else if (byte === openArray || byte === openObject) {
      if (++depth > maximumDepth) return true
    } else if (byte === closeArray || byte === closeObject) depth--
  }
  return false
}
