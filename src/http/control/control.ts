import description from '../../../fixtures/sandbox-control.json'
import { Refusal } from '../../domain/errors'
import { formatInstant } from '../../scheduling/calendar'
import { type CreateApp, createApp } from '../app'
import { tokenOf } from '../authentication'
import { parseJson, readBody } from '../body'
import { endpoints } from '../endpoints/endpoints'
import { answerToControl, jsonType, MethodNotAllowed, noStore } from '../errors'
import { valid } from '../gate'
import { type LogEntry, logEntryOf } from '../log'
import { dropHeader, dropped, Outcomes } from './outcomes'
import { type Route, routes, type Sandbox } from './routes'

export type { Sandbox } from './routes'

export function controlledApp(sandbox: Sandbox): CreateApp {
  return (serving, peerOf, isReady) => {
    const outcomes = new Outcomes()
    sandbox.stopping.then(() => outcomes.clear())
    const create = () => {
      const { context } = sandbox.service()
      const applied = endpoints.map((endpoint) => outcomes.applyTo(endpoint))
      return createApp({ ...serving, context }, peerOf, isReady, applied)
    }
    let app = create()
    const running = new Map<Request, Promise<Response>>()
    let resetting: Promise<void> | null = null
    const resetFor = (request: Request) => async (now: number | null) => {
      running.delete(request)
      while (resetting) await resetting
      const { promise, resolve } = Promise.withResolvers<void>()
      resetting = promise
      try {
        using start = sandbox.copyStart()
        outcomes.clear()
        await Promise.allSettled(running.values())
        await sandbox.reset(now, start)
        outcomes.clear()
        app = create()
      } finally {
        resetting = null
        resolve()
      }
    }
    const answer = async (request: Request) => {
      const entry = logEntryOf(request)
      const [path = ''] = request.url.slice(request.url.indexOf('/', 'https://'.length)).split('?', 1)
      if (path === '/docs/sandbox.json') return json(description, entry)
      const there = routes.filter(({ pattern }) => pattern.test(path))
      if (there.length === 0) return app.fetch(request)
      entry.route = `/sandbox/v1/${there[0]?.path}`
      const control = { ...sandbox, reset: resetFor(request), ...sandbox.service(), outcomes }
      return answerControl(there, path, request, control).then(
        (body) => json(body, entry),
        (error) => answerToControl(error, entry),
      )
    }
    return {
      async fetch(request) {
        // The address is unknown later if the client disconnects.
        peerOf(request)
        logEntryOf(request).isLate = true
        while (resetting) await resetting
        const answering = answer(request)
        running.set(request, answering)
        try {
          const response = await answering
          if (response.headers.has(dropHeader)) return dropped()
          response.headers.set('X-Sandbox-Now', formatInstant(sandbox.clock.now()))
          return response
        } finally {
          running.delete(request)
        }
      },
    }
  }
}

type Control = Omit<Parameters<Route['handle']>[0], 'params' | 'body' | 'act'>

async function answerControl(there: readonly Route[], path: string, request: Request, control: Control) {
  if (tokenOf(request) !== control.token)
    throw new Refusal('token_invalid', 'the control token is missing or wrong')
  const route = there.find(({ method }) => method === request.method.replace('HEAD', 'GET'))
  if (!route) throw new MethodNotAllowed(there.map(({ method }) => method).join(', '))
  const { groups = {} } = route.pattern.exec(path) ?? {}
  const params = Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, decode(text)]))
  const isEmpty = !Number(request.headers.get('content-length')) && !request.headers.has('transfer-encoding')
  const body = valid(route.check, 'body', isEmpty ? {} : parseJson(await readBody(request)))
  return route.handle({ ...control, params, body, act: { actor: 'sandbox', at: control.clock.now() } })
}

function json(answer: object, entry: LogEntry): Response {
  const text = JSON.stringify(answer)
  entry.bytes = Buffer.byteLength(text)
  return new Response(text, { headers: { ...entry.headers, ...noStore, 'Content-Type': jsonType } })
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
