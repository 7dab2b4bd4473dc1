/**
 * From this size on, Bun 1.4.5 sends an answer that came in a later turn than its request without gathering it first (cork):
 * each header by system calls of its own, which take eight times as long as all the rest.
 */
const leastBytes = 15 * 1024

/**
 * An answer as it is to be sent where something was waited for: that of a large body as a stream that gives all of it at
 * once, which Bun gathers and tells the length of.
 *
 * @param size of its body, in bytes
 */
export async function inOnePiece(response: Response, size: number): Promise<Response> {
  if (size < leastBytes) return response
  const bytes = await response.bytes()
  const pull = (sink: ReadableStreamDirectController) => {
    sink.write(bytes)
    sink.end()
  }
  // Nothing is sent until as much is there, and so all of it in the end.
  const body = new ReadableStream({ type: 'direct', pull }, { highWaterMark: bytes.length + 1 })
  return new Response(body, response)
}
