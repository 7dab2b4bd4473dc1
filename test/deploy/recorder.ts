import { createServer, type Server, type Socket } from 'node:net'

/** A request as it arrived at the port of the service. */
export interface Reached {
  readonly method: string
  readonly target: string
  /** Names are in lower case. A repeated field has one entry per occurrence. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** A stub of the service behind a proxy. Answers each request with 200 `{}` and records it. */
export class Recorder implements Disposable {
  readonly #server: Server
  readonly #reached: Reached[]
  readonly port: number

  private constructor(server: Server, port: number, reached: Reached[]) {
    this.#server = server
    this.port = port
    this.#reached = reached
  }

  static async start(): Promise<Recorder> {
    const reached: Reached[] = []
    const server = createServer((socket) => readRequests(socket, (request) => reached.push(request)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new Recorder(server, (server.address() as { port: number }).port, reached)
  }

  /** Returns the requests since the previous call, and removes them. */
  take(): readonly Reached[] {
    return this.#reached.splice(0)
  }

  [Symbol.dispose](): void {
    this.#server.close()
  }
}

function readRequests(socket: Socket, record: (request: Reached) => void): void {
  let text = ''
  socket.on('error', () => socket.destroy())
  socket.setEncoding('latin1')
  socket.on('data', (part) => {
    text += part
    for (let end = wholeEnd(text); end !== null; end = wholeEnd(text)) {
      record(requestIn(text.slice(0, end)))
      text = text.slice(end)
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}')
    }
  })
}

function wholeEnd(text: string): number | null {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return null
  const fields = text.slice(0, head + 2)
  if (/^transfer-encoding: *chunked\r?$/im.test(fields)) {
    const last = /\r\n0\r\n(?:[^\r]+\r\n)*\r\n/.exec(text.slice(head + 2))
    return last && head + 2 + last.index + last[0].length
  }
  const end = head + 4 + Number(/^content-length: *(\d+)\r?$/im.exec(fields)?.[1] ?? 0)
  return text.length < end ? null : end
}

function requestIn(text: string): Reached {
  const head = text.indexOf('\r\n\r\n')
  const [line = '', ...fields] = text.slice(0, head).split('\r\n')
  const [method = '', target = ''] = line.split(' ')
  const headers = fields.map((field) => {
    const colon = field.indexOf(':')
    return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()] as const
  })
  return { method, target, headers, body: text.slice(head + 4) }
}
