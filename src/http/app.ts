import { Elysia } from 'elysia'
import { documents } from './documents/docs'
import { endpoints } from './endpoints/endpoints'
import { answerTo, errorAnswer, jsonType, MethodNotAllowed, noStore } from './errors'
import { admissionOf, gate, type Serving, shedding } from './gate'
import { forwarding } from './listening/behind-proxy'
import { type LogEntry, logEntryOf } from './log'

/** The request handler, without a listener. `peerOf` gives the address of the client or proxy. */
export function createApp(
  serving: Serving,
  peerOf: (request: Request) => string,
  isReady: () => Promise<boolean> = async () => true,
) {
  const forwarded = forwarding(serving.proxies ?? null, peerOf, serving.report)
  const admission = admissionOf(serving)
  const shed = shedding(endpoints, serving, admission, forwarded)
  const app = new Elysia({
    // The contract depends on all three. A trailing slash is optional. Validation sees exactly what was sent.
    // A Host header cannot shift the path: Elysia looks for it from index 7, in https:// the second slash, or
    // with standardHostname from 11 (shorter hosts: listen.ts).
    strictPath: false,
    normalize: false,
    handler: { standardHostname: serving.isSecure ?? false },
  })
    // Before any plugin: it applies only to plugins that follow.
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
