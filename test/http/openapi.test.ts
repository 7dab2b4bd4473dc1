import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Networks, parseNetworks } from '../../src/domain/addresses'
import { perMinute } from '../../src/domain/limits'
import { formats } from '../../src/domain/validation'
import { createApp } from '../../src/http/app'
import { openApiDocument } from '../../src/http/documents/openapi'
import { type Endpoint, refusalsOf } from '../../src/http/endpoints/endpoint'
import { endpoints } from '../../src/http/endpoints/endpoints'
import { errorCodes } from '../../src/http/errors'
import { paths, signed } from '../contract/contract'
import { actsOf } from '../support/acts'
import { booking, countryWide, provider, region } from '../support/builders'
import { type Schema, schemaErrors } from '../support/json-schema'
import { type Answer, startService } from '../support/service'
import { words } from '../support/words'

/** The default base URL of a sandbox. It is fixed, so that the agreed copy is the same on every machine. */
const agreedBaseUrl = 'http://127.0.0.1:8080'
const agreedCopy = new URL('../../fixtures/openapi.json', import.meta.url)
const renewal = 'RENEW_OPENAPI=1 bun test test/http/openapi.test.ts'

interface Described {
  readonly description: string
  readonly headers?: Record<string, { schema: Schema }>
  readonly content: Record<string, { schema: Schema; examples: Record<string, { value: unknown }> }>
  readonly links?: Record<string, { operationId: string; parameters?: Record<string, string> }>
}

interface Operation {
  readonly operationId: string
  readonly parameters: {
    name: string
    description: string
    required: boolean
    example?: unknown
    schema: Schema
  }[]
  readonly requestBody?: Described
  readonly responses: Record<string, Described>
  readonly description: string
}

interface Document {
  readonly openapi: string
  readonly info: { title: string; version: string }
  readonly servers: { url: string }[]
  readonly security: unknown
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: {
    schemas: Record<string, Schema>
    securitySchemes: Record<string, Schema>
    responses: Record<string, Described>
  }
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
    limits: { reads: perMinute(1_000), bookings: perMinute(1_000), openRequests: 10, emailConflicts: 1 },
  })
  served = await service.get('/openapi.json', null)
  document = resolved(served.body)
})

/** Inlines the shared responses of a document. A description next to a reference replaces that of the response. */
function resolved(described: Document): Document {
  const inline = (_: string, value: { $ref?: string }) => {
    const name = /^#\/components\/responses\/(.*)$/.exec(value?.$ref ?? '')?.[1]
    const { $ref, ...others } = name ? value : {}
    return name ? { ...described.components.responses[name], ...others } : value
  }
  return JSON.parse(JSON.stringify(described), inline)
}

afterAll(() => service.stop())

function operation(path: string): Operation {
  const [described] = Object.values(document.paths[path] ?? {})
  if (!described) throw new Error(`${path} is not described`)
  return described
}

/** The example booking of a document. */
function bookingExampleOf(described: Document): unknown {
  return described.paths[paths.booking]?.post?.requestBody?.content['application/json']?.examples.booking
    ?.value
}

/** Lists the differences between a response and the document. */
function undocumented(path: string, answer: Answer): string[] {
  const described = operation(path).responses[answer.status]
  if (!described) return [`${answer.status} is not described`]
  const code = answer.headers.get('x-error-code')
  const missing = Object.keys(described.headers ?? {}).filter(
    (name) =>
      !answer.headers.has(name) &&
      name !== 'Idempotency-Replayed' &&
      !(code === 'https_required' && name.startsWith('RateLimit')),
  )
  const { schema = {}, examples } = described.content['application/json'] ?? {}
  return [
    ...missing.map((name) => `${name} is not sent`),
    ...(code === null || Object.hasOwn(examples ?? {}, code) ? [] : [`${code} is not described`]),
    ...schemaErrors(answer.body, schema, document.components.schemas),
  ]
}

describe('http: the OpenAPI document', () => {
  test('is JSON that is served without a token', () => {
    expect(served.status).toBe(200)
    expect(served.headers.get('content-type')).toBe('application/json')
    expect(served.headers.get('set-cookie')).toBeNull()
  })

  test('is the same text at each request', async () => {
    const again = await fetch(`${service.baseUrl}/openapi.json`)
    const text = await again.text()
    expect(text).toBe(`${JSON.stringify(served.body, null, 2)}\n`)
  })

  test('has one media type, no unions, and no names of libraries', () => {
    const text = JSON.stringify(document)
    expect(new Set(text.match(/"[a-z]+\/[a-z-]+":/g))).toEqual(new Set(['"application/json":']))
    for (const absent of ['anyOf', 'oneOf', 'nullable', 'additionalProperties', '$id', 'TypeBox', 'lysia']) {
      expect(text).not.toContain(absent)
    }
  })
})

describe('http: the OpenAPI document for generated clients', () => {
  const schemas = () => document.components.schemas as Record<string, { properties: Record<string, Schema> }>

  test('describes slot times as strings with a pattern and not as date-times', () => {
    const { utcStartTime } = schemas().Slot?.properties ?? {}
    expect(utcStartTime).toMatchObject({ type: 'string', pattern: formats['date-time'].pattern })
    expect(utcStartTime?.description).toContain('exactly as received')
    expect(schemas().BookingResponse?.properties.utcStartTime).toMatchObject({
      type: ['string', 'null'],
      pattern: utcStartTime?.pattern,
    })
    for (const name of ['utcStartTime', 'utcEndTime']) {
      const time = schemas().BookingData?.properties[name]
      expect(time).toMatchObject({ type: 'string', pattern: utcStartTime?.pattern })
      expect(String(time?.description).toLowerCase()).toContain('exactly as received')
    }
    const found = JSON.stringify(document).match(/"format":"[^"]+"/g)
    expect(new Set(found)).toEqual(new Set(['"format":"int64"', '"format":"date-time"']))
    const dated = Object.values(schemas()).flatMap(({ properties = {} }) =>
      Object.keys(properties).filter((name) => properties[name]?.format === 'date-time'),
    )
    expect([...new Set(dated)]).toEqual(['acceptedAt', 'declinedAt', 'cancelledAt'])
  })

  test('describes identifiers as int64', () => {
    const ids = Object.values(schemas()).flatMap(({ properties = {} }) =>
      Object.entries(properties).filter(([name]) => /^id$|Id$/.test(name) && name !== 'externalUserId'),
    )
    expect(ids.length).toBe(11)
    for (const [name, schema] of ids) expect(schema, name).toMatchObject({ format: 'int64' })
    const [regionId] = operation(paths.providers).parameters
    expect(regionId).toMatchObject({ name: 'region_id', example: 9, schema: { format: 'int64' } })
  })

  test('keeps the names of its responses if an endpoint gets another error code', async () => {
    const [first, ...others] = endpoints as [Endpoint, ...Endpoint[]]
    const more = {
      ...first,
      refusals: { ...first.refusals, member_deactivated: 'the member is deactivated' },
    }
    const described = JSON.parse(await openApiDocument([more, ...others], service.baseUrl)) as Document
    expect(Object.keys(described.components.responses)).toEqual(Object.keys(document.components.responses))
  })

  test('describes each error once and lists the errors of each operation', () => {
    const text = JSON.stringify(served.body)
    expect(Object.keys(document.components.responses)).toEqual(words`
      Unauthenticated Forbidden MethodNotAllowed ContentTooLarge UnsupportedMediaType TooManyRequests
      InternalServerError ServiceUnavailable
    `)
    for (const name of Object.keys(document.components.responses)) {
      expect(text, name).toContain(`"#/components/responses/${name}"`)
    }
    for (const endpoint of endpoints) {
      const { responses } = operation(endpoint.path)
      for (const [code, words] of Object.entries(refusalsOf(endpoint))) {
        const { status, when, field } = errorCodes[code as keyof typeof errorCodes]
        const response = responses[status]
        const own = field?.replace(endpoint.within ?? '', '')
        const message = own ? `${own}: ${words}` : words
        expect(response?.description, code).toContain(when)
        expect(response?.content['application/json']?.examples[code]?.value).toMatchObject({ message })
      }
    }
    expect(operation(paths.regions).responses[403]?.description).toBe(
      "- `https_required`: The request did not use HTTPS; it was not processed\n- `organization_deactivated`: The partner's organization is deactivated",
    )
  })

  test('lists all error codes in a table with status, cause and remedy', () => {
    const { description } = document.info as unknown as { description: string }
    for (const [code, { status, when, remedy }] of Object.entries(errorCodes)) {
      expect(description).toContain(`\n| \`${code}\` | ${status} | ${when} | ${remedy} |`)
    }
    expect(document.components.schemas.ErrorCode?.enum).toEqual(Object.keys(errorCodes))
  })
})

/** Returns the paths of all parts below `node` that have no description. */
function undescribed(node: unknown, path: string, named = false): string[] {
  if (typeof node !== 'object' || node === null) return []
  const { description, $ref } = node as { description?: unknown; $ref?: unknown }
  const isMissing =
    named && $ref === undefined && (typeof description !== 'string' || description.trim() === '')
  const inner = Object.entries(node)
    .filter(([name]) => !['example', 'examples', 'value'].includes(name))
    .flatMap(([name, value]) => {
      const isNamed = ['properties', 'parameters', 'headers', 'responses', 'schemas'].includes(name)
      if (!isNamed) return undescribed(value, `${path}/${name}`)
      return Object.entries(value as object).flatMap(([key, one]) =>
        undescribed(one, `${path}/${name}/${key}`, true),
      )
    })
  return isMissing ? [path, ...inner] : inner
}

test('http: the OpenAPI document describes each schema, property, parameter, header and response', () => {
  expect(undescribed(served.body, '')).toEqual([])
  expect(undescribed({ properties: { id: { description: ' ' } } }, '')).toEqual(['/properties/id'])
})

describe('http: the agreed copy of the OpenAPI document', () => {
  test('equals the document that the service serves', async () => {
    // Builds the document without a service, so that its examples do not depend on the free slots.
    const text = await openApiDocument(endpoints, agreedBaseUrl)
    if (process.env.RENEW_OPENAPI) await Bun.write(agreedCopy, text)
    const agreed = await Bun.file(agreedCopy).text()
    expect(text, `fixtures/openapi.json differs; if the change is intended, renew it: ${renewal}`).toBe(
      agreed,
    )
  })
})

describe('http: responses match the OpenAPI document', () => {
  test.each([
    [`${paths.regions}?country_code=ca&page_size=1`, paths.regions],
    [`${paths.regions}?country_code=FR`, paths.regions],
    [`${paths.providers}?region_id=1&page_size=1`, paths.providers],
    [`${paths.providers}?country_code=IE`, paths.providers],
  ])('for GET %s', async (url, path) => {
    const answer = await service.get(url)
    expect(answer.status).toBe(200)
    expect(undocumented(path, answer)).toEqual([])
  })

  test('for the example requests and the member that they create', async () => {
    const { requestBody, responses } = operation(paths.booking)
    const requests = requestBody?.content['application/json']?.examples
    const answers = responses[201]?.content['application/json']?.examples
    for (const name of ['booking', 'intake']) {
      const answer = await service.post(paths.booking, requests?.[name]?.value)
      expect(answer.status).toBe(201)
      expect(undocumented(paths.booking, answer)).toEqual([])
      const example = answers?.[name]?.value as Record<string, unknown>
      const authorizationNumber = example.authorizationNumber && expect.any(String)
      expect(answer.body).toEqual({ ...example, authorizationNumber })
      expect(answer.headers.get('idempotency-replayed')).toBeNull()
    }
    const member = await service.get(`${paths.user}?external_user_id=member-1001`)
    expect(undocumented(paths.user, member)).toEqual([])
    expect(member.body).toEqual(
      operation(paths.user).responses[200]?.content['application/json']?.examples.member?.value,
    )
  })

  const offeredBooking = async () => bookingExampleOf((await service.get('/openapi.json', null)).body)

  test('for the example booking, which always names a free slot in a sandbox', async () => {
    const first = bookingExampleOf(document)
    for (let round = 0; round < 3; round++) {
      const value = await offeredBooking()
      expect((await service.post(paths.booking, value)).status).toBe(201)
      if (round > 0) expect(value).not.toEqual(first)
    }
  })

  test('in production, where the document has a fixed example slot', async () => {
    const { context, baseUrl } = service
    const fixed = await openApiDocument(endpoints, baseUrl)
    expect((await service.post(paths.booking, await offeredBooking())).status).toBe(201)
    expect(await offeredBooking()).not.toEqual(bookingExampleOf(JSON.parse(fixed)))
    const production = createApp({ context, baseUrl, isSandbox: false }, () => '127.0.0.1')
    const answer = await production.fetch(new Request(`${baseUrl}/openapi.json`))
    expect(await answer.text()).toBe(fixed)
  })

  test('for every refusal that a request can cause, word for word', async () => {
    const met = new Set<string>()
    for (const [path, answer] of await refusals()) {
      expect(undocumented(path, answer)).toEqual([])
      const code = answer.headers.get('x-error-code') ?? ''
      const examples = operation(path).responses[answer.status]?.content['application/json']?.examples
      expect(answer.body).toEqual(examples?.[code]?.value)
      met.add(`${path} ${code}`)
    }
    const documented = endpoints.flatMap((endpoint) =>
      Object.keys(refusalsOf(endpoint)).map((code) => `${endpoint.path} ${code}`),
    )
    const unprovoked = documented.filter(
      (one) => !met.has(one) && !/ (internal_error|overloaded|storage_busy|storage_failed)$/.test(one),
    )
    expect(unprovoked).toEqual([])
  })
})

function urlOf(path: string, id: number | string = 1): string {
  return path.replace('{id}', String(id))
}

/** Returns two 429 responses for each path: for a used-up rate limit, and for too many failed authentications. */
async function limited(): Promise<[path: string, answer: Answer][]> {
  const one = perMinute(1)
  const strict = await startService({ limits: { reads: one, bookings: one, failedAuthentications: one } })
  const answers: [path: string, answer: Answer][] = []
  for (const { path, method } of endpoints) {
    for (const token of [strict.partner.token, strict.partner.token, 'none', 'none']) {
      const headers = { Authorization: `Bearer ${token}` }
      const answer = await strict.send(urlOf(path), { method, headers })
      if (answer.status === 429) answers.push([path, answer])
    }
  }
  await strict.stop()
  return answers
}

/** Returns the response of each path to an HTTP request. The proxy is configured for HTTPS. */
async function plain(): Promise<[path: string, answer: Answer][]> {
  const behind = await startService({ proxies: parseNetworks('10.0.0.1') as Networks })
  const answers = endpoints.map(async ({ path, method }): Promise<[string, Answer]> => {
    return [path, await behind.send(urlOf(path), { method })]
  })
  const plain = await Promise.all(answers)
  await behind.stop()
  return plain
}

async function bookAsManyAsAllowed(member: string, providerId: number): Promise<void> {
  for (const date of ['02', '03', '04']) {
    for (const time of ['14:00', '14:45', '15:30', '16:15']) {
      const slot = { providerId, utcStartTime: `2026-12-${date}T${time}:00Z` }
      await service.post(paths.booking, booking(member, slot))
    }
  }
}

async function refusals(): Promise<[path: string, answer: Answer][]> {
  const store = actsOf(service.context)
  const deactivated = await service.addPartner('Deactivated')
  await store.setPartnerActive(deactivated.partner.id, false, service.act())
  const closed = await service.addPartner('Closed')
  await store.setOrganizationActive(closed.organization?.id ?? 0, false, service.act())
  const homeless = await service.addPartner('Homeless', null)
  const slot = { providerId: 2, utcStartTime: '2026-12-01T14:00:00Z' }
  await service.post(paths.booking, booking('holder', slot))
  await bookAsManyAsAllowed('busy', slot.providerId)
  const left = await service.post(paths.booking, booking('left'))
  await store.setMemberActive(left.body.member.id, false, service.act())
  const bookAt = async (time: string) => {
    const utcStartTime = `2026-12-08T${time}:00Z`
    return (await service.post(paths.booking, booking('changing', { ...slot, utcStartTime }))).body.id
  }
  const [heldId, declinedId] = [await bookAt('14:00'), await bookAt('15:30'), await bookAt('16:15')]
  const withoutSlot = (await service.post(paths.booking, booking('changing'))).body.id

  const tokens = [
    null,
    signed({ alg: 'HS256' }),
    signed({ alg: 'HS256', kid: 'nobody' }),
    deactivated.token,
    closed.token,
    homeless.token,
  ]
  const requests: [path: string, answer: Promise<Answer>][] = []
  for (const { path, method } of endpoints) {
    const send = (token: string | null, verb: string = method) =>
      service.send(urlOf(path), {
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
  post(booking('busy', { ...slot, utcStartTime: '2026-12-07T14:00:00Z' }))
  post(booking('holder', { ...slot, providerId: 1 }))
  post(booking('new', undefined, { email: 'holder@example.com' }))
  await requests.at(-1)?.[1]
  post(booking('new'))
  post(booking('new', { ...slot, providerId: 999 }))
  post(booking('new', slot))
  post(booking('holder', slot))
  await service.post(paths.booking, booking('holder'), undefined, { 'Idempotency-Key': 'once' })
  post(booking('holder', slot), { 'Idempotency-Key': 'once' })
  get(paths.changes, '?page_size=101')
  get(paths.changes, '?after=1-0')
  const on = (path: string, id: number, body?: object | string, headers: Record<string, string> = {}) =>
    requests.push([
      path,
      body === undefined
        ? service.get(urlOf(path, id))
        : service.post(urlOf(path, id), body, undefined, headers),
    ])
  await store.decline(declinedId, service.act())
  for (const path of [paths.request, paths.cancel, paths.reschedule]) {
    const body = path === paths.request ? undefined : booking('any', slot).bookingData
    for (const id of [0, 999, left.body.id]) on(path, id, body)
  }
  for (const path of [paths.cancel, paths.reschedule]) {
    const free = booking('any', { ...slot, utcStartTime: '2026-12-08T18:00:00Z' }).bookingData as object
    on(path, heldId, free, { 'If-Match': '"another"' })
    on(path, declinedId, free)
    on(path, heldId, ' '.repeat(256 * 1024 + 1))
  }
  on(paths.reschedule, heldId, '{}', { 'Content-Type': 'text/plain' })
  on(paths.reschedule, heldId, '{')
  on(paths.reschedule, withoutSlot, booking('any', slot).bookingData)
  for (const other of [{ providerId: 999 }, slot, { providerId: 1, utcStartTime: '2026-12-08T16:15:00Z' }])
    on(paths.reschedule, heldId, booking('any', { ...slot, ...other }).bookingData)
  const answers = await Promise.all(
    requests.map(async ([path, answer]): Promise<[string, Answer]> => [path, await answer]),
  )
  service.setNow('2026-12-08T14:00:00Z')
  for (const path of [paths.cancel, paths.reschedule])
    answers.push([path, await service.post(urlOf(path, heldId), booking('any', slot).bookingData)])
  return [...answers, ...(await limited()), ...(await plain())]
}
