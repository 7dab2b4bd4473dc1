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
