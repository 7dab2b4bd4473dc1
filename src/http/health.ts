import { Elysia } from 'elysia'
import { errorResponse, MethodNotAllowed } from './errors'

/**
 * What whoever runs the service asks of it, without a token and told no detail: /livez, whether the process answers, and
 * /readyz, whether what partners send can be stored. They are no part of the partners' document.
 */
export function health(isReady: () => Promise<boolean>) {
  const app = new Elysia({ name: 'health' })
  const serve = (path: string, answer: () => Response | Promise<Response>) =>
    app.all(
      path,
      async ({ request: { method } }) => {
        if (method !== 'GET' && method !== 'HEAD') throw new MethodNotAllowed('GET, HEAD')
        const response = await answer()
        // It is true of this moment alone.
        response.headers.set('Cache-Control', 'no-store')
        return response
      },
      { parse: 'none' },
    )
  serve('/livez', () => fine('live'))
  serve('/readyz', async () =>
    (await isReady()) ? fine('ready') : errorResponse('storage_failed', 'not ready'),
  )
  return app
}

function fine(message: string): Response {
  return Response.json({ message, status: 200 })
}
