import { Refusal } from '../domain/errors'
import { Drain } from './drain'

/** A server that is listening. */
export interface Listening {
  readonly host: string
  readonly port: number
  /**
   * Graceful shutdown: answers what is under way, waits in the kernel or comes in this moment, takes no more, and resolves once
   * all is answered, or the time for that is up: 15 s. Where nobody asks, within some 30 ms.
   */
  stop(): Promise<void>
}

/** What a handler slower than this gets is a closed connection, in seconds. */
const idleSeconds = 60

/** How long a stop may take: a client may never send the rest of its request, and a body has 10 s for it. */
const stoppingMillis = 15_000

/**
 * Listens on a host and port, 0 for a free one. Throws the system's error, with its address and port, where
 * they cannot be had.
 *
 * @param createFetch makes the handler once the port is known, and what tells where a request came from: to be asked before
 *   anything is waited for, since a connection that was closed meanwhile cannot tell any more; what it told is remembered
 */
export function listen(
  host: string,
  port: number,
  createFetch: (
    port: number,
    addressOf: (request: Request) => string,
  ) => (request: Request) => Response | Promise<Response>,
): Listening {
  let handle: ReturnType<typeof createFetch> | undefined
  const addresses = new WeakMap<Request, string>()
  const addressOf = (request: Request) => {
    const address = addresses.get(request) ?? server.requestIP(request)?.address ?? 'unknown'
    addresses.set(request, address)
    return address
  }
  const drain = new Drain()
  const server = serve({
    hostname: host,
    port,
    // Errors would be answered with a page of our source.
    development: false,
    // With that alone Bun shares the port with whoever else asks for it, and the kernel splits the requests.
    reusePort: false,
    // A body that is too large is refused where the caller is known, and is not read before (decisions, Order of checks).
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    idleTimeout: idleSeconds,
    fetch(request) {
      const whole = withWholeUrl(request)
      if (whole !== request) addresses.set(whole, addressOf(request))
      return drain.answer(whole, handle as NonNullable<typeof handle>)
    },
  })
  handle = createFetch(server.port as number, addressOf)
  return {
    host,
    port: server.port as number,
    async stop() {
      const ending = setTimeout(() => server.stop(true), stoppingMillis)
      await drain.close(server.pendingRequests > 0, () => server.stop())
      clearTimeout(ending)
    },
  }
}

/** Serves, or says as Node does which address could not be had. */
function serve(options: Parameters<typeof Bun.serve>[0] & { hostname: string; port: number }) {
  const { hostname, port } = options
  try {
    return Bun.serve(options)
  } catch (error) {
    const { code = '' } = error as { code?: string }
    // What is no name at all, and what nobody has by that name.
    if (['EINVAL', 'ENOTFOUND'].includes(code)) {
      throw new Refusal('settings_invalid', `--host: ${hostname} cannot be resolved to an address`)
    }
    if (code === 'EADDRNOTAVAIL') {
      throw new Refusal('settings_invalid', `--host: ${hostname} is no address of this machine`)
    }
    throw Object.assign(error as Error, { address: hostname, port })
  }
}

/**
 * The request with a URL in which the path can be found: where the Host header is missing or no host at all, Bun
 * gives the path alone, and no route would be reached. The path stays as it was sent.
 */
function withWholeUrl(request: Request): Request {
  if (!request.url.startsWith('/')) return request
  return new Request(`http://localhost${request.url}`, request)
}
