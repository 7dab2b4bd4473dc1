import { Refusal } from '../domain/errors'
import type { Words } from './errors'

/** The largest request body that is read (decisions, Body strings). */
const maximumBodyBytes = 256 * 1024
/** How many objects and arrays may stand in one another (decisions, Depth). */
const maximumDepth = 32

/** How long a body may be on its way, in ms: a request has its place among those in flight meanwhile. */
const mostMillis = 10_000

/** What a body is refused for, whatever it should have held. */
export const bodyRefusals = {
  media_type_unsupported: 'Content-Type: must be application/json in UTF-8',
  body_too_large: `body: larger than ${maximumBodyBytes} bytes`,
  body_malformed: 'body: not JSON in UTF-8',
} as const satisfies Words

/**
 * Reads a body that says it is JSON, no further than it may go.
 *
 * @throws Refusal media_type_unsupported, body_too_large, or body_malformed for one that breaks off or takes too long
 */
export async function readBody(request: Request): Promise<Uint8Array> {
  const { headers } = request
  if (!isJson(headers.get('content-type') ?? '')) {
    throw new Refusal('media_type_unsupported', bodyRefusals.media_type_unsupported)
  }
  if (!/^(identity)?$/i.test(headers.get('content-encoding') ?? '')) {
    throw new Refusal('media_type_unsupported', 'Content-Encoding: must be left out')
  }
  const length = headers.get('content-length')
  if (Number(length ?? 0) > maximumBodyBytes) throw tooLarge()
  try {
    // A length that was told is held to by the server: then all of the body is asked for at once, which costs much less.
    return await inTime(length === null ? readChunks(request) : request.bytes())
  } catch (error) {
    if (error instanceof Refusal) throw error
    // Whoever was sending it has gone, or does not keep to the protocol: no fault of ours.
    throw new Refusal('body_malformed', 'body: broke off')
  }
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
  const giveUp = () => reject(new Refusal('body_malformed', 'body: took too long'))
  const timer = setTimeout(giveUp, mostMillis)
  reading.then(resolve, reject).finally(() => clearTimeout(timer))
  return promise
}

function tooLarge(): Refusal {
  return new Refusal('body_too_large', bodyRefusals.body_too_large)
}

/** Whether a media type, in any case (RFC 9110 §8.3.1), is JSON's; of its parameters only charset matters. */
function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  return type === 'application/json' && (charset === undefined || /^charset="?utf-8"?$/.test(charset))
}

/** The value that bytes of JSON in UTF-8 say. @throws Refusal body_malformed */
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

/**
 * Whether brackets stand in one another more deeply than they may. Asked before anything is parsed: a value of
 * many levels costs whatever walks through it far more than its bytes do.
 */
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
