import { readFileSync } from 'node:fs'
import { Refusal } from '../../domain/errors'
import { pause } from '../../domain/ports/time'
import { goneClient } from './behind-proxy'

export interface Listening {
  readonly host: string
  readonly port: number
  /**
   * Uses a new certificate for new connections. Closes idle connections. If this throws, nothing changes.
   * @throws Refusal settings_invalid
   */
  replaceCertificate(certificate: TlsIdentity): void
  underWay(): number
  /** Stops. Answers open and arriving requests for at most 15 s. */
  stop(): Promise<void>
}

/** In PEM. `cert` includes the chain. */
export interface TlsIdentity {
  readonly cert: string
  readonly key: string
}

/** Idle timeout in seconds, more than a minute because Bun counts in steps of 4 s. If a handler takes longer, the connection is closed. */
const idleSeconds = 68

/** Ciphers for TLS 1.2 (RFC 9325 §4.2): forward secrecy, no CBC. */
const ciphers = ['ECDSA', 'RSA']
  .flatMap((kind) =>
    ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map((how) => `ECDHE-${kind}-${how}`),
  )
  .join(':')

/** Shutdown timeout in ms. Longer than the timeout for a body. */
const stoppingMillis = 15_000

/** Interval in ms at which a stopping server closes idle connections. */
const silentMillis = 500

/** Port 0 selects a free port. Call `addressOf` before any await: a closed connection has no address. */
export function listen(
  host: string,
  port: number,
  createFetch: (
    port: number,
    addressOf: (request: Request) => string,
  ) => (request: Request) => Response | Promise<Response>,
  certificate?: TlsIdentity,
): Listening {
  let handle: ReturnType<typeof createFetch> | undefined
  const addresses = new WeakMap<Request, string>()
  const addressOf = (request: Request) => {
    const address = addresses.get(request) ?? newest.requestIP(request)?.address ?? goneClient
    addresses.set(request, address)
    return address
  }
  const drain = new Drain()
  const open = (port: number, tls?: TlsIdentity): Server =>
    startListener({
      hostname: host,
      port,
      // In development mode, Bun's error responses show source code.
      development: false,
      // Needed to replace a certificate. Before, openShared checks that no other program uses the port.
      reusePort: tls !== undefined,
      ...(tls && { tls: { cert: tls.cert, key: tls.key, ciphers } }),
      // No limit here, because readBody checks the size, after authentication.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      idleTimeout: idleSeconds,
      fetch(request) {
        const whole = withWholeUrl(request)
        if (whole !== request) addresses.set(whole, addressOf(request))
        return drain.answer(whole, handle as NonNullable<typeof handle>)
      },
    })
  let newest = certificate ? openShared(open, port, certificate) : open(port)
  const actualPort = newest.port as number
  /** The current server, and replaced servers that still have requests in flight. */
  const servers = new Set([newest])
  handle = createFetch(actualPort, addressOf)
  return {
    host,
    port: actualPort,
    replaceCertificate(next) {
      const replaced = newest
      newest = open(actualPort, next)
      servers.add(newest)
      // Stops the old server at once. Otherwise half of the clients would get the old certificate.
      void replaced.stop().then(() => servers.delete(replaced))
    },
    underWay: () => [...servers].reduce((sum, { pendingRequests }) => sum + pendingRequests, 0),
    stop: () => stopAll(servers, drain, actualPort),
  }
}

async function stopAll(servers: ReadonlySet<Server>, drain: Drain, port: number): Promise<void> {
  const cutOff = () => {
    for (const server of servers) server.stop(true)
  }
  const ending = setTimeout(cutOff, stoppingMillis)
  let looking: Timer | undefined
  const waits = () => hasWaiting(port)
  await drain.close(!isQuiet(servers), waits, () => {
    // Closes idle connections, because Bun would wait for idle TLS connections.
    looking = setInterval(() => isQuiet(servers) && cutOff(), silentMillis)
    return Promise.all([...servers].map((server) => server.stop()))
  })
  clearTimeout(ending)
  clearInterval(looking)
}

/** Listens on 127.0.0.1 for operators. stop() does not wait for requests. Error messages name `flag`. */
export function listenLocally(
  flag: string,
  port: number,
  fetch: (request: Request) => Promise<Response>,
): { readonly port: number; stop(): Promise<void> } {
  const hostname = '127.0.0.1'
  const server = serveLocally(flag, {
    hostname,
    port,
    development: false,
    reusePort: false,
    maxRequestBodySize: 1,
    idleTimeout: localIdleSeconds,
    fetch,
  })
  return { port: server.port as number, stop: () => server.stop(true) }
}

const localIdleSeconds = 10

function serveLocally(flag: string, options: Parameters<typeof startListener>[0]) {
  try {
    return startListener(options)
  } catch (error) {
    throw Object.assign(error as Error, { flag })
  }
}

type Server = ReturnType<typeof Bun.serve>

function isQuiet(servers: ReadonlySet<Server>): boolean {
  return [...servers].every(({ pendingRequests }) => pendingRequests === 0)
}

/** Opens a port that servers of this process share. Fails if another program uses the port. */
function openShared(open: (port: number, tls?: TlsIdentity) => Server, port: number, tls: TlsIdentity) {
  if (port !== 0) open(port).stop(true)
  return open(port, tls)
}

/** Bun's error codes for a host that cannot be resolved. */
const unresolved: ReadonlySet<string> = new Set(['EINVAL', 'ENOTFOUND', 'EAGAIN', 'ENOENT'])

/** Calls Bun.serve. Adds the address and the port to errors, as Node does. */
function startListener(options: Parameters<typeof Bun.serve>[0] & { hostname: string; port: number }) {
  const { hostname, port } = options
  try {
    return Bun.serve(options)
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (unresolved.has(code)) {
      throw new Refusal('settings_invalid', `--host: ${hostname} cannot be resolved to an address`)
    }
    if (code === 'EADDRNOTAVAIL') {
      throw new Refusal('settings_invalid', `--host: ${hostname} is not an address of this machine`)
    }
    if (code.startsWith('ERR_OSSL')) {
      throw new Refusal('settings_invalid', 'the TLS library rejects the TLS certificate or its key')
    }
    throw Object.assign(error as Error, { address: hostname, port })
  }
}

/** Elysia looks for the path of an HTTPS URL only after this index. */
const shortestBefore = 'https://abc'.length

/** Replaces URLs that Elysia misreads. Bun passes only the path for an invalid Host, and a host may be very short. */
function withWholeUrl(request: Request): Request {
  const { url } = request
  if (url.startsWith('/')) return new Request(`http://localhost${url}`, request)
  if (!url.startsWith('https:')) return request
  const path = url.indexOf('/', 'https://'.length)
  if (path >= shortestBefore) return request
  return new Request(`https://localhost${url.slice(path)}`, request)
}

/** True if closing the port would reset a connection (proc_pid_net(5)). Works on Linux only; false elsewhere. */
function hasWaiting(port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  // Fields of a line: local address, remote address, state (01 ESTABLISHED, 03 SYN_RECV, 0A LISTEN), tx_queue:rx_queue.
  const waiting = new RegExp(`:${hex} [0-9A-F]+:[0-9A-F]{4} (?:03|(?:01|0A) [0-9A-F]{8}:(?!0{8}))`)
  return ['tcp', 'tcp6'].some((table) => waiting.test(readSocketTable(`/proc/self/net/${table}`)))
}

function readSocketTable(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

type Handle = (request: Request) => Response | Promise<Response>

/** In ms. A busy server sends Connection: close for this long before it closes the port. */
const lingerMillis = 500

/** Interval in ms between two checks for new requests. */
const lookMillis = 25

/** The port is closed after this many checks without a new request. */
const quietLooks = 8

/** Maximum number of checks before the port is closed, even if clients keep sending. */
const mostLooks = 24

/** Maximum number of checks for unread connections, and the pause in ms between two checks. */
const [mostWaits, waitMillis] = [1_000, 5]

/**
 * Answers all requests that arrive before the port is closed, with Connection: close (RFC 9112 §9.6). Delays the last
 * responses until the port is closed: a client that waits for a response sends no new request.
 */
class Drain {
  #arrived = 0
  #isDraining = false
  /** Resolves when the port is closed. Null while responses are not delayed. */
  #closing: PromiseWithResolvers<void> | null = null

  answer(request: Request, handle: Handle): Response | Promise<Response> {
    this.#arrived++
    const answer = handle(request)
    if (answer instanceof Promise) return answer.then(this.#last)
    return this.#isDraining ? this.#last(answer) : answer
  }

  readonly #last = (answer: Response): Response | Promise<Response> => {
    if (!this.#isDraining) return answer
    answer.headers.set('Connection', 'close')
    return this.#closing ? this.#closing.promise.then(() => answer) : answer
  }

  /** Closes the port when no more requests arrive. Calls `hasWaiting` just before `close`. */
  async close<T>(isAnswering: boolean, hasWaiting: () => boolean, close: () => T): Promise<Awaited<T>> {
    this.#isDraining = true
    const isBusy = isAnswering || hasWaiting()
    if (isBusy) await pause(lingerMillis)
    this.#closing = Promise.withResolvers()
    let quiet = isBusy ? 0 : quietLooks - 1
    for (let look = 0; look < mostLooks && quiet < quietLooks; look++) {
      quiet = (await this.#bringsNothing(lookMillis)) ? quiet + 1 : 0
    }
    for (let wait = 0; wait < mostWaits && hasWaiting(); wait++) await pause(waitMillis)
    const closed = close()
    this.#closing.resolve()
    return await closed
  }

  async #bringsNothing(millis: number): Promise<boolean> {
    const before = this.#arrived
    await pause(millis)
    return this.#arrived === before
  }
}
