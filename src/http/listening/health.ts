import { Elysia } from 'elysia'
import { errorAnswer, jsonType, MethodNotAllowed, unkept } from '../errors'
import { type LogEntry, logEntryOf } from '../request-log'

/**
 * What whoever runs the service asks of it, without a token and told no detail: /livez, whether the process answers, and
 * /readyz, whether what partners send can be stored. They are no part of the partners' document.
 */
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
  return new Response(body, { headers: { ...entry.headers, ...unkept, 'Content-Type': jsonType } })
}
