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
  withFileSizeLimit,
} from './support/process'

setDefaultTimeout(300_000)

// Every value that these tests send contains the word `canary`, plain or in base64. Neither form may appear in
// responses to failing requests, in the output of the process or in the audit log.
const word = /[\w.@-]*(canary|Y2FuYXJ5|NhbmFye|jYW5hcn)[\w.@-]*/i

const folder = new Folder()
const path = folder.file('canaries.sqlite')
const printed: string[] = []
let sandbox = undefined as unknown as Sandbox
let slots: OfferedSlot[] = []

beforeAll(async () => {
  const furnished = await startSandbox(['--database', path, ...withFewProviders])
  await furnished.stop()
  sandbox = await startSandbox(['--database', path], { command: withFileSizeLimit(360) })
  slots = await sandbox.offered()
  const owner = booking('canary-owner', slots[0], { email: 'canary.owner@canary.example' })
  expect((await sandbox.post(owner)).status).toBe(201)
})

afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

function canaryBooking(memberData: Record<string, unknown> = {}, different: Record<string, unknown> = {}) {
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

/** Every header that a client or a proxy may send, with a canary as its value. */
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

describe('canaries: a refused request shows nothing that was sent', () => {
  test.each<[what: string, status: number, answer: () => Promise<Response>]>([
    ['no token', 401, () => post(canaryBooking(), { token: null })],
    [
      'another authentication scheme',
      401,
      () => post(canaryBooking(), { headers: { Authorization: 'Basic canary:canary' } }),
    ],
    ['a token that is not a JWT', 401, () => post(canaryBooking(), { token: 'canary-token' })],
    ['two tokens', 401, () => post(canaryBooking(), { headers: { Authorization: 'Bearer canary canary' } })],
    [
      'an unsigned token',
      401,
      () => post(canaryBooking(), { token: jwt({ alg: 'none', kid: 'canary-kid' }, '') }),
    ],
    [
      'an unknown algorithm',
      401,
      () => post(canaryBooking(), { token: jwt({ alg: 'canary', kid: 'canary-kid' }) }),
    ],
    [
      'a token without a kid',
      401,
      () => post(canaryBooking(), { token: jwt({ alg: 'HS256', canary: 'canary' }) }),
    ],
    ['an unknown kid', 401, () => post(canaryBooking(), { token: jwt({ alg: 'HS256', kid: 'canary-kid' }) })],
    [
      'a forged signature of a valid token',
      401,
      () =>
        post(canaryBooking(), {
          token: `${sandbox.token().slice(0, sandbox.token().lastIndexOf('.'))}.Y2FuYXJ5`,
        }),
    ],
    ['a rotated token', 401, () => post(canaryBooking(), { token: sandbox.token('rotated') })],
    ['a deactivated partner', 401, () => post(canaryBooking(), { token: sandbox.token('partner_inactive') })],
    [
      'a deactivated organization',
      403,
      () => post(canaryBooking(), { token: sandbox.token('organization_deactivated') }),
    ],
    [
      'a partner without an organization',
      409,
      () => post(canaryBooking(), { token: sandbox.token('no_organization') }),
    ],
    ['a token in the query', 401, () => send('/partners/v1/user/?access_token=canary', { token: null })],
    ['canary headers but no token', 401, () => post(canaryBooking(), { token: null, headers: everyHeader })],
    ['canary headers and broken JSON', 400, () => post('{"canary"', { headers: everyHeader })],
    [
      'canary headers and an unknown member',
      404,
      () => send('/partners/v1/user/?external_user_id=canary', { headers: everyHeader }),
    ],
    [
      'a wrong signature for a known key',
      401,
      () => post(canaryBooking(), { token: jwt({ alg: 'HS256', kid: kidOf(sandbox.token()) }) }),
    ],
    [
      'a critical header extension in the token',
      401,
      () => post(canaryBooking(), { token: jwt({ alg: 'HS256', crit: ['canary'] }) }),
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
    ['an unknown content encoding', 415, () => post('canary', { headers: { 'Content-Encoding': 'canary' } })],
    ['a huge body', 413, () => post(`"${'canary'.repeat(50_000)}"`)],
    ['broken JSON', 400, () => post('{"memberData":{"email":"canary@canary.example"')],
    [
      'a body that is not UTF-8',
      400,
      () => post(Buffer.from([0x22, 0x63, 0xff, 0xfe, ...Buffer.from('canary"')])),
    ],
    ['a JSON string as the body', 400, () => post('"canary"')],
    ['a __proto__ field', 400, () => post('{"__proto__":{"canary":"canary"},"canary":["canary"]}')],
    ['an invalid email address', 400, () => post(canaryBooking({ email: 'canary at canary.example' }))],
    [
      'an email address that is too long',
      400,
      () => post(canaryBooking({ email: `${'canary'.repeat(50)}@canary.example` })),
    ],
    ['an object as a first name', 400, () => post(canaryBooking({ firstName: { canary: 'canary' } }))],
    ['a last name that is too long', 400, () => post(canaryBooking({ lastName: 'canary'.repeat(100) }))],
    ['an invalid country', 400, () => post(canaryBooking({ country: 'canary' }))],
    ['an invalid birth date', 400, () => post(canaryBooking({ dob: 'canary' }))],
    ['a birth date in the future', 400, () => post(canaryBooking({ dob: '2999-01-01' }))],
    ['an invalid value of leaveVoicemail', 400, () => post(canaryBooking({ leaveVoicemail: 'canary' }))],
    ['an invalid phone number', 400, () => post(canaryBooking({ phoneNumber: 'canary' }))],
    ['an invalid language tag', 400, () => post(canaryBooking({ preferredSpokenLanguage: 'canary_x' }))],
    ['null as the gender', 400, () => post(canaryBooking({ gender: null }))],
    [
      'a reason that is too long',
      400,
      () => post(canaryBooking({ reasonForSeekingSupport: 'canary'.repeat(1_000) })),
    ],
    ['a string as memberData', 400, () => post(canaryBooking({}, { memberData: 'canary' }))],
    ['a string as user', 400, () => post(canaryBooking({}, { user: 'canary' }))],
    [
      'an external user id that is too long',
      400,
      () => post(canaryBooking({}, { user: { external_user_id: 'canary'.repeat(50) } })),
    ],
    ['an object as phq9Data', 400, () => post(canaryBooking({}, { phq9Data: { canary: 'canary' } }))],
    [
      'a number as an answer',
      400,
      () => post(canaryBooking({}, { phq9Data: [{ question: 'canary', answer: 5 }] })),
    ],
    [
      'an answer without a question',
      400,
      () => post(canaryBooking({}, { phq9Data: [{ answer: 'canary' }] })),
    ],
    [
      'an answer that is too long',
      400,
      () => post(canaryBooking({}, { phq9Data: [{ question: 'canary', answer: 'canary'.repeat(200) }] })),
    ],
    [
      'too many answers',
      400,
      () => post(canaryBooking({}, { phq9Data: Array(101).fill({ question: 'canary', answer: 'canary' }) })),
    ],
    ['a string as bookingData', 400, () => post(canaryBooking({}, { bookingData: 'canary' }))],
    [
      'an invalid start time',
      400,
      () => post(canaryBooking({}, slotOf(slots[1], { utcStartTime: 'canary' }))),
    ],
    [
      'an invalid provider id',
      400,
      () => post(canaryBooking({}, slotOf(slots[1], { selfSchedulingProviderId: 'canary' }))),
    ],
    [
      'a session that is too long',
      400,
      () => post(canaryBooking({}, slotOf(slots[1], { utcEndTime: '2030-01-01T00:00:00Z' }))),
    ],
    [
      'an unknown provider',
      400,
      () => post(canaryBooking({}, slotOf(slots[1], { selfSchedulingProviderId: 4711 }))),
    ],
    ['a taken slot', 400, () => post(canaryBooking({}, slotOf(slots[0])))],
    [
      'a slot that the member already has',
      400,
      () =>
        post(
          canaryBooking(
            { email: 'canary.owner@canary.example' },
            { user: { external_user_id: 'canary-owner' }, ...slotOf(slots[0]) },
          ),
        ),
    ],
    [
      'the email address of another member',
      409,
      () => post(canaryBooking({ email: 'CANARY.owner@canary.example' })),
    ],
    [
      'a deactivated member',
      403,
      () =>
        post(canaryBooking({}, { user: { external_user_id: sandbox.report.examples.deactivatedMember } })),
    ],
    ['an unknown member', 404, () => send('/partners/v1/user/?external_user_id=canary-nobody')],
    [
      'an external user id in the query that is too long',
      400,
      () => send(`/partners/v1/user/?external_user_id=${'canary'.repeat(50)}`),
    ],
    [
      'two external user ids in the query',
      400,
      () => send('/partners/v1/user/?external_user_id=canary&external_user_id=canary2'),
    ],
    [
      'a canary parameter in place of the external user id',
      400,
      () => send('/partners/v1/user/?canary=canary'),
    ],
    ['a query that is not UTF-8', 400, () => send('/partners/v1/user/?external_user_id=canary%ff')],
    ['an unknown country', 400, () => send('/partners/v1/provider-regions/?country_code=canary')],
    ['an invalid page', 400, () => send('/partners/v1/provider-regions/?country_code=CA&page=canary')],
    [
      'an invalid page size',
      400,
      () => send('/partners/v1/provider-regions/?country_code=CA&page_size=canary'),
    ],
    ['an invalid region id', 400, () => send('/partners/v1/providers/?region_id=canary')],
    ['an unknown modality', 400, () => send('/partners/v1/providers/?region_id=1&modality=canary')],
    ['an invalid language range', 400, () => send('/partners/v1/providers/?region_id=1&language=canary_x')],
    [
      'a page past the last and a canary parameter',
      400,
      () => send('/partners/v1/providers/?region_id=1&page=999&canary=canary'),
    ],
  ])('a request with %s gets an error that shows nothing that was sent', async (_, status, answer) => {
    await isRefused(status, await answer())
  })

  test('bytes that are not an HTTP request are not echoed', async () => {
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

  test('a booking that fails because another process locks the database is not echoed', async () => {
    const database = new Database(path)
    database.run('BEGIN IMMEDIATE')
    const answer = await post(canaryBooking()).finally(() => {
      database.run('ROLLBACK')
      database.close()
    })
    await isRefused(503, answer)
  })

  test('refused tokens are added to the audit log', async () => {
    using database = new Database(path, { readonly: true })
    const noted = database.query("SELECT count(*) FROM audit WHERE action = 'authentication.refuse'")
    await eventually('the lines', () => Number(noted.values()[0]?.[0]) > 3)
  })

  test('a booking is not echoed if the disk is full', async () => {
    for (const [index, slot] of slots.slice(1, 60).entries()) {
      const externalUserId = `canary-${index}`
      const different = { user: { external_user_id: externalUserId }, ...slotOf(slot) }
      const answer = await post(canaryBooking({ email: `canary.${index}@canary.example` }, different))
      if (answer.status !== 201) {
        await isRefused(503, answer)
        return
      }
    }
    throw new Error('the disk was never full')
  })

  test.each<[what: string, answer: () => Promise<Response>]>([
    ['a look-up', () => send('/partners/v1/user/?external_user_id=canary-owner')],
    ['a booking', () => post(canaryBooking({}, slotOf(slots[1])))],
    ['an intake', () => post(canaryBooking())],
  ])('%s is not echoed if a table is missing', async (_, answer) => {
    using database = new Database(path)
    database.run('PRAGMA busy_timeout = 5000')
    database.run('ALTER TABLE members RENAME TO canaries')
    try {
      await isRefused(500, await answer())
    } finally {
      database.run('ALTER TABLE canaries RENAME TO members')
    }
  })

  test('if the message of an internal error contains sent data, the log does not show the data', async () => {
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

  test('the output of the process reports the full disk, and shows nothing that was sent', async () => {
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

  test('the audit log contains nothing of a refused request', () => {
    using database = new Database(path, { readonly: true })
    const lines = database.query('SELECT * FROM audit').values()
    const auditLines = JSON.stringify(lines)
    expect(auditLines).toContain('authentication.refuse')
    expect(word.exec(auditLines)).toBeNull()
    for (const { token } of sandbox.report.partners) {
      expect(token.split('.').filter((part) => auditLines.includes(part))).toEqual([])
    }
  })
})

describe('canaries: a refused command shows nothing that the operator entered', () => {
  const operator = new Operator()
  beforeAll(async () => {
    await operator.do('init')
    await operator.do('organization', 'add', 'North Care')
    await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
    await operator.do('token', 'issue', 'Lantern')
  })
  afterAll(() => operator[Symbol.dispose]())

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
    ['a text on stdin that is not a token', ['token', 'verify', '--json'], { input: 'canary-token' }],
    ['a token as an argument', ['token', 'verify', jwt({ alg: 'HS256', kid: 'canary-kid' })]],
    ['an invalid cutover', ['token', 'rotate', 'Lantern', '--cutover', 'canary-cutover']],
    ['an unknown member to show', ['member', 'show', ...theirs]],
    ['a member id that is not a number', ['member', 'show', 'canary-member']],
    ['an unknown member to erase', ['member', 'erase', '--yes', ...theirs]],
    ['an unknown member to export', ['member', 'export', ...theirs]],
    ['an email address to search for', ['member', 'find', 'canary@canary.example']],
    ['a name to search for', ['member', 'find', 'canary-name']],
    ['a name and an address to search for', ['member', 'find', 'canary-name', 'canary-address']],
    ['an unknown request state', ['request', 'list', '--state', 'canary-state']],
    ['a request id that is not a number', ['request', 'show', 'canary-request']],
    ['a superfluous argument', ['request', 'show', '1', 'canary-more']],
    ['an invalid slot', ['request', 'assign', '1', '--provider', 'on-1', '--slot', 'canary-slot']],
    ['a note for an unknown request', ['request', 'note', '1', 'canary-note']],
    ['a note on stdin that is too long', ['request', 'note', '1', '-'], { input: 'canary'.repeat(1_000) }],
    [
      'a reason to decline an unknown request',
      ['request', 'decline', '1', '--yes', '--reason', 'canary-reason'],
    ],
    ['a reason to close an unknown request', ['request', 'close', '1', '--yes', '--reason', 'canary-reason']],
    ['an invalid time off', ['provider', 'away', 'on-1', 'canary-from', 'canary-until']],
    ['an invalid instant', ['provider', 'why', 'on-1', 'canary-instant']],
    ['a name with a control character', ['partner', 'add', 'canary\u0007', '--organization', 'North Care']],
    ['an organization name that is too long', ['organization', 'add', 'canary'.repeat(50)]],
    ['an invalid master key', ['doctor'], { settings: { ANTEROOM_MASTER_KEY: 'canary-key' } }],
    [
      'an invalid port',
      ['serve', '--base-url', 'https://x.example'],
      { settings: { ANTEROOM_PORT: 'canary-port' } },
    ],
    [
      'a base URL with a user, a password and a query',
      ['serve', '--base-url', 'https://canary:canary@canary.example/?canary'],
    ],
    ['a file that is not JSON', ['directory', 'load', file('broken.json', '{"canary": canary')]],
    ['a broken table', ['directory', 'load', '--yes', file('licenses.csv', csv('canary-ref'))]],
    [
      'a table without a header',
      ['directory', 'check', file('headless.csv', 'canary,canary\ncanary,canary\n')],
    ],
  ]
  // If a row has a missing value, bun:test passes a `done` callback in place of the value. So each row has three
  // values.
  const given = commands.map(([what, words, more = {}]) => [what, words, more] as const)
  test.each(given)(
    'a command with %s does not echo the input',
    async (_, words, { input = '', settings = {} }) => {
      const { stdout, stderr } = await operator.run(words, input, settings)
      expect([word.exec(stdout)?.[0], word.exec(stderr)?.[0]]).toEqual([undefined, undefined])
      expect(stdout + stderr).toMatch(/\S/)
    },
  )

  test('member show does not echo its arguments if a table is missing', async () => {
    using database = new Database(operator.database)
    database.run('ALTER TABLE members RENAME TO canaries')
    const { code, stderr } = await operator.run(['member', 'show', ...theirs])
    database.run('ALTER TABLE canaries RENAME TO members')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^error: unexpected error \(\w+ SQLITE_ERROR\)\nTry: a bug report with this line\n$/,
    )
    expect(word.exec(stderr)).toBeNull()
  })

  test('the audit log contains nothing of a refused command', async () => {
    expect(word.exec(await operator.do('audit', 'export'))).toBeNull()
  })
})

describe('canaries: a failing process prints nothing that was sent to it', () => {
  const canary = () => booking('canary-crash', undefined, { email: 'canary.crash@canary.example' })

  test.each(['SIGSEGV', 'SIGABRT', 'SIGBUS'] as const)(
    'a process that %s ends prints nothing that was sent',
    async (signal) => {
      // Core dumps are switched off, because a core dump would contain the memory of the process.
      const command = ['sh', '-c', 'ulimit -c 0; exec "$@"', 'sh', ...theProgram]
      await using crashing = await startSandbox(withFewProviders, { command })
      expect((await crashing.post(canary())).status).toBe(201)
      expect((await crashing.get('/partners/v1/user/?external_user_id=canary-crash')).status).toBe(200)
      const { stderr } = await crashing.stop(signal)
      expect(word.exec(stderr)).toBeNull()
      for (const { token } of crashing.report.partners) expect(stderr).not.toContain(token)
    },
  )

  test.each([
    ['an uncaught error', 'throw new TypeError("canary-message")'],
    ['an unhandled promise rejection', 'void Promise.reject(new RangeError("canary-message"))'],
    ['an uncaught object', 'throw { canary: "canary-thrown" }'],
  ])('the service survives %s, and prints nothing that was sent', async (_, statement) => {
    using place = new Folder()
    const preload = place.file('failing.ts')
    writeFileSync(
      preload,
      `process.on('SIGUSR2', () => { const sent = { canary: 'canary' }; ${statement} })\n`,
    )
    const main = new URL('../src/main.ts', import.meta.url).pathname
    const command = [process.execPath, '--preload', preload, main]
    await using failing = await startSandbox(withFewProviders, { command })
    failing.signal('SIGUSR2')
    await eventually('the line', () => failing.stderr.includes('\n'))
    expect(failing.stderr).toMatch(/^uncaught error: (TypeError at |RangeError at |object\n).*$/m)
    expect((await failing.post(canary())).status).toBe(201)
    const { code, stderr } = await failing.stop()
    expect([code, word.exec(stderr)?.[0]]).toEqual([1, undefined])
  })
})
