import type { Steps, Turns } from './turns'

/** JSON as bytes, in the parts that it was made in. */
export class JsonParts {
  constructor(readonly parts: readonly Uint8Array[]) {}
}

/** The largest body that is handed over whole, for the system to send: a page of the usual size. */
const mostBytesAtOnce = 512 * 1024
/** How much of a larger one is sent in one step, at least. */
const stepBytes = 32 * 1024

/**
 * The answer that a body makes. A large one is sent in steps, in its partner's turns: sending takes as long as making
 * it, and what a client reads slowly does not all wait in memory.
 */
export function respond(body: unknown, init: ResponseInit, turns: Turns, partnerId: number): Response {
  if (!(body instanceof JsonParts)) return new Response(JSON.stringify(body), init)
  const size = body.parts.reduce((sum, { length }) => sum + length, 0)
  if (size <= mostBytesAtOnce) return new Response(Buffer.concat(body.parts, size), init)
  return new Response(sending(body.parts, turns, partnerId), init)
}

function sending(parts: readonly Uint8Array[], turns: Turns, partnerId: number): ReadableStream {
  let isWanted = true
  return new ReadableStream({
    type: 'direct',
    async pull(controller) {
      const left = [...parts]
      while (isWanted && left.length > 0) await turns.queue(partnerId, sendSome(left, controller))
      controller.close()
    },
    // The client has gone.
    cancel() {
      isWanted = false
    },
  })
}

/** Sends the first of what is left. It comes to a promise, for when there is room for more. */
function* sendSome(
  left: Uint8Array[],
  controller: ReadableStreamDirectController,
): Steps<number | Promise<number>> {
  for (let bytes = 0; bytes < stepBytes; ) {
    const part = left.shift()
    if (!part) break
    controller.write(part)
    bytes += part.length
    yield
  }
  return controller.flush(true)
}
