import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { booking, provider, region } from './support/builders'
import { type LogLine, logLines, Operator, type Served, stopping, toldIn } from './support/operator'
import { eventually } from './support/process'

setDefaultTimeout(300_000)

// A service in production is sent what tells of people and who may speak for them, each value with this word in it; what it
// prints may hold none of that, nor any part of a token, in whatever spelling.
const word = 'canary'
const spellings = [
  word,
  // Base64, wherever in it the word begins.
  ...['Y2FuYXJ5', 'NhbmFye', 'jYW5hcn'],
  Buffer.from(word).toString('hex'),
  Array.from(Buffer.from(word), (byte) => `%${byte.toString(16)}`).join(''),
  Array.from(Buffer.from(word), (byte) => `\\u00${byte.toString(16)}`).join(''),
  Buffer.from(word).toString('utf16le'),
].map((spelling) => spelling.toLowerCase())

const found = (text: string) => spellings.filter((spelling) => text.toLowerCase().includes(spelling))

const requestKeys = [
  ...['level', 'time', 'requestId', 'partnerId', 'method', 'route', 'status', 'errorCode'],
  ...['durationMs', 'bytes'],
]
const keys = { request: requestKeys, told: ['level', 'time', 'msg'] }

/** What breaks a line, or moves a terminal. */
const hostile = `${word}\u001b[31m\u0085\u2028{"level":"error"}`

const operator = new Operator()
const answered: { readonly id: string | null; readonly status: number }[] = []
let service: Served
let token = ''

beforeAll(async () => {
  await operator.do('init')
  token = await operator.onboard('Lantern', 'North Care')
  const directory = { regions: [region()], providers: [provider('on-1')] }
  writeFileSync(operator.folder.file('directory.json'), JSON.stringify(directory))
  await operator.do('directory', 'load', 'directory.json')
  const preload = operator.folder.file('preload.ts')
  const thrown = ['new TypeError(told)', 'new RangeError(told, { cause: { told } })', '{ told }', 'told']
  const statements = thrown.map((what) => `setTimeout(() => { throw ${what} }); void Promise.reject(${what})`)
  const told = JSON.stringify(`${hostile}\n${hostile}`)
  writeFileSync(preload, `const told = ${told}\nprocess.on('SIGUSR2', () => { ${statements.join('\n')} })\n`)
  const main = new URL('../src/main.ts', import.meta.url).pathname
  service = await operator.serveBy([process.execPath, '--preload', preload, main])
})

afterAll(async () => {
  await service?.[Symbol.asyncDispose]()
  operator[Symbol.dispose]()
})

async function send(path: string, init: RequestInit = {}, bearer: string | null = token): Promise<Response> {
  const headers = new Headers(init.headers)
  if (bearer !== null && !headers.has('authorization')) headers.set('Authorization', `Bearer ${bearer}`)
  const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, { ...init, headers })
  answered.push({ id: answer.headers.get('x-request-id'), status: answer.status })
  return answer
}

function post(body: unknown, headers: Record<string, string> = {}, bearer: string | null = token) {
  return send(
    '/partners/v1/booking-request/',
    {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    },
    bearer,
  )
}

/** Sends bytes as they are, and waits for what comes of them. */
async function sendBytes(bytes: string): Promise<void> {
  let isAnswered = false
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: service.port,
    socket: {
      data: () => {
        isAnswered = true
      },
      close: () => {
        isAnswered = true
      },
    },
  })
  socket.write(Buffer.from(bytes, 'latin1'))
  await eventually('an answer', () => isAnswered)
  socket.end()
}

interface Page {
  readonly results: readonly [{ providerId: number; availability: [{ utcStartTime: string }] }]
}

const member = {
  email: 'canary.member@canary.example',
  firstName: 'Canaryfirst',
  lastName: 'Canarylast',
  reasonForSeekingSupport: 'canary-reason',
  preferredPronouns: 'canary-pronouns',
}
const answers = { phq9Data: [{ question: `${word}?`, answer: `${word} \u2028 ${word}` }] }
const jwt = (payload: unknown, signature = 'Y2FuYXJ5') => {
  const [header = ''] = token.split('.')
  return `${header}.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.${signature}`
}

describe('of all that is sent to a service its output tells no value:', () => {
  test('bookings, look-ups, searches', async () => {
    const page = (await (await send('/partners/v1/providers/?region_id=1')).json()) as Page
    const { providerId, availability } = page.results[0]
    const whole = { ...booking('canary-1', { providerId, ...availability[0] }, member), ...answers }
    expect((await post(whole, { 'Idempotency-Key': 'canary-key' })).status).toBe(201)
    expect((await post({ ...booking(hostile, undefined, member), ...answers })).status).toBe(409)
    expect((await post({ ...whole, phq9Data: hostile })).status).toBe(400)
    const other = { ...member, email: 'canary.second@canary.example' }
    expect((await post({ ...booking('canary-2', undefined, other), ...answers })).status).toBe(201)
    for (const user of ['canary-1', 'canary-nobody', encodeURIComponent(hostile), 'canary%0a%22canary']) {
      await send(`/partners/v1/user/?external_user_id=${user}`)
      await send(`/partners/v1/user/?external_user_id=${user}`, { method: 'HEAD' })
    }
    expect((await send('/partners/v1/provider-regions/?country_code=CA&canary=canary')).status).toBe(200)
  })

  test('what is refused', async () => {
    for (const bearer of [
      null,
      word,
      jwt({ sub: word }),
      token.replace(/[^.]+$/, 'Y2FuYXJ5'),
      `${word} ${word}`,
    ]) {
      expect((await post(booking('canary-1'), {}, bearer)).status).toBe(401)
    }
    expect((await post('{"canary": canary')).status).toBe(400)
    expect((await post(booking('canary'.repeat(99)))).status).toBe(400)
    expect((await post('canary', { 'Content-Type': 'text/canary' })).status).toBe(415)
    expect((await post(`"${'canary'.repeat(50_000)}"`)).status).toBe(413)
    expect((await send('/partners/v1/providers/?region_id=canary&page=canary%0acanary')).status).toBe(400)
    expect((await send('/partners/v1/user/?external_user_id=canary', { method: 'DELETE' })).status).toBe(405)
  })

  test('paths, queries and headers that mean harm', async () => {
    for (const path of [
      'canary',
      'partners/v1/canary/',
      '%0a%7b%22canary%22%7d',
      '%1b[31mcanary',
      'docs/canary',
    ]) {
      expect((await send(`/${path}?canary=${encodeURIComponent(hostile)}`)).status).toBe(404)
    }
    const headers = [
      'User-Agent',
      'Referer',
      'Cookie',
      'X-Request-Id',
      'X-Forwarded-For',
      'Forwarded',
      'Traceparent',
    ]
    const told = Object.fromEntries(headers.map((name) => [name, `${word}"}\t{"level":"error"`]))
    expect((await send('/livez', { headers: told })).status).toBe(200)
    expect((await send('/openapi.json', { headers: told })).status).toBe(200)
    const request = (line: string, more = '') =>
      `${line} HTTP/1.1\r\nHost: canary\r\n${more}Connection: close\r\n\r\n`
    for (const bytes of [
      request('GET /canary\u0085\u001b[31m'),
      request('GET /\xe2\x80\xa8canary'),
      request('GET /livez', 'X-Request-Id: canary\u0085\u001b[31m\r\n'),
      request('GET //canary/../partners/v1/user/?external_user_id=canary'),
      request('GET http://canary.example/livez?canary'),
      request('CANARY /livez'),
      request('PROPFIND /partners/v1/user/?external_user_id=canary'),
      'GET /livez HTTP/1.1\r\nHost: canary canary\r\nConnection: close\r\n\r\n',
      'canary\r\n\r\n',
    ]) {
      await sendBytes(bytes)
    }
  })

  test('a table that is broken, errors that hold secrets, thrown where nobody catches them', async () => {
    using database = new Database(operator.database)
    database.run('PRAGMA busy_timeout = 5000')
    database.run('ALTER TABLE members RENAME TO canaries')
    const look = await send('/partners/v1/user/?external_user_id=canary-1')
    const intake = await post({ ...booking('canary-3', undefined, member), ...answers })
    database.run('ALTER TABLE canaries RENAME TO members')
    expect([look.status, intake.status]).toEqual([500, 500])
    service.signal('SIGUSR2')
    await eventually(
      'all of them',
      () => service.told.filter((line) => /nobody answered/.test(line)).length >= 4,
    )
  })

  test('each line is JSON of the keys that are allowed, and of each request there is one', async () => {
    const { code, stdout, stderr } = await service.stop()
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Listening on 127\.0\.0\.1 port \d+ as https:\/\/api\.example\n$/)
    expect(found(stderr)).toEqual([])
    for (const part of token.split('.')) expect(stdout + stderr).not.toContain(part)
    const lines = logLines(stderr)
    const isTold = ({ msg }: LogLine) => msg !== undefined
    const [told, requests] = [lines.filter(isTold), lines.filter((line) => !isTold(line))]
    for (const line of told) expect(Object.keys(line)).toEqual(keys.told)
    for (const line of requests) expect(Object.keys(line)).toEqual(keys.request)
    const statuses = new Map(requests.map(({ requestId, status }) => [requestId, status]))
    expect(statuses.size).toBe(requests.length)
    expect(answered.length).toBeGreaterThan(25)
    expect(answered.map(({ id }) => statuses.get(id))).toEqual(answered.map(({ status }) => status))
    expect(stderr.replaceAll('\n', '')).toMatch(/^[\x20-\x7e]+$/)
    const routes = new Set(requests.map(({ route }) => route))
    expect([...routes].sort()).toEqual([
      '/livez',
      '/openapi.json',
      '/partners/v1/booking-request/',
      '/partners/v1/provider-regions/',
      '/partners/v1/providers/',
      '/partners/v1/user/',
      null,
    ])
    const unknown = requests.filter(({ errorCode }) => errorCode === 'path_unknown')
    expect(unknown.length).toBeGreaterThan(4)
    expect(new Set(unknown.map(({ route }) => route))).toEqual(new Set([null]))
    const [time] = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.exec(String(lines[0]?.time)) ?? []
    expect(Math.abs(Date.parse(String(time)) - Date.now())).toBeLessThan(600_000)
    expect(toldIn(stderr).slice(-2)).toEqual(stopping)
    expect(toldIn(stderr)).toContainEqual(
      expect.stringMatching(/^error: internal error: \w+ SQLITE_ERROR at /),
    )
  })
})
