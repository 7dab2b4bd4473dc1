import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { paths } from '../contract/contract'
import { booking, provider, region } from '../support/builders'
import { isLong } from '../support/long'
import { startService } from '../support/service'
import { headCases, type Outcome, type TargetCase, targetCases } from './path-cases'
import { eachOf } from './random'
import { exchange, expectOneOfTheShapes, message, type WireAnswer } from './wire'

setDefaultTimeout(isLong ? 600_000 : 300_000)

const directory = {
  regions: [region({ id: 9 }), region({ id: 11, stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' })],
  providers: [provider('a'), provider('b')],
}
const start = () => startService({ directory })
let service: Awaited<ReturnType<typeof start>>
let port: number
beforeAll(async () => {
  service = await start()
  port = Number(new URL(service.baseUrl).port)
  expect((await service.post(paths.booking, booking('looked-up'))).status).toBe(201)
})
afterAll(() => service.stop())

interface Route {
  readonly method: string
  readonly path: string
  readonly query: string
  /** True if the route needs a token. */
  readonly isPartners: boolean
}

const route = (method: string, path: string, query: string): Route => ({
  method,
  path,
  query,
  isPartners: path.startsWith('/partners/'),
})

const routes: readonly Route[] = [
  route('GET', paths.regions, '?country_code=CA&page_size=1'),
  route('GET', paths.providers, '?region_id=9&page_size=1'),
  route('GET', paths.user, '?external_user_id=looked-up'),
  // Sends an invalid body: the refusal shows that the route was reached, and no member is created.
  route('POST', paths.booking, '?x'),
  route('GET', '/docs/', '?x'),
  route('GET', '/openapi.json/', '?x'),
  route('GET', '/nowhere/', '?x'),
]

async function ask(method: string, target: string, lines: readonly string[], token: string | null) {
  const body = method === 'POST' ? '{}' : ''
  const head = [
    `${method} ${target} HTTP/1.1`,
    ...lines,
    'Connection: close',
    ...(token === null ? [] : [`Authorization: Bearer ${token}`]),
    ...(body ? ['Content-Type: application/json', `Content-Length: ${body.length}`] : []),
  ]
  const { answers } = await exchange(port, [message(head, body)], { due: 2 })
  expect(answers.length).toBeLessThanOrEqual(1)
  return answers[0]
}

function written({ status, headers, text }: WireAnswer): string {
  return JSON.stringify([
    status,
    [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'),
    text,
  ])
}

const local = ['Host: localhost']

const plainTarget = ({ path, query }: Route, outcome: Outcome) =>
  ({ same: path + query, root: '/', nothing: '/nothing/here' })[outcome as string]

const references = new Map<string, Promise<WireAnswer | undefined>>()

function plainAnswer(method: string, target: string, token: string | null) {
  const key = JSON.stringify([method, target, token])
  const answer = references.get(key) ?? ask(method, target, local, token)
  references.set(key, answer)
  return answer
}

async function is(answer: WireAnswer | undefined, outcome: Outcome, route: Route, token: string | null) {
  // A connection reset may arrive before the response to a request that is too large.
  if (!answer) return outcome === '431 bare'
  const plain = plainTarget(route, outcome)
  if (plain !== undefined) {
    const reference = await plainAnswer(route.method, plain, token)
    return reference !== undefined && written(reference) === written(answer)
  }
  expectOneOfTheShapes(answer)
  return !answer.headers.has('x-error-code') && `${answer.status} bare` === outcome
}

async function mismatchOf(one: Try, route: Route, token: string | null): Promise<string | null> {
  const { name, wanted, lines, target } = one
  const { method, path, query } = route
  const answer = await ask(method, target(path, query), lines, token)
  for (const outcome of wanted) if (await is(answer, outcome, route, token)) return null
  // Any word after the path of bookings is the id of a request, which has other methods.
  const isId = path === paths.booking && wanted.includes('nothing')
  if (isId && answer?.status === (token === null ? 401 : 405)) return null
  const caller = token === null ? 'without a token' : 'with a token'
  return `${name}, ${path} ${caller}: ${answer ? written(answer) : 'closed'}, not ${wanted.join(' or ')}`
}

interface Try {
  readonly name: string
  readonly wanted: readonly Outcome[]
  readonly lines: readonly string[]
  readonly target: TargetCase[2]
}

/** Sends each request to every route, with and without a token, and lists the unexpected responses. */
async function unexpected(tries: readonly Try[]): Promise<string[]> {
  const all = tries.flatMap((one) =>
    routes.flatMap((route) => [service.partner.token, null].map((token) => ({ ...one, route, token }))),
  )
  const found = await eachOf(all, 16, ({ route, token, ...one }) => mismatchOf(one, route, token))
  return found.filter((mismatch) => mismatch !== null)
}

const plainly: TargetCase[2] = (path, query) => path + query

test('hostile: only partner routes need a token, and all links begin with the base URL', async () => {
  const answers = await Promise.all(
    routes.map(async ({ method, path, query, isPartners }) => {
      const without = await ask(method, path + query, local, null)
      expect([path, without?.status === 401]).toEqual([path, isPartners])
      return (await ask(method, path + query, local, service.partner.token)) as WireAnswer
    }),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400, 200, 200, 404])
  const [regions, providers, , , , document] = answers
  const query = 'country_code=CA&page_size=1'
  expect(regions?.headers.get('link')).toBe(
    [
      `<${service.baseUrl}${paths.regions}?${query}&page=1>; rel="first"`,
      `<${service.baseUrl}${paths.regions}?${query}&page=2>; rel="next"`,
      `<${service.baseUrl}${paths.regions}?${query}&page=2>; rel="last"`,
    ].join(', '),
  )
  expect(JSON.parse(providers?.text ?? '').next).toBe(
    `${service.baseUrl}${paths.providers}?region_id=9&page_size=1&page=2`,
  )
  expect(JSON.parse(document?.text ?? '').servers).toEqual([
    expect.objectContaining({ url: service.baseUrl }),
  ])
})

for (const [group, cases] of Object.entries(headCases)) {
  test(`hostile: ${cases.length} ${group} get an expected response on every route`, async () => {
    const tries = cases.map(([name, wanted, lines]) => ({ name, wanted: [wanted], lines, target: plainly }))
    expect(await unexpected(tries)).toEqual([])
  })
}

/** With an invalid Host, Bun does not resolve the dots in a target. The response is then a 404. */
const unresolved = (outcome: Outcome): Outcome[] => [outcome, 'nothing']

test(`hostile: ${targetCases.length} unusual request targets get an expected response on every route`, async () => {
  const tries = targetCases.flatMap(([name, wanted, target]) => [
    { name, wanted: [wanted], lines: local, target },
    // Because of elysia#748, a short Host used to shift the beginning of the path.
    { name: `${name}, a short Host`, wanted: [wanted], lines: ['Host: x'], target },
    { name: `${name}, an invalid Host`, wanted: unresolved(wanted), lines: ['Host: ['], target },
  ])
  expect(await unexpected(tries)).toEqual([])
})
