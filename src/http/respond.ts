import { Type } from '@sinclair/typebox'
import type { FairQueue } from './admission'
import type { Reply } from './endpoints/endpoint'
import { noStore } from './errors'
import { type LogEntry, setAll } from './log'
import { rateHeaders } from './rate-limits'
import { type Coding, codingFor, compress, type Form, Representation, revalidated } from './representation'

/** In bytes. For a late response of this size or more, Bun 1.4.5 uses a slow system call for each header. */
const leastBytes = 15 * 1024

/** True if a late response of this size must be sent with inOnePiece. */
export function wouldBeInPieces(size: number): boolean {
  return size >= leastBytes
}

/** Creates a streamed response with a single write. Bun buffers the stream and sends it with its length. */
export function inOnePiece(bytes: Uint8Array, about: ResponseInit): Response {
  const pull = (sink: ReadableStreamDirectController) => {
    sink.write(bytes)
    sink.end()
  }
  // highWaterMark must be larger than the body. Otherwise Bun sends a part before the end.
  const body = new ReadableStream({ type: 'direct', pull }, { highWaterMark: bytes.length + 1 })
  return new Response(body, about)
}

interface AnsweredRequest {
  readonly request: Request
  readonly partnerId: number
  readonly status: number
  readonly entry: LogEntry
  /** Gives the cost of the body back. */
  readonly refund: () => void
}

/** Sends 304 if the client has this response (RFC 9110 §13.1.2). Else sends the client's preferred coding. */
export function respond<Answer>(
  { body, headers, counted }: Reply<Answer>,
  { request, partnerId, status, entry, refund }: AnsweredRequest,
  queue: FairQueue,
): Response | Promise<Response> {
  entry.counted = counted ?? null
  if (!(body instanceof Representation)) {
    const tag = request.method === 'POST' ? undefined : headers?.ETag
    if (tag !== undefined && matchesAny(tag, request.headers.get('if-none-match')))
      return new Response(null, { status: 304, headers: { ...noStore, ...entry.headers, ...headers } })
    const text = JSON.stringify(body)
    entry.bytes = Buffer.byteLength(text)
    const about = { 'Content-Type': 'application/json', ...noStore, ...entry.headers, ...headers }
    return new Response(text, { status, headers: about })
  }
  if (matchesAny(body.tag, request.headers.get('if-none-match'))) {
    refund()
    return send(body.unchanged, entry)
  }
  const { coding, isNeeded } = codingFor(request.headers.get('accept-encoding'))
  const handOver = (form: Form): Response | Promise<Response> => {
    if (form.size <= mostBytesAtOnce) return send(form, entry)
    entry.isLate = true
    return queue.turn(partnerId).then(() => send(form, entry))
  }
  if (coding === null) return handOver(body.plain)
  const compressed = body.compressed(coding)
  if (compressed) return handOver(compressed)
  if (!body.isWorthCompressing() && !isNeeded) return handOver(body.plain)
  entry.isLate = true
  return compressing(body, coding, queue, partnerId).then(handOver)
}

/** In bytes, more than a usual page. Larger bodies wait for the partner's turn, because they delay other requests. */
const mostBytesAtOnce = 512 * 1024

const rateNames = Object.keys(rateHeaders)

function send(form: Form, entry: LogEntry): Response | Promise<Response> {
  const { size } = form
  entry.bytes = size
  // A response to HEAD has a length but no body.
  if (!entry.isLate || entry.method === 'HEAD' || !wouldBeInPieces(size))
    return new Response(form.body, responseInit(form, entry))
  const bytes = form.read()
  if (bytes instanceof Promise) return bytes.then((read) => inOnePiece(read, responseInit(form, entry)))
  return inOnePiece(bytes, responseInit(form, entry))
}

/** Use the result at once, because the next response changes the same Headers object. */
function responseInit({ status, headers }: Form, entry: LogEntry): ResponseInit {
  for (const name of rateNames) if (entry.headers[name] === undefined) headers.delete(name)
  setAll(headers, entry.headers)
  return { status, headers }
}

export const RevalidationHeaders = Type.Object({
  'If-None-Match': Type.Optional(
    Type.String({ description: 'One or more ETags of earlier responses to the same request' }),
  ),
})

const text = { type: 'string' }

export const revalidationHeaders = {
  ETag: { description: 'Weak validator of this response', schema: text },
  'Cache-Control': {
    description: 'Clients may cache the response, but must revalidate it with If-None-Match before each use',
    schema: text,
    example: revalidated['Cache-Control'],
  },
  Vary: { description: 'The response depends on Accept-Encoding', schema: text, example: revalidated.Vary },
}

/** True if If-None-Match contains the tag (weak comparison). `*` matches every tag. */
function matchesAny(tag: string, ifNoneMatch: string | null): boolean {
  if (ifNoneMatch === null) return false
  if (ifNoneMatch.trim() === '*') return true
  const opaque = tag.slice(tag.indexOf('"'))
  // Fast path, because a list may be long and most lists do not contain the tag.
  if (!ifNoneMatch.includes(opaque)) return false
  return ifNoneMatch.split(',').some((text) => {
    const named = text.trim()
    return named === tag || named === opaque
  })
}

/** Bodies that are being read for compression. Concurrent requests share a read, because each read copies the body. */
const read = new WeakMap<Representation, ReturnType<Form['read']>>()

async function compressing(body: Representation, coding: Coding, queue: FairQueue, partnerId: number) {
  const reading = read.get(body) ?? body.plain.read()
  read.set(body, reading)
  const bytes = await reading
  await queue.turn(partnerId)
  // Another request may have compressed the body meanwhile.
  const made = body.compressed(coding) ?? body.keep(coding, compress[coding](bytes))
  read.delete(body)
  return made
}
