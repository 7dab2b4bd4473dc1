import { paths } from '../contract/contract'
import { booking } from '../support/builders'
import { message, type Step } from './wire'

/**
 * The two bookings of a case. The bytes of the first booking contain the second booking, which is for another member.
 */
export class Material {
  readonly body: string
  /** A complete booking request to smuggle. */
  readonly hidden: string

  constructor(
    readonly member: string,
    readonly token: string,
  ) {
    this.body = JSON.stringify(booking(member))
    const inner = JSON.stringify(booking(`${member}-hidden`))
    this.hidden = message([...this.head(), `Content-Length: ${inner.length}`], inner).toString('latin1')
  }

  get length(): number {
    return this.body.length
  }

  get chunks(): string {
    return `${this.length.toString(16)}\r\n${this.body}\r\n0\r\n\r\n`
  }

  /** The head of a booking, without the length of its body. */
  head(requestLine = `POST ${paths.booking} HTTP/1.1`): string[] {
    return [
      requestLine,
      'Host: localhost',
      `Authorization: Bearer ${this.token}`,
      'Content-Type: application/json',
    ]
  }

  post(lines: readonly string[], body: string | Buffer = this.body): Step[] {
    return [message([...this.head(), ...lines], body)]
  }

  whole(): Buffer {
    return message([...this.head(), `Content-Length: ${this.length}`], this.body)
  }

  ask(requestLine: string, lines: readonly string[] = [], body: string | Buffer = ''): Step[] {
    return [message([...this.head(requestLine), ...lines], body)]
  }
}

export const regionList = `${paths.regions}?country_code=IE`
const get = `GET ${regionList} HTTP/1.1`

/**
 * The name, the allowed outcome and the bytes of a case. An outcome lists the statuses of the responses. `bare` marks a
 * response without a body that Bun sends itself. Without any response, the outcome is the state of the connection: `closed`
 * or `open`. If the outcome depends on timing, `or` separates the allowed outcomes.
 */
export type SocketCase = [name: string, outcome: string, steps: (of: Material) => Step[]]

const bytes = (text: string) => Buffer.from(text, 'latin1')
const lengthOf = (spelling: (length: number) => string) => (of: Material) =>
  of.post([`Content-Length: ${spelling(of.length)}`])

const lengths: SocketCase[] = [
  ['right', '201', lengthOf(String)],
  ['with a plus', '400 bare', lengthOf((n) => `+${n}`)],
  ['negative', '400 bare', lengthOf((n) => `-${n}`)],
  ['in hexadecimal', '400 bare', lengthOf((n) => `0x${n.toString(16)}`)],
  ['with zeros before it', '201', lengthOf((n) => `000${n}`)],
  ['with spaces and tabs around it', '201', lengthOf((n) => ` \t${n} \t`)],
  ['empty', '400 bare', lengthOf(() => '')],
  ['twice in one line', '400 bare', lengthOf((n) => `${n}, ${n}`)],
  ['twice in one line, different', '400 bare', lengthOf((n) => `${n}, 0`)],
  ['of 2^64', '400 bare', lengthOf(() => '18446744073709551616')],
  ['of 2^64 plus the right one', '400 bare', lengthOf((n) => String(2n ** 64n + BigInt(n)))],
  ['of 2^32 plus the right one', '413', lengthOf((n) => String(2 ** 32 + n))],
  [
    'twice, the same',
    '201',
    (of) => of.post([`Content-Length: ${of.length}`, `Content-Length: ${of.length}`]),
  ],
  ['twice, 0 first', '400 bare', (of) => of.post(['Content-Length: 0', `Content-Length: ${of.length}`])],
  ['of 0 before a body', '400, 400 bare or 400 bare', lengthOf(() => '0')],
  ['missing', '400, 400 bare or 400 bare', (of) => of.post([])],
  ['less than the body', '400', lengthOf((n) => String(n - 10))],
  ['more than the body', 'open', lengthOf((n) => String(n + 10))],
  [
    'more than the body, then closed',
    'closed',
    (of) => [...of.post([`Content-Length: ${of.length + 10}`]), 'half-close'],
  ],
  ['of 0 before a second request', '400, 201 or closed', (of) => of.post(['Content-Length: 0'], of.hidden)],
]

const transferring =
  (...lines: string[]) =>
  (of: Material) =>
    of.post(lines, of.chunks)

const transferEncodings: SocketCase[] = [
  ['chunked', '201', transferring('Transfer-Encoding: chunked')],
  ['in different case', '201', transferring('tRANSFER-eNCODING: cHUNKED')],
  ['twice', '400 bare', transferring('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
  ['gzip before chunked', '400 bare', transferring('Transfer-Encoding: gzip, chunked')],
  ['another word before it', '400 bare', transferring('Transfer-Encoding: xchunked')],
  ['a tab before it', '201', transferring('Transfer-Encoding:\tchunked')],
  ['a NUL after it', '400 bare', transferring('Transfer-Encoding: chunked\0')],
  ['a space before the colon', '400 bare', transferring('Transfer-Encoding : chunked')],
  ['folded', '400 bare', transferring('Transfer-Encoding:\r\n chunked')],
  ['after a bare LF', '400 bare', transferring('X-A: b\nTransfer-Encoding: chunked')],
  [
    'with a length: CL.TE',
    '400 bare',
    (of) =>
      of.post(
        [`Content-Length: ${of.chunks.length + of.hidden.length}`, 'Transfer-Encoding: chunked'],
        of.chunks + of.hidden,
      ),
  ],
  [
    'with a length: TE.CL',
    '400 bare',
    (of) =>
      of.post(
        ['Transfer-Encoding: chunked', 'Content-Length: 4'],
        `${of.hidden.length.toString(16)}\r\n${of.hidden}\r\n0\r\n\r\n`,
      ),
  ],
  ['with a length of 0', '400 bare', transferring('Transfer-Encoding: chunked', 'Content-Length: 0')],
  [
    'hidden, with a length: TE.TE',
    '400 bare',
    (of) =>
      of.post(
        ['Content-Length: 5', 'Transfer-Encoding: chunked', 'Transfer-Encoding: cow'],
        `0\r\n\r\n${of.hidden}`,
      ),
  ],
  [
    'with a space before the colon, with a length',
    '400 bare',
    (of) => of.post([`Content-Length: ${of.length}`, 'Transfer-Encoding : chunked']),
  ],
]

const chunk = (write: (of: Material, size: string) => string) => (of: Material) =>
  of.post(['Transfer-Encoding: chunked'], bytes(write(of, of.length.toString(16))))
const sized = (spelling: (size: string) => string) =>
  chunk(({ body }, size) => `${spelling(size)}\r\n${body}\r\n0\r\n\r\n`)

const chunkSizes: SocketCase[] = [
  ['in upper case', '201', sized((size) => size.toUpperCase())],
  ['with zeros before it', '201', sized((size) => `0000${size}`)],
  ['with 0x', '400 bare', sized((size) => `0x${size}`)],
  ['that is no number', '400 bare', sized(() => 'g')],
  ['that wraps at 2^64', '400 bare', sized((size) => `1${size.padStart(16, '0')}`)],
  ['that wraps at 2^32', 'open', sized((size) => `1${size.padStart(8, '0')}`)],
  ['with an extension', '201', sized((size) => `${size};name=value`)],
  ['with an extension in quotes that hold CRLF', '400 bare', sized((size) => `${size};a="\r\n"`)],
  ['with an extension of 20 kB', '413 bare or closed', sized((size) => `${size};${'x'.repeat(20_000)}`)],
  ['that is too small', '400 bare', sized((size) => (Number.parseInt(size, 16) - 5).toString(16))],
  ['that is too large', 'open', sized((size) => (Number.parseInt(size, 16) + 5).toString(16))],
  ['without a line end after its data', '400 bare', chunk(({ body }, size) => `${size}\r\n${body}0\r\n\r\n`)],
  ['with LF for all line ends', '400 bare', chunk(({ body }, size) => `${size}\n${body}\n0\n\n`)],
  ['without an end', 'open', chunk(({ body }, size) => `${size}\r\n${body}\r\n`)],
  [
    'without an end, closed',
    'closed',
    (of) => [...chunk(({ body }, size) => `${size}\r\n${body}\r\n`)(of), 'half-close'],
  ],
  [
    'of one byte each',
    '201',
    chunk(({ body }) => `${[...body].map((one) => `1\r\n${one}\r\n`).join('')}0\r\n\r\n`),
  ],
  ['that is the last chunk at once', '400', chunk(() => '0\r\n\r\n')],
  [
    'that is the last chunk at once, before a body',
    '400, 400 bare or 400 bare',
    chunk(({ body }) => `0\r\n\r\n${body}`),
  ],
]

const withLine = (line: string) => (of: Material) => of.post([`Content-Length: ${of.length}`, line])
const withLines = (count: number) => (of: Material) =>
  of.post([...Array.from({ length: count }, (_, at) => `X-${at}: b`), `Content-Length: ${of.length}`])

const heads: SocketCase[] = [
  ['a line without a colon', '400 bare', withLine('nothing')],
  ['a space before the colon', '400 bare', withLine('X-A : b')],
  ['a space in a name', '400 bare', withLine('X A: b')],
  ['a NUL in a value', '400 bare', withLine('X-A: b\0c')],
  ['a DEL in a value', '201', withLine('X-A: b\x7fc')],
  ['a byte over 127 in a value', '201', withLine('X-A: \xe9')],
  ['a bare CR in a value', '400 bare', withLine('X-A: b\rc')],
  ['a bare LF in a value', '400 bare', withLine('X-A: b\nX-C: d')],
  ['a folded value', '400 bare', withLine('X-A: b\r\n c')],
  [
    'a folded token',
    '400 bare',
    (of) => [
      message(
        [
          `POST ${paths.booking} HTTP/1.1`,
          'Host: localhost',
          'Content-Type: application/json',
          `Content-Length: ${of.length}`,
          `Authorization: Bearer\r\n ${of.token}`,
        ],
        of.body,
      ),
    ],
  ],
  ['100 more headers', '201', withLines(100)],
  ['1,000 more headers', '431 bare or closed', withLines(1_000)],
  ['a value of 12 kB', '201', withLine(`X-A: ${'b'.repeat(12_000)}`)],
  ['a value of 1 MB', '431 bare or closed', withLine(`X-A: ${'b'.repeat(1_048_576)}`)],
  [
    'a request target of 64 kB',
    '431 bare or closed',
    (of) => of.ask(`GET ${regionList}&x=${'b'.repeat(65_536)} HTTP/1.1`),
  ],
  [
    'LF for all line ends',
    '505 bare',
    (of) => [bytes(`${[...of.head(), `Content-Length: ${of.length}`].join('\n')}\n\n${of.body}`)],
  ],
  ['empty lines before the request line', '400 bare', (of) => [bytes('\r\n\r\n'), of.whole()]],
  [
    'no Host',
    '400 bare',
    (of) => [message([of.head()[0] ?? '', ...of.head().slice(2), `Content-Length: ${of.length}`], of.body)],
  ],
  ['two Hosts', '201', (of) => of.post(['Host: other.example', `Content-Length: ${of.length}`])],
  ['two content types', '415', (of) => of.post(['Content-Type: text/plain', `Content-Length: ${of.length}`])],
  [
    'a Connection that names the token',
    '201',
    (of) => of.post(['Connection: close, Authorization', `Content-Length: ${of.length}`]),
  ],
]

const requestLines: SocketCase[] = [
  ['HTTP/0.9', '505 bare', (of) => [bytes(`GET ${regionList}\r\n`), ...of.ask('')]],
  ['HTTP/1.0', '200', (of) => of.ask(`GET ${regionList} HTTP/1.0`)],
  ['HTTP/1.2', '505 bare', (of) => of.ask(`GET ${regionList} HTTP/1.2`)],
  ['no protocol', '505 bare', (of) => of.ask(`GET ${regionList}`)],
  ['two spaces', '400 bare', (of) => of.ask(`GET  ${regionList} HTTP/1.1`)],
  ['no target', '400 bare', (of) => of.ask('GET HTTP/1.1')],
  [
    'the preface of HTTP/2',
    '400 bare',
    () => [bytes('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0')],
  ],
  [
    'a TLS ClientHello',
    '400 bare',
    () => [bytes(`\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03${'\x42'.repeat(64)}`)],
  ],
  ['20 kB of 0xff', '400 bare', () => [Buffer.alloc(20_000, 0xff)]],
  ['no bytes', 'closed', () => [100, 'half-close']],
]

const methods: SocketCase[] = [
  ['CONNECT of another host', '404', (of) => of.ask('CONNECT example.com:443 HTTP/1.1')],
  ['CONNECT of a path', '405', (of) => of.ask(`CONNECT ${regionList} HTTP/1.1`)],
  ['TRACE', '405', (of) => of.ask(`TRACE ${regionList} HTTP/1.1`)],
  ['OPTIONS *', '400 bare', (of) => of.ask('OPTIONS * HTTP/1.1')],
  ['OPTIONS', '405', (of) => of.ask(`OPTIONS ${regionList} HTTP/1.1`)],
  ['get in lower case', 'closed', (of) => of.ask(`get ${regionList} HTTP/1.1`)],
  ['G@T', '400 bare', (of) => of.ask(`G@T ${regionList} HTTP/1.1`)],
  ['GET with a body', '200', (of) => of.ask(get, [`Content-Length: ${of.length}`], of.body)],
  [
    'GET with a request as its body',
    '200',
    (of) => of.ask(get, [`Content-Length: ${of.hidden.length}`], of.hidden),
  ],
  [
    'GET with a chunked request as its body',
    '200',
    (of) =>
      of.ask(
        get,
        ['Transfer-Encoding: chunked'],
        `${of.hidden.length.toString(16)}\r\n${of.hidden}\r\n0\r\n\r\n`,
      ),
  ],
  [
    'DELETE with a request as its body',
    '405',
    (of) => of.ask(`DELETE ${paths.booking} HTTP/1.1`, [`Content-Length: ${of.hidden.length}`], of.hidden),
  ],
  [
    'a method override',
    '405',
    (of) =>
      of.ask(
        `GET ${paths.booking} HTTP/1.1`,
        ['X-HTTP-Method-Override: POST', `Content-Length: ${of.length}`],
        of.body,
      ),
  ],
]

/** The server refuses these requests before it reads their body. It must not read the body as the next request. */
const unread: SocketCase[] = [
  [
    'of an unknown path',
    '404',
    (of) => of.ask('POST /nowhere/ HTTP/1.1', [`Content-Length: ${of.hidden.length}`], of.hidden),
  ],
  [
    'of a wrong method',
    '405',
    (of) => of.ask(`PUT ${paths.booking} HTTP/1.1`, [`Content-Length: ${of.hidden.length}`], of.hidden),
  ],
  [
    'of a caller without a token',
    '401',
    (of) => [
      message(
        [`POST ${paths.booking} HTTP/1.1`, 'Host: localhost', `Content-Length: ${of.hidden.length}`],
        of.hidden,
      ),
    ],
  ],
  [
    'of another content type',
    '415',
    (of) => [
      message(
        [...of.head().slice(0, 3), 'Content-Type: text/plain', `Content-Length: ${of.hidden.length}`],
        of.hidden,
      ),
    ],
  ],
  [
    'that is too large',
    '413',
    (of) => of.post([`Content-Length: ${300_000 + of.hidden.length}`], ' '.repeat(300_000) + of.hidden),
  ],
  [
    'that is too large, in chunks',
    '413',
    (of) =>
      of.post(
        ['Transfer-Encoding: chunked'],
        `${(300_000).toString(16)}\r\n${' '.repeat(300_000)}\r\n${of.hidden.length.toString(16)}\r\n${of.hidden}\r\n0\r\n\r\n`,
      ),
  ],
  [
    'of a document',
    '200',
    (of) => of.ask('GET /docs HTTP/1.1', [`Content-Length: ${of.hidden.length}`], of.hidden),
  ],
]

const ways: SocketCase[] = [
  [
    'expecting 100-continue, its body after a while',
    '201',
    (of) => [
      message([...of.head(), `Content-Length: ${of.length}`, 'Expect: 100-continue']),
      50,
      bytes(of.body),
    ],
  ],
  [
    'expecting 100-continue, without its body',
    'open',
    (of) => [message([...of.head(), `Content-Length: ${of.length}`, 'Expect: 100-continue'])],
  ],
  [
    'expecting 100-continue without a token',
    '401',
    (of) => [
      message([
        `POST ${paths.booking} HTTP/1.1`,
        'Host: localhost',
        `Content-Length: ${of.length}`,
        'Expect: 100-continue',
      ]),
    ],
  ],
  [
    'to upgrade to a websocket',
    '200',
    (of) =>
      of.ask(get, [
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Version: 13',
      ]),
  ],
  ['byte by byte', '201', (of) => [...of.whole()].flatMap((byte) => [Buffer.of(byte), 0])],
  ['in two halves of its head', '201', (of) => [of.whole().subarray(0, 40), 50, of.whole().subarray(40)]],
  ['in two halves of its body', '201', (of) => [of.whole().subarray(0, -40), 50, of.whole().subarray(-40)]],
  [
    'split between CR and LF',
    '201',
    (of) => {
      const at = of.whole().indexOf('\r\n\r\n') + 1
      return [
        of.whole().subarray(0, at),
        30,
        of.whole().subarray(at, at + 2),
        30,
        of.whole().subarray(at + 2),
      ]
    },
  ],
  ...[1, 2, 3, 4, 5].map(
    (last): SocketCase => [
      `in chunks, its last ${last} bytes after a while`,
      '201',
      (of) => {
        const whole = Buffer.concat(of.post(['Transfer-Encoding: chunked'], of.chunks) as Buffer[])
        return [whole.subarray(0, -last), 50, whole.subarray(-last)]
      },
    ],
  ),
  ['half a head', 'open', (of) => [of.whole().subarray(0, 40)]],
  ['half a head, then closed', 'closed', (of) => [of.whole().subarray(0, 40), 'half-close']],
  ['half a body, then reset', 'closed', (of) => [of.whole().subarray(0, -40), 30, 'reset']],
  [
    'half a chunk, then reset',
    'closed',
    (of) => [...of.post(['Transfer-Encoding: chunked'], of.chunks.slice(0, 50)), 30, 'reset'],
  ],
  ['two pipelined lists', '200, 200', (of) => [Buffer.concat([...of.ask(get), ...of.ask(get)] as Buffer[])]],
  ['a list, then a booking', '200, 201', (of) => [Buffer.concat([...(of.ask(get) as Buffer[]), of.whole()])]],
  [
    'a list, then rubbish',
    '200, 400 bare',
    (of) => [Buffer.concat([...(of.ask(get) as Buffer[]), bytes('\0\xffrubbish\r\n\r\n')])],
  ],
  [
    'a list that closes, then a booking',
    '200',
    (of) => [Buffer.concat([...(of.ask(get, ['Connection: close']) as Buffer[]), of.whole()])],
  ],
  ['a booking, and a list after its response', '201, 200', (of) => [of.whole(), 'answered', ...of.ask(get)]],
]

/** Known behavior of Bun for bytes that arrive after a complete booking and before its response. */
export const knownLimitations: readonly SocketCase[] = [
  ['a stray CRLF', '400 bare', (of) => [Buffer.concat([of.whole(), bytes('\r\n')])]],
  ['a request', 'closed', (of) => of.post([`Content-Length: ${of.length}`], of.body + of.hidden)],
  [
    'a request after its last chunk',
    'closed',
    (of) => of.post(['Transfer-Encoding: chunked'], of.chunks + of.hidden),
  ],
  ['a trailer', '400 bare', chunk(({ body }, size) => `${size}\r\n${body}\r\n0\r\nX-A: b\r\n\r\n`)],
  [
    'another token in a trailer',
    '400 bare',
    chunk(({ body }, size) => `${size}\r\n${body}\r\n0\r\nAuthorization: Bearer x\r\n\r\n`),
  ],
]

export const socketCases: Record<string, readonly SocketCase[]> = {
  'Content-Length': lengths,
  'Transfer-Encoding': transferEncodings,
  chunk: chunkSizes,
  'request head': heads,
  'request line': requestLines,
  method: methods,
  'unread body': unread,
  delivery: ways,
}
