import { Type } from '@sinclair/typebox'
import { type Coding, codingFor, compress } from './content-coding'
import type { Reply } from './endpoint'
import { Representation } from './representation'
import type { Steps, Turns } from './turns'

/** Who asked for an answer, and with what else it goes. */
interface Asked {
  readonly request: Request
  readonly partnerId: number
  readonly status: number
  /** Headers that go with every answer to them. */
  readonly told: Record<string, string>
}

/**
 * The answer that a reply makes. Of one that was made to be sent many times the client is told no more than that it has it
 * already, where that is so (RFC 9110 §13.1.2); else it is sent as the client takes it, compressed in its partner's turn.
 */
export function respond<Answer>(
  { body, headers }: Reply<Answer>,
  { request, partnerId, status, told }: Asked,
  turns: Turns,
): Response | Promise<Response> {
  if (!(body instanceof Representation)) {
    return new Response(JSON.stringify(body), { status, headers: { ...json, ...told, ...headers } })
  }
  const about = { ...told, ...headers, ETag: body.tag, ...revalidated }
  if (isAmong(body.tag, request.headers.get('if-none-match'))) {
    return new Response(null, { status: 304, headers: about })
  }
  const answer = (sent: Blob, coded: Record<string, string>) =>
    new Response(sent, { status, headers: { ...json, ...coded, ...about } })
  const { coding, isNeeded } = codingFor(request.headers.get('accept-encoding'))
  if (coding === null) return answer(body.plain, {})
  const compressed = body.compressed(coding)
  if (compressed) return answer(compressed, { 'Content-Encoding': coding })
  if (!body.isWorthCompressing() && !isNeeded) return answer(body.plain, {})
  return compressing(body, coding, turns, partnerId).then((bytes) =>
    answer(bytes, { 'Content-Encoding': coding }),
  )
}

const json = { 'Content-Type': 'application/json' }

/** It may be another at any moment, and is for nobody but whoever asked. */
const revalidated = { Vary: 'Accept-Encoding', 'Cache-Control': 'private, no-cache' }

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
  const opaque = tag.slice(tag.indexOf('"'))
  return ifNoneMatch.split(',').some((text) => {
    const named = text.trim()
    return named === '*' || named === tag || named === opaque
  })
}

async function compressing(
  body: Representation,
  coding: Coding,
  turns: Turns,
  partnerId: number,
): Promise<Blob> {
  const bytes = await body.plain.bytes()
  function* step(): Steps<Blob> {
    // Another who asked at the same time may have had it made.
    const made = body.compressed(coding) ?? body.keep(coding, compress[coding](bytes))
    yield
    return made
  }
  return turns.queue(partnerId, step())
}
