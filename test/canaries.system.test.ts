import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { answerTo } from '../src/http/errors'
import { logEntryOf } from '../src/http/log'
import { booking } from './support/builders'
import { Operator } from './support/operator'
import {
  eventually,
  Folder,
  type OfferedSlot,
  type Sandbox,
  startSandbox,
  theProgram,
  withFewProviders,
  withFilesUpTo,
} from './support/process'

setDefaultTimeout(300_000)

// Every value that these tests send holds this word, each with others around it that tell it from the rest. What is
// answered to a failing request, what the process prints and what the audit log keeps may hold none of them, in whatever
// spelling.
const word = /[\w.@-]*(canary|Y2FuYXJ5|NhbmFye|jYW5hcn)[\w.@-]*/i

const folder = new Folder()
const path = folder.file('canaries.sqlite')
const printed: string[] = []
let sandbox = undefined as unknown as Sandbox
let slots: OfferedSlot[] = []

beforeAll(async () => {
  const furnished = await startSandbox(['--database', path, ...withFewProviders])
  await furnished.stop()
  sandbox = await startSandbox(['--database', path], { command: withFilesUpTo(300) })
  slots = await sandbox.offered()
  const owner = booking('canary-owner', slots[0], { email: 'canary.owner@canary.example' })
  expect((await sandbox.post(owner)).status).toBe(201)
})

afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

/** A booking of a member, every value of which is a canary, or what differs. */
function telling(memberData: Record<string, unknown> = {}, different: Record<string, unknown> = {}) {
  return {
    user: { external_user_id: 'canary-external-id' },
    memberData: {
      email: 'canary.member@canary.example',
      firstName: 'Canaryfirst',
      lastName: 'Canarylast',
      country: 'CA',
      preferredName: 'canary-preferred',
      preferredPronouns: 'canary-pronouns',
      gender: 'canary-gender',
      maritalStatus: 'canary-marital',
      clientType: 'canary-client',
      reasonForSeekingSupport: 'canary-reason',
      streetAddress: 'canary-street',
      suite: 'canary-suite',
      city: 'canary-city',
      state: 'canary-state',
      zipCode: 'canary-zip',
      preferredModality: 'canary-modality',
      ...memberData,
    },
    phq9Data: [{ question: 'canary-question', answer: 'canary-answer' }],
    unknown: { 'canary-name': 'canary-unknown' },
    ...different,
  }
}

const slotOf = (slot: OfferedSlot | undefined, different: Record<string, unknown> = {}) => ({
  bookingData: { ...booking('canary', slot).bookingData, ...different },
})

/** A canary in every header that a client or a proxy before us may send. */
const everyHeader = Object.fromEntries(
  [
    ...[
      'Accept',
      'Accept-Language',
      'Cookie',
      'From',
      'Idempotency-Key',
      'If-Match',
      'If-None-Match',
      'Origin',
    ],
    ...[
      'Range',
      'Referer',
      'User-Agent',
      'Traceparent',
      'Baggage',
      'Forwarded',
      'Via',
      'X-Real-IP',
      'X-Canary',
    ],
    ...['X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-HTTP-Method-Override', 'X-Request-Id'],
  ].map((name) => [name, `canary-header-${name.toLowerCase()}`]),
)

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const kidOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
const jwt = (header: unknown, signature = 'Y2FuYXJ5') =>
  `${base64url(header)}.${base64url({ sub: 'canary' })}.${signature}`

async function isRefused(status: number, answer: Response): Promise<void> {
  const text = await answer.text()
  const headers = JSON.stringify([...answer.headers])
  expect({ status: answer.status, text: word.exec(text)?.[0], headers: word.exec(headers)?.[0] }).toEqual({
    status,
    text: undefined,
    headers: undefined,
  })
  const body = JSON.parse(text)
  if (status === 401) expect(Object.keys(body)).toEqual(['code', 'message'])
  else expect(Object.keys(body)).toEqual(['message', 'status'])
  printed.push(text)
}

function send(pathAndQuery: string, init: RequestInit & { token?: string | null } = {}): Promise<Response> {
  const { token = sandbox.token(), ...rest } = init
  const headers = new Headers(rest.headers)
  if (token !== null && !headers.has('authorization')) headers.set('Authorization', `Bearer ${token}`)
  return fetch(`${sandbox.report.baseUrl}${pathAndQuery}`, { ...rest, headers })
}

function post(body: unknown, init: RequestInit & { token?: string | null } = {}): Promise<Response> {
  return send('/partners/v1/booking-request/', {
    method: 'POST',
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
    ...init,
    headers: { 'Content-Type': 'application/json', ...(init.headers as Record<string, string>) },
  })
}

describe('nothing that was sent comes back or is printed when a request is refused', () => {
  test.each<[what: string, status: number, answer: () => Promise<Response>]>([
    ['no token', 401, () => post(telling(), { token: null })],
    ['another scheme', 401, () => post(telling(), { headers: { Authorization: 'Basic canary:canary' } })],
    ['a token that is no JWT', 401, () => post(telling(), { token: 'canary-token' })],
    ['two tokens', 401, () => post(telling(), { headers: { Authorization: 'Bearer canary canary' } })],
    ['an unsigned token', 401, () => post(telling(), { token: jwt({ alg: 'none', kid: 'canary-kid' }, '') })],
    ['another algorithm', 401, () => post(telling(), { token: jwt({ alg: 'canary', kid: 'canary-kid' }) })],
    ['no kid', 401, () => post(telling(), { token: jwt({ alg: 'HS256', canary: 'canary' }) })],
    ['an unknown kid', 401, () => post(telling(), { token: jwt({ alg: 'HS256', kid: 'canary-kid' }) })],
    [
      'a forged signature',
      401,
      () =>
        post(telling(), { token: `${sandbox.token().slice(0, sandbox.token().lastIndexOf('.'))}.Y2FuYXJ5` }),
    ],
    ['a rotated token', 401, () => post(telling(), { token: sandbox.token('rotated') })],
    ['a deactivated partner', 401, () => post(telling(), { token: sandbox.token('partner_inactive') })],
    [
      'a deactivated organization',
      403,
      () => post(telling(), { token: sandbox.token('organization_deactivated') }),
    ],
    ['no organization', 409, () => post(telling(), { token: sandbox.token('no_organization') })],
    ['a token in the query', 401, () => send('/partners/v1/user/?access_token=canary', { token: null })],
    ['headers, and nobody to send them', 401, () => post(telling(), { token: null, headers: everyHeader })],
    ['headers, and broken JSON', 400, () => post('{"canary"', { headers: everyHeader })],
    [
      'headers, and nobody to find',
      404,
      () => send('/partners/v1/user/?external_user_id=canary', { headers: everyHeader }),
    ],
    [
      'another signature under a known key',
      401,
      () => post(telling(), { token: jwt({ alg: 'HS256', kid: kidOf(sandbox.token()) }) }),
    ],
    [
      'a header that asks for more',
      401,
      () => post(telling(), { token: jwt({ alg: 'HS256', crit: ['canary'] }) }),
    ],
    ['an unknown path', 404, () => send('/partners/v1/canary/?canary=canary')],
    [
      'an unknown path without a token',
      404,
      () => send('/canary', { token: null, method: 'POST', body: 'canary' }),
    ],
    ['a wrong method', 405, () => send('/partners/v1/user/?external_user_id=canary', { method: 'DELETE' })],
    ['a wrong method with a body', 405, () => send('/partners/v1/user/', { method: 'PUT', body: 'canary' })],
    ['another media type', 415, () => post('canary', { headers: { 'Content-Type': 'text/canary' } })],
    ['a body that is packed', 415, () => post('canary', { headers: { 'Content-Encoding': 'canary' } })],
    ['a huge body', 413, () => post(`"${'canary'.repeat(50_000)}"`)],
    ['broken JSON', 400, () => post('{"memberData":{"email":"canary@canary.example"')],
    [
      'bytes that are no text',
      400,
      () => post(Buffer.from([0x22, 0x63, 0xff, 0xfe, ...Buffer.from('canary"')])),
    ],
    ['a text for a body', 400, () => post('"canary"')],
    ['a strange prototype', 400, () => post('{"__proto__":{"canary":"canary"},"canary":["canary"]}')],
    ['a bad address', 400, () => post(telling({ email: 'canary at canary.example' }))],
    ['too long an address', 400, () => post(telling({ email: `${'canary'.repeat(50)}@canary.example` }))],
    ['a name of another type', 400, () => post(telling({ firstName: { canary: 'canary' } }))],
    ['too long a name', 400, () => post(telling({ lastName: 'canary'.repeat(100) }))],
    ['a bad country', 400, () => post(telling({ country: 'canary' }))],
    ['a bad birth date', 400, () => post(telling({ dob: 'canary' }))],
    ['a birth date to come', 400, () => post(telling({ dob: '2999-01-01' }))],
    ['a bad choice', 400, () => post(telling({ leaveVoicemail: 'canary' }))],
    ['a bad phone number', 400, () => post(telling({ phoneNumber: 'canary' }))],
    ['a bad language', 400, () => post(telling({ preferredSpokenLanguage: 'canary_x' }))],
    ['a null', 400, () => post(telling({ gender: null }))],
    ['too long a reason', 400, () => post(telling({ reasonForSeekingSupport: 'canary'.repeat(1_000) }))],
    ['no member', 400, () => post(telling({}, { memberData: 'canary' }))],
    ['a user of another type', 400, () => post(telling({}, { user: 'canary' }))],
    ['too long an id', 400, () => post(telling({}, { user: { external_user_id: 'canary'.repeat(50) } }))],
    ['answers of another type', 400, () => post(telling({}, { phq9Data: { canary: 'canary' } }))],
    [
      'a number for an answer',
      400,
      () => post(telling({}, { phq9Data: [{ question: 'canary', answer: 5 }] })),
    ],
    ['an answer without a question', 400, () => post(telling({}, { phq9Data: [{ answer: 'canary' }] }))],
    [
      'too long an answer',
      400,
      () => post(telling({}, { phq9Data: [{ question: 'canary', answer: 'canary'.repeat(200) }] })),
    ],
    [
      'too many answers',
      400,
      () => post(telling({}, { phq9Data: Array(101).fill({ question: 'canary', answer: 'canary' }) })),
    ],
    ['a booking of another type', 400, () => post(telling({}, { bookingData: 'canary' }))],
    ['a bad time', 400, () => post(telling({}, slotOf(slots[1], { utcStartTime: 'canary' })))],
    [
      'a bad provider',
      400,
      () => post(telling({}, slotOf(slots[1], { selfSchedulingProviderId: 'canary' }))),
    ],
    [
      'too long a session',
      400,
      () => post(telling({}, slotOf(slots[1], { utcEndTime: '2030-01-01T00:00:00Z' }))),
    ],
    [
      'an unknown provider',
      400,
      () => post(telling({}, slotOf(slots[1], { selfSchedulingProviderId: 4711 }))),
    ],
    ['a taken slot', 400, () => post(telling({}, slotOf(slots[0])))],
    [
      'a slot held already',
      400,
      () =>
        post(
          telling(
            { email: 'canary.owner@canary.example' },
            { user: { external_user_id: 'canary-owner' }, ...slotOf(slots[0]) },
          ),
        ),
    ],
    ['an address of another', 409, () => post(telling({ email: 'CANARY.owner@canary.example' }))],
    [
      'a deactivated member',
      403,
      () => post(telling({}, { user: { external_user_id: sandbox.report.examples.deactivatedMember } })),
    ],
    ['an unknown member', 404, () => send('/partners/v1/user/?external_user_id=canary-nobody')],
    ['too long a member', 400, () => send(`/partners/v1/user/?external_user_id=${'canary'.repeat(50)}`)],
    ['two members', 400, () => send('/partners/v1/user/?external_user_id=canary&external_user_id=canary2')],
    ['no member but a canary', 400, () => send('/partners/v1/user/?canary=canary')],
    ['bytes that are no text in a query', 400, () => send('/partners/v1/user/?external_user_id=canary%ff')],
    ['an unknown country', 400, () => send('/partners/v1/provider-regions/?country_code=canary')],
    ['a bad page', 400, () => send('/partners/v1/provider-regions/?country_code=CA&page=canary')],
    ['a bad page size', 400, () => send('/partners/v1/provider-regions/?country_code=CA&page_size=canary')],
    ['a bad region', 400, () => send('/partners/v1/providers/?region_id=canary')],
    ['a bad modality', 400, () => send('/partners/v1/providers/?region_id=1&modality=canary')],
    ['a bad language to search by', 400, () => send('/partners/v1/providers/?region_id=1&language=canary_x')],
    [
      'a page past the last, with a canary beside it',
      400,
      () => send('/partners/v1/providers/?region_id=1&page=999&canary=canary'),
    ],
  ])('for %s', async (_, status, answer) => {
    await isRefused(status, await answer())
  })

  test('for bytes that are no request', async () => {
    const { hostname, port } = new URL(sandbox.report.baseUrl)
    for (const bytes of [
      'CANARY canary\r\n\r\n',
      'CANARY /partners/v1/user/ HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'GET /canary HTTP/9.9\r\nHost: canary\r\n\r\n',
      'GET /canary HTTP/1.1\r\ncanary\r\n\r\n',
      'POST /partners/v1/booking-request/ HTTP/1.1\r\nHost: canary\r\nContent-Length: canary\r\n\r\ncanary',
      'GET /partners/v1/user/?external_user_id=canary HTTP/1.1\r\nHost: can ary/canary\r\n\r\n',
    ]) {
      let answer = ''
      let isOver = false
      const socket = await Bun.connect({
        hostname,
        port: Number(port),
        socket: {
          data: (_, data) => {
            answer += data.toString()
          },
          close: () => {
            isOver = true
          },
        },
      })
      socket.write(bytes)
      await eventually('an answer', () => isOver || answer.includes('\r\n\r\n'))
      socket.end()
      expect(answer).toMatch(/^(HTTP\/1\.1 [45]|$)/)
      expect(word.exec(answer)).toBeNull()
    }
  })

  test('for a booking that another process holds up', async () => {
    const database = new Database(path)
    database.run('BEGIN IMMEDIATE')
    const answer = await post(telling()).finally(() => {
      database.run('ROLLBACK')
      database.close()
    })
    await isRefused(503, answer)
  })

  test('and refused authentications are noted while there is room', async () => {
    using database = new Database(path, { readonly: true })
    const noted = database.query("SELECT count(*) FROM audit WHERE action = 'authentication.refuse'")
    await eventually('the lines', () => Number(noted.values()[0]?.[0]) > 3)
  })

  test('for a booking that the disk has no room for', async () => {
    for (const [index, slot] of slots.slice(1, 60).entries()) {
      const externalUserId = `canary-${index}`
      const different = { user: { external_user_id: externalUserId }, ...slotOf(slot) }
      const answer = await post(telling({ email: `canary.${index}@canary.example` }, different))
      if (answer.status !== 201) {
        await isRefused(503, answer)
        return
      }
    }
    throw new Error('the disk was never full')
  })

  test.each<[what: string, answer: () => Promise<Response>]>([
    ['a look-up', () => send('/partners/v1/user/?external_user_id=canary-owner')],
    ['a booking', () => post(telling({}, slotOf(slots[1])))],
    ['an intake', () => post(telling())],
  ])('for %s from a table that is broken', async (_, answer) => {
    using database = new Database(path)
    database.run('PRAGMA busy_timeout = 5000')
    database.run('ALTER TABLE members RENAME TO canaries')
    try {
      await isRefused(500, await answer())
    } finally {
      database.run('ALTER TABLE canaries RENAME TO members')
    }
  })

  test('for a defect of our own whose message holds what was sent', async () => {
    const logged = spyOn(console, 'error').mockImplementation(() => {})
    try {
      const seen = logEntryOf(new Request('http://localhost/'))
      await isRefused(500, answerTo(new TypeError('canary\ncanary: canary'), 'UNKNOWN', seen))
      await isRefused(500, answerTo('canary', 'UNKNOWN', seen))
      const lines = logged.mock.calls.join('\n')
      expect(lines).toContain('TypeError')
      expect(lines).toContain('canaries.system.test.ts')
      expect(word.exec(lines.replaceAll('canaries.system.test.ts', ''))).toBeNull()
    } finally {
      logged.mockRestore()
    }
  })

  test('on the output of the process, which tells of the disk that was full', async () => {
    const { report } = sandbox
    const { code, stdout, stderr } = await sandbox.stop()
    expect([code, stdout]).toEqual([0, `${JSON.stringify(report)}\n`])
    expect(stderr).toMatch(/^storage failed: \w+ SQLITE_(FULL|IOERR_WRITE) /m)
    expect(word.exec(stderr.replaceAll('canaries.sqlite', ''))).toBeNull()
    for (const { token } of report.partners) {
      const parts = [...token.split('.'), kidOf(token)]
      for (const text of [stderr, ...printed]) expect(parts.filter((part) => text.includes(part))).toEqual([])
    }
  })

  test('in the audit log', () => {
    using database = new Database(path, { readonly: true })
    const lines = database.query('SELECT * FROM audit').values()
    const told = JSON.stringify(lines)
    expect(told).toContain('authentication.refuse')
    expect(word.exec(told)).toBeNull()
    for (const { token } of sandbox.report.partners) {
      expect(token.split('.').filter((part) => told.includes(part))).toEqual([])
    }
  })
})

describe('nothing that an operator gives comes back where it is refused', () => {
  const operator = new Operator()
  beforeAll(async () => {
    await operator.do('init')
    await operator.do('organization', 'add', 'North Care')
    await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
    await operator.do('token', 'issue', 'Lantern')
  })
  afterAll(() => operator[Symbol.dispose]())

  /** Writes a file into the operator's folder. */
  function file(name: string, text: string): string {
    writeFileSync(operator.folder.file(name), text)
    return name
  }

  const csv = (name: string) => `ref,region,from\n${name},canary-region,canary-from\n"canary`
  const theirs = ['--partner', 'Lantern', '--external-id', 'canary-external-id']

  interface Given {
    readonly input?: string
    readonly settings?: Record<string, string>
  }
  const commands: [what: string, words: readonly string[], given?: Given][] = [
    ['a token on stdin', ['token', 'verify'], { input: jwt({ alg: 'HS256', kid: 'canary-kid' }) }],
    ['no token on stdin', ['token', 'verify', '--json'], { input: 'canary-token' }],
    ['a token among the words', ['token', 'verify', jwt({ alg: 'HS256', kid: 'canary-kid' })]],
    ['a cutover', ['token', 'rotate', 'Lantern', '--cutover', 'canary-cutover']],
    ['a member to show', ['member', 'show', ...theirs]],
    ['a member to show by no number', ['member', 'show', 'canary-member']],
    ['a member to erase', ['member', 'erase', '--yes', ...theirs]],
    ['a member to export', ['member', 'export', ...theirs]],
    ['an address to look for', ['member', 'find', 'canary@canary.example']],
    ['a name to look for', ['member', 'find', 'canary-name']],
    ['a name and an address', ['member', 'find', 'canary-name', 'canary-address']],
    ['a state of requests', ['request', 'list', '--state', 'canary-state']],
    ['a request', ['request', 'show', 'canary-request']],
    ['a request and more', ['request', 'show', '1', 'canary-more']],
    ['a slot', ['request', 'assign', '1', '--provider', 'on-1', '--slot', 'canary-slot']],
    ['a note', ['request', 'note', '1', 'canary-note']],
    ['too long a note on stdin', ['request', 'note', '1', '-'], { input: 'canary'.repeat(1_000) }],
    ['a reason', ['request', 'decline', '1', '--yes', '--reason', 'canary-reason']],
    ['another reason', ['request', 'close', '1', '--yes', '--reason', 'canary-reason']],
    ['a time off', ['provider', 'away', 'on-1', 'canary-from', 'canary-until']],
    ['an instant', ['provider', 'why', 'on-1', 'canary-instant']],
    ['a name with a control character', ['partner', 'add', 'canary\u0007', '--organization', 'North Care']],
    ['too long a name', ['organization', 'add', 'canary'.repeat(50)]],
    ['a master key', ['doctor'], { settings: { ANTEROOM_MASTER_KEY: 'canary-key' } }],
    ['a port', ['serve', '--base-url', 'https://x.example'], { settings: { ANTEROOM_PORT: 'canary-port' } }],
    ['an address to serve', ['serve', '--base-url', 'https://canary:canary@canary.example/?canary']],
    ['a file that is no JSON', ['directory', 'load', file('broken.json', '{"canary": canary')]],
    ['tables of canaries', ['directory', 'load', '--yes', file('licenses.csv', csv('canary-ref'))]],
    [
      'a table without a header',
      ['directory', 'check', file('headless.csv', 'canary,canary\ncanary,canary\n')],
    ],
  ]
  // With something in each place: a test that may be given more is given a callback to wait for.
  const given = commands.map(([what, words, more = {}]) => [what, words, more] as const)
  test.each(given)('%s', async (_, words, { input = '', settings = {} }) => {
    const { stdout, stderr } = await operator.run(words, input, settings)
    expect([word.exec(stdout)?.[0], word.exec(stderr)?.[0]]).toEqual([undefined, undefined])
    expect(stdout + stderr).toMatch(/\S/)
  })

  test('a member to show, from a table that is broken', async () => {
    using database = new Database(operator.database)
    database.run('ALTER TABLE members RENAME TO canaries')
    const { code, stderr } = await operator.run(['member', 'show', ...theirs])
    database.run('ALTER TABLE canaries RENAME TO members')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^anteroom: this failed for a reason that it should have told \(\w+ SQLITE_ERROR\); please report it\n$/,
    )
    expect(word.exec(stderr)).toBeNull()
  })

  test('and the audit log keeps none of it', async () => {
    expect(word.exec(await operator.do('audit', 'export'))).toBeNull()
  })
})

describe('a process that fails prints nothing of what it was told', () => {
  const canary = () => booking('canary-crash', undefined, { email: 'canary.crash@canary.example' })

  test.each(['SIGSEGV', 'SIGABRT', 'SIGBUS'] as const)('on %s', async (signal) => {
    // Without a core, which would hold all that was in memory.
    const command = ['sh', '-c', 'ulimit -c 0; exec "$@"', 'sh', ...theProgram]
    await using crashing = await startSandbox(withFewProviders, { command })
    expect((await crashing.post(canary())).status).toBe(201)
    expect((await crashing.get('/partners/v1/user/?external_user_id=canary-crash')).status).toBe(200)
    const { stderr } = await crashing.stop(signal)
    expect(word.exec(stderr)).toBeNull()
    for (const { token } of crashing.report.partners) expect(stderr).not.toContain(token)
  })

  test.each([
    ['an error thrown where nobody catches it', 'throw new TypeError("canary-message")'],
    ['a promise that nobody waits for', 'void Promise.reject(new RangeError("canary-message"))'],
    ['anything else that is thrown', 'throw { canary: "canary-thrown" }'],
  ])('on %s, and goes on', async (_, statement) => {
    using place = new Folder()
    const preload = place.file('failing.ts')
    writeFileSync(
      preload,
      `process.on('SIGUSR2', () => { const told = { canary: 'canary' }; ${statement} })\n`,
    )
    const main = new URL('../src/main.ts', import.meta.url).pathname
    const command = [process.execPath, '--preload', preload, main]
    await using failing = await startSandbox(withFewProviders, { command })
    failing.signal('SIGUSR2')
    await eventually('the line', () => failing.stderr.includes('\n'))
    expect(failing.stderr).toMatch(/^nobody answered: (TypeError at |RangeError at |object\n).*$/m)
    expect((await failing.post(canary())).status).toBe(201)
    const { code, stderr } = await failing.stop()
    expect([code, word.exec(stderr)?.[0]]).toEqual([1, undefined])
  })
})
