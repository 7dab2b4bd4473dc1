import { Elysia } from 'elysia'
import { documents } from './documents/docs'
import type { Endpoint } from './endpoints/endpoint'
import { endpoints as registered } from './endpoints/endpoints'
import { answerTo, errorAnswer, jsonType, MethodNotAllowed, noStore } from './errors'
import { admissionOf, gate, type Serving, shedding } from './gate'
import { forwarding } from './listening/behind-proxy'
import { type LogEntry, logEntryOf } from './log'

type PeerOf = (request: Request) => string
type IsReady = () => Promise<boolean>

type App = Pick<ReturnType<typeof createApp>, 'fetch'>
export type CreateApp = (serving: Serving, peerOf: PeerOf, isReady: IsReady) => App

/** Creates the request handler, without a listener. @param peerOf returns the address of the client or proxy */
export function createApp(
  serving: Serving,
  peerOf: PeerOf,
  isReady: IsReady = async () => true,
  endpoints: readonly Endpoint[] = registered,
) {
  const forwarded = forwarding(serving.proxies ?? null, peerOf, serving.report)
  const admission = admissionOf(serving)
  const shed = shedding(endpoints, serving, admission, forwarded)
  const app = new Elysia({
    // Required by the contract. strictPath: a trailing slash is optional. normalize: values are validated exactly as
    // sent. standardHostname: Elysia finds the path even after a short Host header.
    strictPath: false,
    normalize: false,
    handler: { standardHostname: serving.isSecure ?? false },
  })
    // Must come first: Elysia applies onError only to plugins that are added after it.
    .onError(({ error, code, request }) => {
      const entry = logEntryOf(request)
      // If the path is unknown, no earlier code has checked HTTPS.
      const plain = code === 'NOT_FOUND' && forwarded.refusePlain(request, entry)
      return plain || answerTo(error, code, entry)
    })
    // Health checks are answered over plain HTTP too.
    .use(health(isReady))
    .use(serving.noDocs ? new Elysia() : documents(endpoints, serving, forwarded))
    .use(gate(endpoints, serving, admission, forwarded))
  return {
    routes: app.routes,
    fetch: (request: Request) => shed(request, logEntryOf(request)) ?? app.fetch(request),
  }
}

/** Health checks without a token. /livez: the process runs. /readyz: the service can store requests. */
export function health(isReady: () => Promise<boolean>) {
  const app = new Elysia({ name: 'health' })
  const serve = (path: string, answer: (entry: LogEntry) => Response | Promise<Response>) =>
    app.all(
      path,
      async ({ request }) => {
        const entry = logEntryOf(request)
        entry.route = path
        if (request.method !== 'GET' && request.method !== 'HEAD') throw new MethodNotAllowed('GET, HEAD')
        return answer(entry)
      },
      { parse: 'none' },
    )
  serve('/livez', (entry) => fine('live', entry))
  serve('/readyz', async (entry) => {
    return (await isReady()) ? fine('ready', entry) : errorAnswer(entry, 'storage_failed', 'not ready')
  })
  return app
}

function fine(message: string, entry: LogEntry): Response {
  const body = JSON.stringify({ message, status: 200 })
  entry.bytes = body.length
  return new Response(body, { headers: { ...entry.headers, ...noStore, 'Content-Type': jsonType } })
}
