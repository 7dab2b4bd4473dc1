import { Elysia } from 'elysia'
import { documents } from './documents/docs'
import { endpoints } from './endpoints/endpoints'
import { answerTo } from './errors'
import { admissionOf, gate, type Serving, shedding } from './gate'
import { forwarding } from './listening/behind-proxy'
import { health } from './listening/health'
import { logEntryOf } from './request-log'

/**
 * The application: it answers requests and never listens.
 *
 * @param peerOf who sent a request to this machine: its client, or a proxy
 * @param isReady whether what is sent can be stored at the moment; always, unless given
 */
export function createApp(
  serving: Serving,
  peerOf: (request: Request) => string,
  isReady: () => Promise<boolean> = async () => true,
) {
  const forwarded = forwarding(serving.proxies ?? null, peerOf, serving.report)
  const admission = admissionOf(serving)
  const shed = shedding(endpoints, serving, admission, forwarded)
  const app = new Elysia({
    // The contract depends on all three: a path without its last slash is the same path; what is
    // validated is what was sent; a Host header cannot move the beginning of the path, which Elysia looks for from character
    // 7 on, where in https:// the second slash is, or from 11 on (see listen.ts for shorter hosts).
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
    // Answers whether they came by HTTPS or not.
    .use(health(isReady))
    .use(serving.noDocs ? new Elysia() : documents(endpoints, serving, forwarded))
    .use(gate(endpoints, serving, admission, forwarded))
  return {
    routes: app.routes,
    fetch: (request: Request) => shed(request, logEntryOf(request)) ?? app.fetch(request),
  }
}
