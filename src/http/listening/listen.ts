import { Refusal } from '../../domain/errors'
import { Drain, hasWaiting } from './drain'

/** A server that is listening. */
export interface Listening {
  readonly host: string
  readonly port: number
  /**
   * Shows another certificate to all who connect from now on. What is being answered is answered;
   * idle connections are closed, and those that are being made in that moment may be reset. What cannot be used changes nothing.
   *
   * @throws Refusal settings_invalid for one that cannot be used
   */
  replaceCertificate(certificate: TlsIdentity): void
  /** How many requests are under way. */
  underWay(): number
  /**
   * Graceful shutdown: answers what is under way, waits in the kernel or comes in this moment, takes no more, and resolves once
   * all is answered, or the time for that is up: 15 s. Who has connected and sent nothing is waited for, up to 5 s. Where
   * nobody asks, within some 30 ms.
   */
  stop(): Promise<void>
}

/** What a server proves with who it is, in PEM. */
export interface TlsIdentity {
  /** With the chain behind it. */
  readonly cert: string
  readonly key: string
}

/** What a handler slower than this gets is a closed connection, in seconds. */
const idleSeconds = 60

/**
 * What TLS 1.2 is spoken with (RFC 9325 §4.2): what was recorded stays sealed from who steals the key later, and nothing is
 * in CBC. TLS 1.3 has no others.
 */
const ciphers = ['ECDSA', 'RSA']
  .flatMap((kind) =>
    ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map((how) => `ECDHE-${kind}-${how}`),
  )
  .join(':')

/** How long a stop may take: a client may never send the rest of its request, and a body has 10 s for it. */
const stoppingMillis = 15_000

/** How long one who has connected may take to ask something, of a server that stops, in ms. */
const silentMillis = 500

/**
 * Listens on a host and port, 0 for a free one. Throws the system's error, with its address and port, where
 * they cannot be had.
 *
 * @param createFetch makes the handler once the port is known, and what tells where a request came from: to be asked before
 *   anything is waited for, since a connection that was closed meanwhile cannot tell any more; what it told is remembered
 * @param certificate speaks HTTPS with it; plain HTTP unless given
 */
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
    const address = addresses.get(request) ?? newest.requestIP(request)?.address ?? 'unknown'
    addresses.set(request, address)
    return address
  }
  const drain = new Drain()
  const open = (port: number, tls?: TlsIdentity): Server =>
    serve({
      hostname: host,
      port,
      // Errors would be answered with a page of our source.
      development: false,
      // With that alone Bun shares the port with whoever else asks for it, and the kernel splits the requests: it is shared
      // with our own alone, who take another's place when a certificate is replaced.
      reusePort: tls !== undefined,
      ...(tls && { tls: { cert: tls.cert, key: tls.key, ciphers } }),
      // A body that is too large is refused where the caller is known, and is not read before (decisions, Order of checks).
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
  /** The newest, and those before it that still answer a request. */
  const servers = new Set([newest])
  handle = createFetch(actualPort, addressOf)
  return {
    host,
    port: actualPort,
    replaceCertificate(next) {
      const replaced = newest
      newest = open(actualPort, next)
      servers.add(newest)
      // At once: it would show the old certificate to every second client that connects. Those in its accept queue are reset.
      void replaced.stop().then(() => servers.delete(replaced))
    },
    underWay: () => [...servers].reduce((sum, { pendingRequests }) => sum + pendingRequests, 0),
    stop: () => stopAll(servers, drain, actualPort),
  }
}

/** Lets requests end that are being answered, for a limited time. */
async function stopAll(servers: ReadonlySet<Server>, drain: Drain, port: number): Promise<void> {
  const cutOff = () => {
    for (const server of servers) server.stop(true)
  }
  const ending = setTimeout(cutOff, stoppingMillis)
  let looking: Timer | undefined
  const waits = () => hasWaiting(port)
  await drain.close(!isQuiet(servers), waits, () => {
    // Over TLS Bun would wait for clients that have connected and send no request.
    looking = setInterval(() => isQuiet(servers) && cutOff(), silentMillis)
    return Promise.all([...servers].map((server) => server.stop()))
  })
  clearTimeout(ending)
  clearInterval(looking)
}

/**
 * Listens on this machine alone, for whoever looks after the service, and stops at once. Throws as listen does, with the flag
 * that the port was given by.
 */
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

/** Whoever sends no more of a question, or takes no answer, is not waited for any longer. */
const localIdleSeconds = 10

function serveLocally(flag: string, options: Parameters<typeof serve>[0]) {
  try {
    return serve(options)
  } catch (error) {
    throw Object.assign(error as Error, { flag })
  }
}

type Server = ReturnType<typeof Bun.serve>

/** Whether nothing is being answered. */
function isQuiet(servers: ReadonlySet<Server>): boolean {
  return [...servers].every(({ pendingRequests }) => pendingRequests === 0)
}

/** Opens a port that is to be shared with our own, and with nobody who has it already. */
function openShared(
  open: (port: number, tls?: TlsIdentity) => Server,
  port: number,
  tls: TlsIdentity,
): Server {
  if (port !== 0) open(port).stop(true)
  return open(port, tls)
}

/**
 * The codes of Bun's resolver for a host that has no address: not a name, an unknown name, no name server. It returns ENOENT
 * for any of them, for example if the machine is busy.
 */
const unresolved: ReadonlySet<string> = new Set(['EINVAL', 'ENOTFOUND', 'EAGAIN', 'ENOENT'])

/** Serves, or says as Node does which address could not be had. */
function serve(options: Parameters<typeof Bun.serve>[0] & { hostname: string; port: number }) {
  const { hostname, port } = options
  try {
    return Bun.serve(options)
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (unresolved.has(code)) {
      throw new Refusal('settings_invalid', `--host: ${hostname} cannot be resolved to an address`)
    }
    if (code === 'EADDRNOTAVAIL') {
      throw new Refusal('settings_invalid', `--host: ${hostname} is no address of this machine`)
    }
    if (code.startsWith('ERR_OSSL')) {
      throw new Refusal('settings_invalid', 'the TLS certificate and its key cannot be used')
    }
    throw Object.assign(error as Error, { address: hostname, port })
  }
}

/** Where the path of an HTTPS address is looked for: behind hosts of three characters and more. */
const shortestBefore = 'https://abc'.length

/**
 * The request with a URL in which the path can be found: where the Host header is missing or no host at all, Bun
 * gives the path alone, and no route would be reached; behind a shorter host than is reckoned with, a part of the path would be
 * taken for all of it. The path stays as it was sent.
 */
function withWholeUrl(request: Request): Request {
  const { url } = request
  if (url.startsWith('/')) return new Request(`http://localhost${url}`, request)
  if (!url.startsWith('https:')) return request
  const path = url.indexOf('/', 'https://'.length)
  if (path >= shortestBefore) return request
  return new Request(`https://localhost${url.slice(path)}`, request)
}
