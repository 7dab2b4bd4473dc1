import { Type } from '@sinclair/typebox'
import type { FairQueue } from './admission'
import type { Reply } from './endpoints/endpoint'
import { noStore } from './errors'
import { type LogEntry, setAll } from './log'
import { rateHeaders } from './rate-limits'
import { type Coding, codingFor, compress, type Form, Representation, revalidated } from './representation'

/**
 * From this size on, Bun 1.4.5 sends an answer that came in a later turn than its request without gathering it first (cork):
 * each header by system calls of its own, which take eight times as long as all the rest.
 */
const leastBytes = 15 * 1024

/** Whether an answer of so many bytes, about which something was waited for, has to be sent by inOnePiece. */
export function wouldBeInPieces(size: number): boolean {
  return size >= leastBytes
}

/** A large answer as a stream that gives all of it at once, which Bun gathers and tells the length of. */
export function inOnePiece(bytes: Uint8Array, about: ResponseInit): Response {
  const pull = (sink: ReadableStreamDirectController) => {
    sink.write(bytes)
    sink.end()
  }
  // Nothing is sent until as much is there, and so all of it in the end.
  const body = new ReadableStream({ type: 'direct', pull }, { highWaterMark: bytes.length + 1 })
  return new Response(body, about)
}

/** Who asked for an answer, and with what else it goes. */
interface AnsweredRequest {
  readonly request: Request
  readonly partnerId: number
  readonly status: number
  readonly entry: LogEntry
}

/**
 * The answer that a reply makes. Of one that was made to be sent many times the client is told no more than that it has it
 * already, where that is so (RFC 9110 §13.1.2); else it is sent as the client takes it, compressed in its partner's turn.
 */
export function respond<Answer>(
  { body, headers, counted }: Reply<Answer>,
  { request, partnerId, status, entry }: AnsweredRequest,
  queue: FairQueue,
): Response | Promise<Response> {
  entry.counted = counted ?? null
  if (!(body instanceof Representation)) {
    const text = JSON.stringify(body)
    entry.bytes = Buffer.byteLength(text)
    const about = { 'Content-Type': 'application/json', ...noStore, ...entry.headers, ...headers }
    return new Response(text, { status, headers: about })
  }
  if (isAmong(body.tag, request.headers.get('if-none-match'))) return send(body.unchanged, entry)
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

/** The largest body that is sent without a wait: a page of the usual size. Sending a larger one keeps others waiting. */
const mostBytesAtOnce = 512 * 1024

/** What some of those who are sent the same are told, and not all of them. */
const rateNames = Object.keys(rateHeaders)

function send(form: Form, entry: LogEntry): Response | Promise<Response> {
  const { size } = form
  entry.bytes = size
  // The answer to HEAD has no body, and tells the length of what it would have.
  if (!entry.isLate || entry.method === 'HEAD' || !wouldBeInPieces(size))
    return new Response(form.body, responseInit(form, entry))
  const bytes = form.read()
  if (bytes instanceof Promise) return bytes.then((read) => inOnePiece(read, responseInit(form, entry)))
  return inOnePiece(bytes, responseInit(form, entry))
}

/** To be handed over at once: others are told something else in the same headers. */
function responseInit({ status, headers }: Form, entry: LogEntry): ResponseInit {
  // Whoever has no limit is told of none.
  for (const name of rateNames) if (entry.headers[name] === undefined) headers.delete(name)
  setAll(headers, entry.headers)
  return { status, headers }
}

/** What a client may send to be told only whether what it has is still right, as the document has it. */
export const RevalidationHeaders = Type.Object({
  'If-None-Match': Type.Optional(
    Type.String({ description: 'The ETag of an earlier answer to the same request, or several of them' }),
  ),
})

const text = { type: 'string' }

/** What goes with an answer that a client may keep, as the document has it. */
export const revalidationHeaders = {
  ETag: { description: 'What tells this answer from others to the same request; weak', schema: text },
  'Cache-Control': {
    description: 'It may be kept, but not used unless it was asked for again with If-None-Match',
    schema: text,
    example: revalidated['Cache-Control'],
  },
  Vary: {
    description: 'It is compressed as Accept-Encoding asks for',
    schema: text,
    example: revalidated.Vary,
  },
}

/** Whether If-None-Match names a tag, or any, by the weak comparison. */
function isAmong(tag: string, ifNoneMatch: string | null): boolean {
  if (ifNoneMatch === null) return false
  if (ifNoneMatch.trim() === '*') return true
  const opaque = tag.slice(tag.indexOf('"'))
  // A list of others may be long, and most that are sent do not name it.
  if (!ifNoneMatch.includes(opaque)) return false
  return ifNoneMatch.split(',').some((text) => {
    const named = text.trim()
    return named === tag || named === opaque
  })
}

/** What is about to be compressed: read once for all who wait for it, since each reading is a copy of the whole. */
const read = new WeakMap<Representation, ReturnType<Form['read']>>()

async function compressing(
  body: Representation,
  coding: Coding,
  queue: FairQueue,
  partnerId: number,
): Promise<Form> {
  const reading = read.get(body) ?? body.plain.read()
  read.set(body, reading)
  const bytes = await reading
  await queue.turn(partnerId)
  // Another request may have compressed it meanwhile.
  const made = body.compressed(coding) ?? body.keep(coding, compress[coding](bytes))
  read.delete(body)
  return made
}
