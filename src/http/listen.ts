/** A server that is listening. */
export interface Listening {
  readonly host: string
  readonly port: number
  /** Takes no more requests and resolves once those under way have been answered. */
  stop(): Promise<void>
}

/** What a handler slower than this gets is a closed connection, in seconds. */
const idleSeconds = 60

/**
 * Listens on a host and port, 0 for a free one.
 *
 * @param createFetch makes the handler once the port is known, and how to tell where a request came from
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
  const server = Bun.serve({
    hostname: host,
    port,
    // Errors would be answered with a page of our source.
    development: false,
    // A body that is too large is refused where the caller is known, and is not read before (decisions, Order of checks).
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    idleTimeout: idleSeconds,
    fetch: (request) => (handle as NonNullable<typeof handle>)(request),
  })
  handle = createFetch(server.port as number, (request) => server.requestIP(request)?.address ?? 'unknown')
  return { host, port: server.port as number, stop: () => server.stop() }
}
