import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { authenticationRefusals } from '../../src/auth/authenticate'
import { endpoints } from '../../src/http/endpoints'
import { rotateToken } from '../../src/operations/tokens'
import { paths, signed } from '../contract/contract'
import { booking, region } from '../support/builders'
import { isLong } from '../support/long'
import { startService } from '../support/service'
import { countRows } from '../support/storage'
import { eachOf } from './random'
import { type Attempt, type Known, type Loot, tokenCases, type Verdict } from './token-cases'
import { exchange, expectOneOfTheShapes, message, type WireAnswer } from './wire'

setDefaultTimeout(isLong ? 600_000 : 300_000)

/** How each token is tried at each path: the endpoint's own method and others. */
const methods = isLong
  ? ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']
  : ['GET', 'HEAD', 'POST', 'DELETE']

const start = () => startService({ directory: { regions: [region({ id: 9 })], providers: [] } })
let service: Awaited<ReturnType<typeof start>>
let loot: Loot
beforeAll(async () => {
  service = await start()
  const act = service.act()
  const { store } = service.context
  const known = await addKnown('Canary Known')
  const inactive = await addKnown('Canary Inactive')
  const rotating = await service.addPartner('Canary Rotating')
  const revoked = await service.addPartner('Canary Revoked')
  const waiting = await service.addPartner('Canary Waiting')
  await rotateToken(service.context, rotating.partner, act.at, act)
  loot = {
    known,
    inactive,
    rotatedOut: rotating.token,
    waiting: await rotateToken(service.context, waiting.partner, act.at + 3_600_000, act),
    revoked: revoked.token,
  }
  await store.revokeKeys(revoked.partner.id, act)
  await store.setPartnerActive(inactive.partnerId, false, act)
  expect((await service.post(paths.booking, booking('looked-up'), known.token)).status).toBe(201)
})
afterAll(() => service.stop())

/** A partner whose signing secret is known here. */
async function addKnown(name: string): Promise<Known & { readonly partnerId: number }> {
  const { store } = service.context
  const act = service.act()
  const organization = await store.addOrganization(`${name} Org`, act)
  const { id } = await store.addPartner(name, organization.id, act)
  const [kid, secret] = [`kid-of-${name.replace(' ', '-').toLowerCase()}`, new Uint8Array(randomBytes(32))]
  await store.issueKey(id, { kid, secret, startsAt: act.at }, act)
  return { kid, secret, partnerId: id, token: signed({ alg: 'HS256', kid }, secret) }
}

/** A request for something that is there, had it only the right token. */
interface Target {
  readonly method: string
  readonly path: string
  readonly query: string
  /** What a caller with a token in force gets; null for one whose body breaks off. */
  readonly status: number | null
}

const queries: Record<string, string> = {
  [paths.regions]: '?country_code=CA',
  [paths.providers]: '?region_id=9',
  [paths.user]: '?external_user_id=looked-up',
}

const targets: readonly Target[] = endpoints.flatMap(({ method: own, path, answer, body }) => {
  const query = queries[path] ?? '?'
  const broken = { method: own, path, query, status: null }
  const whole = methods.map((method) => {
    const isTaken = own === (method === 'HEAD' ? 'GET' : method)
    return { method, path, query, status: isTaken ? answer.status : 405 }
  })
  return body ? [...whole, broken] : whole
})

let sent = 0

/** Asks for something with a crafted token. */
async function attack({ method, path, query, status }: Target, attempt: Attempt) {
  const whole = JSON.stringify({ ...booking(`token-${sent++}`), ...attempt.body })
  const body = status === null ? whole.slice(0, -9) : whole
  const hasBody = !['GET', 'HEAD', 'TRACE'].includes(method)
  const lines = [
    `${method} ${path}${query}${attempt.query ?? ''} HTTP/1.1`,
    'Host: localhost',
    ...(attempt.lines ?? []),
    // One answer, and then an end to wait for.
    'Connection: close',
    ...(hasBody ? ['Content-Type: application/json', `Content-Length: ${body.length}`] : []),
  ]
  const port = Number(new URL(service.baseUrl).port)
  const steps = [message(lines, hasBody ? body : '')]
  const { answers, ending } = await exchange(port, steps, { due: 2, isHead: method === 'HEAD' })
  expect(ending).toBe('closed')
  // A reset may overtake the answer to what is too large.
  return answers[0]
}

function expectVerdict(answer: WireAnswer, { method, status }: Target, verdict: Verdict, absent: string[]) {
  const { text, headers } = answer
  if (verdict === 'served') return expect(answer.status).toBe(status ?? 400)
  if (verdict.endsWith(' bare')) {
    expectOneOfTheShapes(answer, absent)
    return expect([answer.status, headers.get('x-error-code')]).toEqual([Number.parseInt(verdict, 10), null])
  }
  const code = verdict as keyof typeof authenticationRefusals
  expect([answer.status, headers.get('x-error-code')]).toEqual([401, code])
  if (method === 'HEAD') {
    return expect([text, headers.get('www-authenticate')]).toEqual(['', expect.stringMatching(/^Bearer/)])
  }
  expect(JSON.parse(text)).toEqual({ code, message: authenticationRefusals[code] })
  expectOneOfTheShapes(answer, absent)
}

/** What no answer to an attempt may hold: what it sent, whole and in parts, and who is behind the keys. */
function secretsOf({ lines = [], query = '', body = {} }: Attempt): string[] {
  const values = [...lines, query, ...Object.values(body).map(String)].flatMap((text) =>
    text.split(/[ :,;&="]/),
  )
  const long = values.flatMap((value) => [value, ...value.split('.')]).filter((value) => value.length >= 10)
  const names = ['Authorization', 'authorization', 'WWW-Authenticate', 'AUTHORIZATION']
  return [...long.filter((value) => !names.includes(value)), 'kid-of', 'Canary', 'nobody', 'passwd']
}

async function stored() {
  return {
    requests: await countRows(service.storage, 'booking_requests'),
    members: await countRows(service.storage, 'members'),
  }
}

for (const [group, cases] of Object.entries(tokenCases)) {
  const served = cases.filter(([, verdict]) => verdict === 'served').length
  const refused = `${cases.length - served} cases are refused alike and store nothing`
  test(`${group}: at every endpoint by every method ${refused}; ${served} are served`, async () => {
    const before = await stored()
    const crafted = await Promise.all(
      cases.map(async ([name, verdict, craft]) => ({ name, verdict, attempt: await craft(loot) })),
    )
    const tries = crafted.flatMap((one) => targets.map((target) => ({ ...one, target })))
    const told = await eachOf(tries, 16, async ({ name, verdict, attempt, target }) => {
      const answer = await attack(target, attempt)
      const what = `${name}: ${target.method} ${target.path}`
      if (!answer) return verdict === '431 bare' ? null : `${what} was closed`
      try {
        expectVerdict(answer, target, verdict, secretsOf(attempt))
        return null
      } catch (error) {
        return `${what} got ${answer.status} ${answer.text}: ${error}`
      }
    })
    expect(told.filter((fault) => fault !== null)).toEqual([])
    const booked = served * targets.filter(({ status }) => status === 201).length
    expect(await stored()).toEqual({ requests: before.requests + booked, members: before.members + booked })
  })
}
