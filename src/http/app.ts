import { Elysia } from 'elysia'
import { documents } from './documents/docs'
import { endpoints } from './endpoints/endpoints'
import { answerTo, errorAnswer, jsonType, MethodNotAllowed, noStore } from './errors'
import { admissionOf, gate, type Serving, shedding } from './gate'
import { forwarding } from './listening/behind-proxy'
import { type LogEntry, logEntryOf } from './log'

/** The request handler, without a listener. `peerOf` returns the address of the client or proxy. */
export function createApp(
  serving: Serving,
  peerOf: (request: Request) => string,
  isReady: () => Promise<boolean> = async () => true,
) {
  const forwarded = forwarding(serving.proxies ?? null, peerOf, serving.report)
  const admission = admissionOf(serving)
  const shed = shedding(endpoints, serving, admission, forwarded)
  const app = new Elysia({
    // The contract depends on all three: an optional trailing slash, validation of values exactly as sent, and
    // a path that the Host header cannot shift. Elysia looks for the path from index 7, or 11 for HTTPS.
    strictPath: false,
    normalize: false,
    handler: { standardHostname: serving.isSecure ?? false },
  })
    // Elysia applies it only to plugins that are added later.
    .onError(({ error, code, request }) => {
      const entry = logEntryOf(request)
      // A path that does not exist has not been checked for HTTPS yet.
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

/** No token. /livez: the process answers. /readyz: it can store requests. Not in the OpenAPI document. */
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
