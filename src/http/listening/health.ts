import { Elysia } from 'elysia'
import { errorAnswer, jsonType, MethodNotAllowed, unkept } from '../errors'
import { type Seen, seenOf } from '../request-log'

/**
 * What whoever runs the service asks of it, without a token and told no detail: /livez, whether the process answers, and
 * /readyz, whether what partners send can be stored. They are no part of the partners' document.
 */
export function health(isReady: () => Promise<boolean>) {
  const app = new Elysia({ name: 'health' })
  const serve = (path: string, answer: (seen: Seen) => Response | Promise<Response>) =>
    app.all(
      path,
      async ({ request }) => {
        const seen = seenOf(request)
        seen.route = path
        if (request.method !== 'GET' && request.method !== 'HEAD') throw new MethodNotAllowed('GET, HEAD')
        return answer(seen)
      },
      { parse: 'none' },
    )
  serve('/livez', (seen) => fine('live', seen))
  serve('/readyz', async (seen) => {
    return (await isReady()) ? fine('ready', seen) : errorAnswer(seen, 'storage_failed', 'not ready')
  })
  return app
}

function fine(message: string, seen: Seen): Response {
  const body = JSON.stringify({ message, status: 200 })
  seen.bytes = body.length
  return new Response(body, { headers: { ...seen.told, ...unkept, 'Content-Type': jsonType } })
}
