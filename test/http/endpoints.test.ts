import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { Elysia, type MaybePromise } from 'elysia'
import { unlimited } from '../../src/domain/limits'
import { createApp } from '../../src/http/app'
import { openApiDocument } from '../../src/http/documents/openapi'
import { type Endpoint, endpoint, type Reply } from '../../src/http/endpoints/endpoint'
import { endpoints } from '../../src/http/endpoints/endpoints'
import { exampleSlot } from '../../src/http/endpoints/fields'
import { providers } from '../../src/http/endpoints/providers'
import { answerTo } from '../../src/http/errors'
import { admissionOf, gate, routeOf, type Serving } from '../../src/http/gate'
import { forwarding } from '../../src/http/listening/behind-proxy'
import { logEntryOf } from '../../src/http/log'
import type { Representation } from '../../src/http/representation'
import type { Context } from '../../src/operations/context'
import { undeclaredError } from '../support/declared'
import { startService } from '../support/service'

const baseUrl = 'http://localhost'
let service: Awaited<ReturnType<typeof startService>>
let serving: Serving
beforeAll(async () => {
  service = await startService()
  serving = { context: service.context, baseUrl, isSandbox: true }
})
afterAll(() => service.stop())

/** Lists the gaps in an endpoint's documentation. */
function gapsOf({ operationId, body, refusals, answer, checks, ...more }: Endpoint): string[] {
  const examples = more.examples(exampleSlot, baseUrl)
  const sent = Object.values(examples.request ?? {})
  const answered = Object.values(examples.answer)
  return [
    ...(Object.keys(refusals).length > 0 ? [] : ['declares no refusals']),
    ...(answered.length > 0 ? [] : ['has no example of its response']),
    ...(sent.length > 0 || !body ? [] : ['has no example of its body']),
    ...(sent.every(({ value }) => checks.body.accepts(value)) ? [] : ['rejects its own example']),
    ...(answered.every(({ value }) => Value.Check(answer.schema, value))
      ? []
      : ['has an example that violates its schema']),
  ].map((fault) => `${operationId} ${fault}`)
}

describe('http: every endpoint', () => {
  test('declares its refusals and has valid examples of requests and responses', () => {
    expect(endpoints.flatMap(gapsOf)).toEqual([])
  })

  test('has a path with a trailing slash and a unique operationId', () => {
    expect(endpoints.filter(({ path }) => !/^\/partners\/v1\/.*\/$/.test(path))).toEqual([])
    expect(new Set(endpoints.map(({ operationId }) => operationId)).size).toBe(endpoints.length)
  })

  test('is reported if it answers with an undeclared refusal', () => {
    expect(undeclaredError('GET', '/partners/v1/user/', 'member_not_found')).toBeNull()
    expect(undeclaredError('GET', '/partners/v1/user', 'email_taken')).toBe(
      'GET /partners/v1/user answers email_taken, which it does not declare',
    )
    const silent = endpoints.map((one) => ({ ...one, refusals: {} }))
    expect(undeclaredError('GET', '/partners/v1/user/', 'member_not_found', silent)).not.toBeNull()
  })
})

/** The paths that need no token: the docs, the redirect to them, and the health checks. */
const isPublic = (path: string) => /^\/($|livez$|readyz$|openapi\.json$|docs($|\/))/.test(path)

async function openRoutes(app: {
  routes: { method: string; path: string }[]
  fetch: (request: Request) => MaybePromise<Response>
}) {
  const open: string[] = []
  for (const { method, path } of app.routes) {
    if (isPublic(path)) continue
    const verb = method === 'ALL' ? 'GET' : method
    const { status } = await app.fetch(new Request(baseUrl + path.replaceAll(/:\w+/g, '1'), { method: verb }))
    if (status !== 401) open.push(`${method} ${path}`)
  }
  return open
}

describe('http: every route', () => {
  test('is 401 without a token, except the docs and health checks', async () => {
    const app = createApp(serving, () => 'somewhere')
    expect(await openRoutes(app)).toEqual([])
    const closed = app.routes.map(({ path }) => path).filter((path) => !isPublic(path))
    expect([...new Set(closed)]).toEqual(endpoints.map(({ path }) => routeOf(path)))
  })
})

describe('http: an endpoint with a path parameter', () => {
  const echo = endpoint({
    method: 'GET',
    path: '/partners/v1/echo/{id}/',
    operationId: 'echo',
    tag: 'Members',
    summary: 'Repeat an id',
    description: 'Returns the id.',
    params: Type.Object({ id: Type.Integer({ minimum: 1, description: 'The id to repeat' }) }),
    budget: 'reads',
    answer: {
      status: 200,
      description: 'The id',
      schema: Type.Object({ id: Type.Integer() }, { title: 'Echo' }),
    },
    refusals: { field_invalid: 'id: must be at least 1' },
    examples: () => ({ answer: { echo: { summary: 'An id', value: { id: 7 } } } }),
    handler:
      () =>
      ({ params }) => ({ body: { id: params.id } }),
  })
  const ask = async (path: string, method = 'GET', token: string | null = service.partner.token) => {
    const app = new Elysia({ strictPath: false })
      .onError(({ error, code, request }) => answerTo(error, code, logEntryOf(request)))
      .use(
        gate(
          [echo],
          serving,
          admissionOf(serving),
          forwarding(null, () => 'somewhere'),
        ),
      )
    const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` }
    const answer = await app.fetch(new Request(baseUrl + path, { method, headers }))
    return [answer.status, answer.headers.get('allow'), await answer.json()]
  }

  test('is served with and without the trailing slash', async () => {
    expect(await ask('/partners/v1/echo/7/')).toEqual([200, null, { id: 7 }])
    expect(await ask('/partners/v1/echo/7')).toEqual([200, null, { id: 7 }])
  })

  test.each(['PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS'])(
    'answers %s with 405, or with 401 if the token is missing',
    async (method) => {
      const body = { message: 'the path does not support this method', status: 405 }
      expect(await ask('/partners/v1/echo/7/', method)).toEqual([405, 'GET, HEAD', body])
      expect((await ask('/partners/v1/echo/7/', method, null))[0]).toBe(401)
    },
  )

  test.each([
    ['x', 'id: must be an integer'],
    ['0', 'id: must be at least 1'],
    ['1e2', 'id: must be an integer'],
    ['%ff', 'id: not percent-encoded UTF-8'],
  ])('is 400 for the value %s', async (id, message) => {
    expect(await ask(`/partners/v1/echo/${id}/`)).toEqual([400, null, { message, status: 400 }])
  })

  test('is documented with its parameter', async () => {
    const { paths } = JSON.parse(await openApiDocument([echo], baseUrl))
    expect(paths['/partners/v1/echo/{id}/'].get.parameters).toEqual([
      {
        name: 'id',
        in: 'path',
        description: 'The id to repeat',
        required: true,
        schema: { type: 'integer', minimum: 1 },
      },
    ])
  })
})

test('http: two apps in one process do not share cached responses', async () => {
  const availability = { slots: [], heldFrom: 0, holdsUntil: 1 }
  const contextWith = (firstName: string) =>
    ({
      directory: {
        version: 1,
        findRegion: () => ({ id: 1, countryCode: 'CA' }),
        rosterOf: () => roster,
        findListing: () => ({ provider: { id: 1, firstName, languagesSpoken: [], modalities: [] } }),
        availabilityIn: () => availability,
      },
      limits: unlimited,
    }) as unknown as Context
  const roster = { ids: [1], heldFrom: 0, holdsUntil: 1 }
  const namesIn = async (context: Context) => {
    const call = {
      caller: service.partner,
      now: 0,
      params: {},
      query: { region_id: 1 },
      body: {},
      authenticated: { version: 1 },
      turn: () => undefined,
    }
    const { body } = await (providers.handler(context, baseUrl)(call as never) as Promise<
      Reply<Representation>
    >)
    return (await ((body as Representation).plain.body as Blob).json()).results.map(
      ({ details }: { details: { firstName: string } }) => details.firstName,
    )
  }
  expect(await namesIn(contextWith('Ada'))).toEqual(['Ada'])
  expect(await namesIn(contextWith('Ben'))).toEqual(['Ben'])
})
