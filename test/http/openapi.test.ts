import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { paths, signed } from '../contract/contract'
import { booking, countryWide, provider, region } from '../support/builders'
import { misfits, type Schema } from '../support/json-schema'
import { type Answer, startService } from '../support/service'

/** The address of a sandbox started without options, for the agreed copy to be the same everywhere. */
const agreedBaseUrl = 'http://127.0.0.1:8080'
const agreedCopy = new URL('../../fixtures/openapi.json', import.meta.url)
const renewal = 'RENEW_OPENAPI=1 bun test test/http/openapi.test.ts'

interface Described {
  readonly description: string
  readonly headers?: Record<string, { schema: Schema }>
  readonly content: Record<string, { schema: Schema; examples: Record<string, { value: unknown }> }>
}

interface Operation {
  readonly operationId: string
  readonly parameters: { name: string; description: string; required: boolean; schema: Schema }[]
  readonly requestBody?: Described
  readonly responses: Record<string, Described>
}

interface Document {
  readonly openapi: string
  readonly info: { title: string; version: string }
  readonly servers: { url: string }[]
  readonly security: unknown
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { schemas: Record<string, Schema>; securitySchemes: Record<string, Schema> }
}

let service: Awaited<ReturnType<typeof startService>>
let served: Answer
let document: Document

beforeAll(async () => {
  service = await startService({
    directory: {
      regions: [
        region(),
        region({ stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' }),
        countryWide('IE', 'Ireland'),
      ],
      providers: [provider('p-1', { credentials: 'PhD' }), provider('p-2')],
    },
  })
  served = await service.get('/openapi.json', null)
  document = served.body
})

afterAll(() => service.stop())

function operation(path: string): Operation {
  const [described] = Object.values(document.paths[path] ?? {})
  if (!described) throw new Error(`${path} is not described`)
  return described
}

/** What was answered, where it is not what the document tells. */
function untold(path: string, answer: Answer): string[] {
  const told = operation(path).responses[answer.status]
  if (!told) return [`${answer.status} is not described`]
  const missing = Object.keys(told.headers ?? {}).filter((name) => !answer.headers.has(name))
  const code = answer.headers.get('x-error-code')
  const codes = told.headers?.['X-Error-Code']?.schema.enum as string[] | undefined
  const { schema = {} } = told.content['application/json'] ?? {}
  return [
    ...missing.map((name) => `${name} is not sent`),
    ...(code === null || codes?.includes(code) ? [] : [`${code} is not described`]),
    ...misfits(answer.body, schema, document.components.schemas),
  ]
}

describe('the document', () => {
  test('is JSON that is served without a token', () => {
    expect(served.status).toBe(200)
    expect(served.headers.get('content-type')).toBe('application/json')
    expect(served.headers.get('set-cookie')).toBeNull()
  })

  test('is OpenAPI 3.1.0 of version 1.0.0 at the configured address, with a bearer token', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.info.version).toBe('1.0.0')
    expect(document.servers).toEqual([{ url: service.baseUrl }])
    expect(document.security).toEqual([{ bearer: [] }])
    expect(document.components.securitySchemes.bearer).toMatchObject({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
    })
  })

  test('is the same text each time', async () => {
    const again = await fetch(`${service.baseUrl}/openapi.json`)
    const text = await again.text()
    expect(text).toBe(`${JSON.stringify(document, null, 2)}\n`)
  })

  test('tells the four operations and each status of theirs', () => {
    const told = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { operationId, responses }]) => [
        `${method} ${path}`,
        operationId,
        Object.keys(responses).join(' '),
      ]),
    )
    expect(told).toEqual([
      [`get ${paths.regions}`, 'listProviderRegions', '200 400 401 403 405 409 500'],
      [`get ${paths.providers}`, 'searchProviders', '200 400 401 403 405 409 500'],
      [`post ${paths.booking}`, 'submitBookingRequest', '201 400 401 403 405 409 413 415 500 503'],
      [`get ${paths.user}`, 'lookUpMember', '200 400 401 403 404 405 409 500'],
    ])
  })

  test('tells every parameter with its bounds and default', () => {
    const page = { type: 'integer', minimum: 1, default: 1 }
    const pageSize = { type: 'integer', minimum: 1, maximum: 100, default: 20 }
    const told = (path: string) =>
      Object.fromEntries(
        operation(path).parameters.map(({ name, required, schema }) => [
          required ? `${name}, required` : name,
          schema,
        ]),
      )
    expect(told(paths.regions)).toMatchObject({
      'country_code, required': { type: 'string', minLength: 2, maxLength: 2 },
      page,
      page_size: pageSize,
    })
    expect(told(paths.providers)).toMatchObject({
      region_id: { type: 'integer', minimum: 1 },
      country_code: { type: 'string' },
      modality: { type: 'string', enum: ['in-person', 'telephonic', 'in-video'] },
      language: { type: 'string', format: 'language-tag' },
      page,
      page_size: pageSize,
    })
    expect(told(paths.user)).toMatchObject({
      'external_user_id, required': { type: 'string', minLength: 1, maxLength: 255 },
    })
    expect(told(paths.booking)).toEqual({})
    for (const path of Object.values(paths)) {
      for (const { name, description } of operation(path).parameters) expect(description, name).toMatch(/\S/)
    }
  })

  test('names the schemas that partners meet', () => {
    expect(Object.keys(document.components.schemas)).toEqual([
      'AuthenticationError',
      'BookingData',
      'BookingRequest',
      'BookingResponse',
      'Error',
      'Member',
      'MemberData',
      'Provider',
      'ProviderPage',
      'Region',
      'ScreeningAnswer',
      'Slot',
    ])
    expect(document.components.schemas.AuthenticationError?.properties).toMatchObject({
      code: { enum: ['token_invalid', 'missing_claim', 'partner_not_found', 'partner_inactive'] },
    })
    expect(document.components.schemas.BookingRequest?.required).toEqual(['user', 'memberData', 'phq9Data'])
  })

  test('has one media type, no unions of what could be coerced, and nothing of its makers', () => {
    const text = JSON.stringify(document)
    expect(new Set(text.match(/"[a-z]+\/[a-z-]+":/g))).toEqual(new Set(['"application/json":']))
    for (const absent of ['anyOf', 'oneOf', 'nullable', '$id', 'TypeBox', 'lysia']) {
      expect(text).not.toContain(absent)
    }
  })

  test('gives an example of every body and of every refusal', () => {
    for (const path of Object.values(paths)) {
      const { responses } = operation(path)
      for (const [status, { headers, content }] of Object.entries(responses)) {
        const examples = Object.keys(content['application/json']?.examples ?? {})
        const codes = headers?.['X-Error-Code']?.schema.enum as string[] | undefined
        if (codes) expect(examples, `${path} ${status}`).toEqual(codes)
        else expect(examples, `${path} ${status}`).not.toEqual([])
      }
    }
    const requests = operation(paths.booking).requestBody?.content['application/json']?.examples
    expect(Object.keys(requests ?? {})).toEqual(['booking', 'intake'])
  })
})

describe('the agreed copy', () => {
  test('is what the service serves', async () => {
    const text = `${JSON.stringify(document, null, 2)}\n`.replaceAll(service.baseUrl, agreedBaseUrl)
    if (process.env.RENEW_OPENAPI) await Bun.write(agreedCopy, text)
    const agreed = await Bun.file(agreedCopy).text()
    expect(text, `fixtures/openapi.json differs; where that is meant, renew it: ${renewal}`).toBe(agreed)
  })

  test("has nothing that Redocly's linter finds fault with", async () => {
    const root = new URL('../..', import.meta.url).pathname
    const linter = Bun.spawn(
      [
        process.execPath,
        'node_modules/@redocly/cli/bin/cli.js',
        ...['lint', 'fixtures/openapi.json', '--config', '.redocly.yaml', '--format', 'json'],
      ],
      {
        cwd: root,
        env: { ...process.env, REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
        stderr: 'pipe',
        timeout: 20_000,
      },
    )
    const [report, log] = await Promise.all([linter.stdout.text(), linter.stderr.text()])
    expect(await linter.exited, log).toBe(0)
    expect(JSON.parse(report)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] })
  }, 25_000)
})

describe('live answers are what the document tells', () => {
  test.each([
    [`${paths.regions}?country_code=ca&page_size=1`, paths.regions],
    [`${paths.regions}?country_code=FR`, paths.regions],
    [`${paths.providers}?region_id=1&page_size=1`, paths.providers],
    [`${paths.providers}?country_code=IE`, paths.providers],
  ])('of GET %s', async (url, path) => {
    const answer = await service.get(url)
    expect(answer.status).toBe(200)
    expect(untold(path, answer)).toEqual([])
  })

  test('of the example requests, sent as they are, and of the member that they create', async () => {
    const { requestBody, responses } = operation(paths.booking)
    const requests = requestBody?.content['application/json']?.examples
    const answers = responses[201]?.content['application/json']?.examples
    for (const name of ['booking', 'intake']) {
      const answer = await service.post(paths.booking, requests?.[name]?.value)
      expect(answer.status).toBe(201)
      expect(untold(paths.booking, answer)).toEqual([])
      const told = answers?.[name]?.value as Record<string, unknown>
      const authorizationNumber = told.authorizationNumber && expect.any(String)
      expect(answer.body).toEqual({ ...told, authorizationNumber })
    }
    const member = await service.get(`${paths.user}?external_user_id=member-1001`)
    expect(untold(paths.user, member)).toEqual([])
    expect(member.body).toEqual(
      operation(paths.user).responses[200]?.content['application/json']?.examples.member?.value,
    )
  })

  test('of every refusal that a request can provoke, word for word', async () => {
    const met = new Set<string>()
    for (const [path, answer] of await refusals()) {
      expect(untold(path, answer)).toEqual([])
      const code = answer.headers.get('x-error-code') ?? ''
      const told = operation(path).responses[answer.status]?.content['application/json']?.examples
      expect(answer.body).toEqual(told?.[code]?.value)
      met.add(`${path} ${code}`)
    }
    const told = Object.values(paths).flatMap((path) =>
      Object.values(operation(path).responses).flatMap(({ headers }) =>
        ((headers?.['X-Error-Code']?.schema.enum ?? []) as string[]).map((code) => `${path} ${code}`),
      ),
    )
    // What no request can bring about, but a fault can.
    const unprovoked = told.filter((one) => !met.has(one) && !/ (internal_error|storage_busy)$/.test(one))
    expect(unprovoked).toEqual([])
  })
})

/** A request for each refusal of each path, and what was answered. */
async function refusals(): Promise<[path: string, answer: Answer][]> {
  const { store } = service.context
  const deactivated = await service.addPartner('Deactivated')
  await store.setPartnerActive(deactivated.partner.id, false, service.act())
  const closed = await service.addPartner('Closed')
  await store.setOrganizationActive(closed.organization?.id ?? 0, false, service.act())
  const homeless = await service.addPartner('Homeless', null)
  const slot = { providerId: 2, utcStartTime: '2026-12-01T14:00:00Z' }
  await service.post(paths.booking, booking('holder', slot))
  const left = await service.post(paths.booking, booking('left'))
  await store.setMemberActive(left.body.member.id, false, service.act())

  const tokens = [
    null,
    signed({ alg: 'HS256' }),
    signed({ alg: 'HS256', kid: 'nobody' }),
    deactivated.token,
    closed.token,
    homeless.token,
  ]
  const requests: [path: string, answer: Promise<Answer>][] = []
  for (const path of Object.values(paths)) {
    const method = path === paths.booking ? 'POST' : 'GET'
    const send = (token: string | null, verb = method) =>
      service.send(path, {
        method: verb,
        headers: token === null ? {} : { Authorization: `Bearer ${token}` },
      })
    for (const token of tokens) requests.push([path, send(token)])
    requests.push([path, send(service.partner.token, 'PATCH')])
  }
  const get = (path: string, query = '') => requests.push([path, service.get(path + query)])
  get(paths.regions)
  get(paths.regions, '?country_code=CA&page=9')
  get(paths.providers, '?region_id=1&page_size=101')
  get(paths.providers, '?region_id=999')
  get(paths.providers, '?region_id=1&country_code=IE')
  get(paths.providers, '?country_code=CA')
  get(paths.providers, '?region_id=1&page=9')
  get(paths.user)
  get(paths.user, '?external_user_id=nobody')
  get(paths.user, '?external_user_id=left')
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    requests.push([paths.booking, service.post(paths.booking, body, undefined, headers)])
  post('{}', { 'Content-Type': 'text/plain' })
  post(' '.repeat(256 * 1024 + 1))
  post('{')
  post(booking('new', undefined, { email: 'nowhere' }))
  post(booking('left'))
  post(booking('new', undefined, { email: 'holder@example.com' }))
  post(booking('new', { ...slot, providerId: 999 }))
  post(booking('new', slot))
  post(booking('holder', slot))
  return Promise.all(requests.map(async ([path, answer]): Promise<[string, Answer]> => [path, await answer]))
}
