import type { Nodes } from './nodes'

/** The interval of readiness checks, in ms. */
const lookMillis = 100

/** A load balancer. Sends requests to ready nodes in turn, and tries the next node only if a connection is refused. */
export class RoundRobin implements Disposable {
  readonly #ready = new Set<number>()
  readonly #server: Bun.Server<undefined>
  readonly #looking: Timer
  #next = 0
  /** The number of refused connections that were retried at another node. */
  refused = 0

  constructor(private readonly nodes: Nodes) {
    this.#server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => this.#answer(request) })
    this.#looking = setInterval(() => nodes.nodes.forEach((_, node) => void this.#look(node)), lookMillis)
  }

  get port(): number {
    return this.#server.port as number
  }

  async #look(node: number): Promise<void> {
    const isReady = await fetch(`http://127.0.0.1:${this.nodes.node(node).port}/readyz`, { keepalive: false })
      .then(({ ok }) => ok)
      .catch(() => false)
    if (isReady) this.#ready.add(node)
    else this.#ready.delete(node)
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const body = request.body ? await request.text() : null
    const { method, headers } = request
    for (let tries = 0; tries < 8; tries++) {
      const ready = [...this.#ready]
      const node = ready[this.#next++ % Math.max(1, ready.length)] ?? 0
      const url = `http://127.0.0.1:${this.nodes.node(node).port}${pathname}${search}`
      try {
        const answer = await fetch(url, { method, headers, body })
        const kept = [...answer.headers].filter(
          ([name]) => name !== 'connection' && !name.startsWith('content-'),
        )
        return new Response(await answer.text(), { status: answer.status, headers: kept })
      } catch (error) {
        if ((error as { code?: string }).code !== 'ConnectionRefused')
          return new Response(`${error}`, { status: 502 })
        this.refused++
        this.#ready.delete(node)
      }
    }
    return new Response('nobody is ready', { status: 502 })
  }

  [Symbol.dispose](): void {
    clearInterval(this.#looking)
    this.#server.stop(true)
  }
}
