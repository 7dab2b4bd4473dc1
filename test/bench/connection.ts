/**
 * A connection for sequential requests. A client library would take most of the time, so this class uses a plain
 * socket.
 */
export class Connection implements Disposable {
  #parts: Buffer[] = []
  #received = 0
  /** The size of the whole response in bytes. Infinite before the head has arrived. */
  #wanted = Number.POSITIVE_INFINITY
  #answered: PromiseWithResolvers<Buffer> = Promise.withResolvers()
  #socket: Bun.Socket | undefined

  static async open(baseUrl: string): Promise<Connection> {
    const { hostname, port } = new URL(baseUrl)
    const connection = new Connection()
    connection.#socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        // Copies the bytes, because the socket reuses its buffer.
        data: (_, bytes) => connection.#take(Buffer.from(bytes)),
        close: () => connection.#answered.reject(new Error('the connection was closed')),
      },
    })
    return connection
  }

  /** Sends a request, and returns the response as soon as its last byte has arrived. */
  ask(request: string): Promise<Buffer> {
    this.#answered = Promise.withResolvers()
    this.#parts = []
    this.#received = 0
    this.#wanted = Number.POSITIVE_INFINITY
    this.#socket?.write(request)
    return this.#answered.promise
  }

  #take(part: Buffer): void {
    this.#parts.push(part)
    this.#received += part.length
    if (this.#wanted === Number.POSITIVE_INFINITY) this.#wanted = sizeOf(Buffer.concat(this.#parts))
    if (this.#received >= this.#wanted) this.#answered.resolve(Buffer.concat(this.#parts))
  }

  [Symbol.dispose](): void {
    this.#answered.promise.catch(() => {})
    this.#socket?.end()
  }
}

/** Returns the size of a response (head and body) in bytes. Infinite before the head has arrived. */
function sizeOf(begun: Buffer): number {
  const end = begun.indexOf('\r\n\r\n')
  if (end < 0) return Number.POSITIVE_INFINITY
  const length = /^content-length: (\d+)/im.exec(begun.toString('latin1', 0, end))?.[1]
  return end + 4 + Number(length ?? 0)
}

export function parseAnswer(answer: Buffer): { status: number; headers: Headers; bytes: Buffer } {
  const end = answer.indexOf('\r\n\r\n')
  const [line = '', ...fields] = answer.toString('latin1', 0, end).split('\r\n')
  const headers = new Headers(
    fields.map((field) => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1).trim()]),
  )
  return { status: Number(line.split(' ')[1]), headers, bytes: answer.subarray(end + 4) }
}
