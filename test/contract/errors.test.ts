import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { loadDirectory } from '../../src/operations/directory-loads'
import { actsOf } from '../support/acts'
import { booking, provider, region } from '../support/builders'
import { type Answer, startService, type TestPartner } from '../support/service'
import { words } from '../support/words'
import { chunked, daily, entryOf, expectRefusal, expectSuccess, lookUp, paths, sendRaw } from './contract'

const directory = {
  regions: [region({ id: 31 })],
  providers: [
    provider('a', { lastName: 'Only', timeZone: 'Etc/UTC', workingHours: [daily('09:00', '18:00')] }),
  ],
}
const start = () => startService({ directory })
let service: Awaited<ReturnType<typeof start>>
beforeAll(async () => {
  service = await start()
})
afterAll(() => service.stop())

const postHead = (...lines: string[]) => [
  `POST ${paths.booking} HTTP/1.1`,
  'Host: localhost',
  `Authorization: Bearer ${service.partner.token}`,
  ...lines,
]

describe('contract: an unknown path', () => {
  const unknown = words`
    /partners /partners/v1/ /partners/v1/users/ /partners/v1/user/x/ /partners/v1/providers/1/
    /partners/v2/user/ /canary-path/ /health/partners/v1/user/ /__proto__/
  `
  for (const path of unknown) {
    test(`${path} is 404 by any method, with or without a valid token`, async () => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        for (const authorization of [`Bearer ${service.partner.token}`, 'Bearer canary', '']) {
          const headers: Record<string, string> = authorization ? { Authorization: authorization } : {}
          const answer = await service.send(`${path}?external_user_id=canary`, { method, headers })
          expectRefusal(answer, { status: 404, absent: ['canary', service.partner.token] })
        }
      }
    })
  }

  test('is 404 even without an organization and with a large broken body', async () => {
    const { token } = await service.addPartner('Nowhere Partner', null)
    expectRefusal(await service.get('/partners/v1/nothing/', token), { status: 404 })
    const broken = `{"canary":"${'x'.repeat(1_000_000)}`
    expectRefusal(await service.post('/partners/v1/nothing/', broken, token), {
      status: 404,
      absent: ['canary'],
    })
  })
})

describe('contract: a path without its trailing slash', () => {
  test('is served without a redirect by GET and POST', async () => {
    const body = JSON.stringify(booking('slashless'))
    const head = (method: string, target: string) => [
      `${method} ${target} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${service.partner.token}`,
    ]
    const both = (path: string) => [path.slice(0, -1), path]
    for (const path of both(paths.booking)) {
      const lines = ['Content-Type: application/json', `Content-Length: ${body.length}`]
      const answer = await sendRaw(service.baseUrl, [...head('POST', path), ...lines], body)
      expect([path, answer.status, answer.body.member?.email]).toEqual([path, 201, 'slashless@example.com'])
    }
    const gets = [
      [paths.regions, '?country_code=CA'],
      [paths.providers, '?region_id=31'],
      [paths.user, '?external_user_id=slashless'],
    ] as const
    for (const [path, query] of gets) {
      const [without, withIt] = await Promise.all(
        both(path).map((target) => sendRaw(service.baseUrl, head('GET', `${target}${query}`))),
      )
      expect([path, without?.status, without?.headers.get('location')]).toEqual([path, 200, null])
      expect(without?.body).toEqual(withIt?.body)
    }
  })
})

describe('contract: a wrong method', () => {
  const endpoints = [
    { path: paths.regions, allowed: 'GET' },
    { path: paths.providers, allowed: 'GET' },
    { path: paths.user, allowed: 'GET' },
    { path: paths.booking, allowed: 'POST' },
  ]
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

  for (const { path, allowed } of endpoints) {
    for (const method of methods.filter((name) => name !== allowed)) {
      test(`${method} ${path} is 405 with Allow: ${allowed}, with and without the slash`, async () => {
        for (const url of [path, path.slice(0, -1), `${path}?country_code=CA&page=0`]) {
          const answer = await service.send(url, {
            method,
            headers: { Authorization: `Bearer ${service.partner.token}` },
          })
          expectRefusal(answer, { status: 405 })
          const allow = answer.headers.get('allow')?.split(/,\s*/) ?? []
          expect(allow.filter((name) => name !== 'HEAD')).toEqual([allowed])
        }
      })
    }
  }

  test('is 405 before the organization, the body and the fields are checked', async () => {
    const homeless = await service.addPartner('Method Partner', null)
    const closed = await service.addPartner('Closed Method Partner')
    await actsOf(service.context).setOrganizationActive(closed.organization?.id ?? 0, false, service.act())
    for (const bearer of [homeless.token, closed.token, service.partner.token]) {
      for (const path of Object.values(paths)) {
        const answer = await service.send(path, {
          method: 'PUT',
          headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'text/plain' },
          body: 'canary'.repeat(100_000),
        })
        expectRefusal(answer, { status: 405, absent: ['canary'] })
      }
    }
  })
})

describe('contract: a partner’s organization', () => {
  const states: { name: string; status: number; add: () => Promise<TestPartner> }[] = [
    {
      name: 'missing',
      status: 409,
      add: () => service.addPartner('Canary Without', null),
    },
    {
      name: 'deactivated',
      status: 403,
      add: async () => {
        const added = await service.addPartner('Canary Closed')
        if (added.organization)
          await actsOf(service.context).setOrganizationActive(added.organization.id, false, service.act())
        return added
      },
    },
  ]
  for (const { name, status, add } of states) {
    describe(name, () => {
      let token: string
      beforeAll(async () => {
        token = (await add()).token
      })

      const requests: { name: string; send: () => Promise<Answer> }[] = [
        { name: 'regions', send: () => service.get(`${paths.regions}?country_code=CA`, token) },
        {
          name: 'regions with a bad parameter',
          send: () => service.get(`${paths.regions}?country_code=x&page=0`, token),
        },
        { name: 'providers', send: () => service.get(`${paths.providers}?region_id=31`, token) },
        {
          name: 'providers with a repeated parameter',
          send: () => service.get(`${paths.providers}?region_id=1&region_id=2`, token),
        },
        { name: 'a look-up', send: () => lookUp(service, 'canary-member', token) },
        { name: 'an intake', send: () => service.post(paths.booking, booking('canary-member'), token) },
        {
          name: 'an intake with a bad field',
          send: () =>
            service.post(paths.booking, booking('canary-member', undefined, { email: 'canary' }), token),
        },
        { name: 'broken JSON', send: () => service.post(paths.booking, '{"canary', token) },
        {
          name: 'another content type',
          send: () => service.post(paths.booking, 'canary', token, { 'Content-Type': 'text/plain' }),
        },
        {
          name: 'a body of 1 MB of another type',
          send: () =>
            service.post(paths.booking, `canary${'x'.repeat(1_000_000)}`, token, {
              'Content-Type': 'text/plain',
            }),
        },
      ]

      for (const { name: what, send } of requests) {
        test(`causes ${status} for ${what}`, async () => {
          expectRefusal(await send(), { status, absent: ['canary', 'Canary', token] })
        })
      }
    })
  }

  test('causes 403 for all its partners while deactivated', async () => {
    const first = await service.addPartner('Of One House')
    const second = await service.addPartner('Of The Same House', first.organization)
    const statuses = async () => {
      const answers = await Promise.all(
        [first, second].map(({ token }) => service.get(`${paths.regions}?country_code=CA`, token)),
      )
      return answers.map(({ status }) => status)
    }
    const id = first.organization?.id ?? 0
    expect(await statuses()).toEqual([200, 200])
    await actsOf(service.context).setOrganizationActive(id, false, service.act())
    expect(await statuses()).toEqual([403, 403])
    await actsOf(service.context).setOrganizationActive(id, true, service.act())
    expect(await statuses()).toEqual([200, 200])
  })

  test('must exist for a booking, and a refused booking leaves the slot free', async () => {
    const { token } = await service.addPartner('Slotless House', null)
    const { providerId } = await entryOf(service, 31, 'Only')
    const slot = { providerId, utcStartTime: '2026-12-03T09:00:00Z' }
    expectRefusal(await service.post(paths.booking, booking('refused', slot), token), { status: 409 })
    expect((await service.post(paths.booking, booking('granted', slot))).status).toBe(201)
  })
})

describe('contract: the content type', () => {
  const right = [
    'application/json',
    'Application/JSON',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
  ]
  for (const [i, type] of right.entries()) {
    test(`${type} is accepted`, async () => {
      const answer = await service.post(paths.booking, booking(`type-${i}`), undefined, {
        'Content-Type': type,
      })
      expect([answer.status, answer.body.member?.email]).toEqual([201, `type-${i}@example.com`])
    })
  }

  const wrong = [
    'text/plain',
    'application/jsonp',
    'application/problem+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    '*/*',
    'text/plain; application/json',
    'application/json; charset=utf-16',
  ]
  for (const type of wrong) {
    test(`${type} is 415 with any body`, async () => {
      for (const body of [JSON.stringify(booking('canary-type')), 'canary', '']) {
        const answer = await service.post(paths.booking, body, undefined, { 'Content-Type': type })
        expectRefusal(answer, { status: 415, absent: ['canary', 'example.com', 'Several days'] })
      }
      expect((await lookUp(service, 'canary-type')).status).toBe(404)
    })
  }

  test('is 415 if it is missing', async () => {
    const body = JSON.stringify(booking('canary-typeless'))
    const answer = await sendRaw(service.baseUrl, postHead(`Content-Length: ${body.length}`), body)
    expectRefusal(answer, { status: 415, absent: ['canary'] })
    expect((await lookUp(service, 'canary-typeless')).status).toBe(404)
  })

  test('of an HTML form, URL-encoded or multipart, is 415', async () => {
    const fields: [string, string] = ['user', JSON.stringify({ external_user_id: 'canary' })]
    const form = new FormData()
    form.append(...fields)
    for (const body of [form, new URLSearchParams([fields])]) {
      const answer = await service.send(paths.booking, {
        method: 'POST',
        headers: { Authorization: `Bearer ${service.partner.token}` },
        body,
      })
      expectRefusal(answer, { status: 415, absent: ['canary'] })
    }
  })
})

describe('contract: the Content-Encoding of a request', () => {
  test.each(['gzip', 'x-gzip', 'compress', 'br', 'aes128gcm', 'identity, gzip', 'none'])(
    '%s is 415 even if the body is not encoded',
    async (coding) => {
      const headers = { 'Content-Encoding': coding }
      const answer = await service.post(paths.booking, booking('coded'), undefined, headers)
      expectRefusal(answer, { status: 415, kind: 'media_type_unsupported', path: 'Content-Encoding' })
      expect((await lookUp(service, 'coded')).status).toBe(404)
    },
  )

  test('identity is accepted, even with a capital letter', async () => {
    const headers = { 'Content-Encoding': 'Identity' }
    expect((await service.post(paths.booking, booking('as-it-is'), undefined, headers)).status).toBe(201)
  })
})

describe('contract: the size of a body', () => {
  const limit = 256 * 1024

  /** Returns an intake of exactly this size, padded with an unknown field. */
  function intakeOf(bytes: number, externalUserId: string, filling = 'p'): string {
    const empty = JSON.stringify({ ...booking(externalUserId), padding: '' })
    const room = bytes - Buffer.byteLength(empty)
    const width = Buffer.byteLength(filling)
    const padding = filling.repeat(Math.floor(room / width)) + 'p'.repeat(room % width)
    const body = JSON.stringify({ ...booking(externalUserId), padding })
    if (Buffer.byteLength(body) !== bytes) throw new Error('the body does not have the requested size')
    return body
  }
  const isJson = 'Content-Type: application/json'

  const sendings: { name: string; send: (body: string) => Promise<Answer> }[] = [
    {
      name: 'with a Content-Length',
      send: (body) =>
        sendRaw(service.baseUrl, postHead(isJson, `Content-Length: ${Buffer.byteLength(body)}`), body),
    },
    {
      name: 'in chunks',
      send: (body) => sendRaw(service.baseUrl, postHead(isJson, 'Transfer-Encoding: chunked'), chunked(body)),
    },
  ]
  for (const { name, send } of sendings) {
    const id = name.replaceAll(' ', '-')

    test(`may be exactly 256 KiB, sent ${name}`, async () => {
      expect((await send(intakeOf(limit, `full-${id}`))).status).toBe(201)
      expect((await send(intakeOf(limit - 1, `almost-${id}`))).status).toBe(201)
      expect((await send(intakeOf(limit, `wide-${id}`, '😀'))).status).toBe(201)
    })

    test(`is 413 above 256 KiB, sent ${name}`, async () => {
      for (const body of [
        intakeOf(limit + 1, 'canary-large'),
        intakeOf(limit + 1, 'canary-large', 'é'),
        intakeOf(limit + 1, 'canary-large', '😀'),
        intakeOf(3 * limit, 'canary-large'),
        `${intakeOf(limit, 'canary-large')}\n`,
      ]) {
        expectRefusal(await send(body), { status: 413, absent: ['canary', 'ppp', 'Several days'] })
      }
      expect((await lookUp(service, 'canary-large')).status).toBe(404)
    })
  }

  test('is 413 above 256 KiB even if the body is broken JSON', async () => {
    for (const body of ['{'.repeat(limit + 1), `{"user":${' '.repeat(limit)}`]) {
      expectRefusal(await service.post(paths.booking, body), { status: 413 })
    }
  })

  test('is 413 for a Content-Length of 1 GB', async () => {
    const answer = await sendRaw(service.baseUrl, postHead(isJson, 'Content-Length: 1000000000'))
    expectRefusal(answer, { status: 413 })
  })
})

describe('contract: a body that is not valid JSON', () => {
  const text = JSON.stringify(booking('canary-broken'))
  const bytes = (...parts: (string | number[])[]) =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))
  const [before = '', after = ''] = text.split('Several days')
  const rows: { name: string; body: Uint8Array }[] = [
    { name: 'empty', body: bytes('') },
    { name: 'white space', body: bytes('  \n') },
    { name: 'cut off', body: bytes(text.slice(0, -1)) },
    { name: 'followed by a word', body: bytes(text, 'canary') },
    { name: 'two documents', body: bytes(text, text) },
    { name: 'with a trailing comma', body: bytes(text.slice(0, -1), ',}') },
    { name: 'with a comment', body: bytes('/* canary */', text) },
    { name: 'in single quotes', body: bytes(text.replaceAll('"', "'")) },
    { name: 'NaN', body: bytes('NaN') },
    { name: 'undefined', body: bytes('undefined') },
    {
      name: 'with an unescaped control character in a string',
      body: bytes(text.replace('Robin', 'Ro\nbin')),
    },
    { name: 'URL-encoded', body: bytes('user=canary&memberData=canary') },
    { name: 'with a byte that UTF-8 does not allow', body: bytes(before, [0xff], after) },
    { name: 'with a lone continuation byte', body: bytes(before, [0x80], after) },
    { name: 'with an overlong UTF-8 sequence', body: bytes(before, [0xc0, 0xaf], after) },
    { name: 'with a surrogate encoded in UTF-8', body: bytes(before, [0xed, 0xa0, 0x80], after) },
    { name: 'with a truncated UTF-8 character', body: bytes(before, [0xf0, 0x9f, 0x98], after) },
    { name: 'in Latin-1', body: bytes(before, [0xe9], after) },
    { name: 'in UTF-16', body: Buffer.from(text, 'utf16le') },
    { name: '200,000 opening brackets', body: bytes('['.repeat(200_000)) },
  ]
  for (const { name, body } of rows) {
    test(`${name} is 400 and stores nothing`, async () => {
      const answer = await service.send(paths.booking, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${service.partner.token}`,
          'Content-Type': 'application/json',
        },
        body,
      })
      const absent = ['canary', 'Robin', 'Several', 'days', 'example.com', 'position', 'token']
      expectRefusal(answer, { status: 400, absent })
      expect((await lookUp(service, 'canary-broken')).status).toBe(404)
    })
  }

  test.each([
    [31, 201],
    [32, 201],
    [33, 400],
    [50_000, 400],
  ])('JSON with %i levels of nesting is answered with %i', async (levels, status) => {
    const arrays = levels - 1
    const deep = `${'['.repeat(arrays)}${']'.repeat(arrays)}`
    const body = text.replaceAll('canary-broken', `deep-${levels}`).replace('{', `{"x":${deep},`)
    const answer = await service.post(paths.booking, body)
    expect(answer.status).toBe(status)
    if (status === 400) expectRefusal(answer, { status, kind: 'body_malformed' })
  })
})

describe('contract: an internal error', () => {
  test('is 500 with the usual error body and no detail', async () => {
    const broken = await start()
    try {
      const fail = () => Promise.reject(new Error('SQLITE_IOERR: canary at /home/svc/src/secret.ts'))
      Object.assign(broken.context.store, { read: fail, submit: fail })
      const answers = [
        await lookUp(broken, 'canary-member'),
        await broken.post(paths.booking, booking('canary-member')),
      ]
      for (const answer of answers) {
        expectRefusal(answer, {
          status: 500,
          absent: ['canary', 'IOERR', 'secret', 'Robin', broken.partner.token],
        })
      }
      expect((await broken.get(`${paths.regions}?country_code=CA`)).status).toBe(200)
    } finally {
      await broken.stop()
    }
  })
})

describe('contract: after many refusals', () => {
  test('a booking is still stored', async () => {
    await loadDirectory(service.context, directory, service.act())
    const { providerId } = await entryOf(service, 31, 'Only')
    const body = booking('afterwards', { providerId, utcStartTime: '2026-12-04T09:00:00Z' })
    const answer = await service.post(paths.booking, body)
    const { id, member, authorizationNumber } = answer.body
    expectSuccess(answer, 201, {
      id,
      providerId,
      authorizationNumber,
      phoneNumber: '',
      preferredModality: '',
      acceptedAt: null,
      declinedAt: null,
      member: { id: member.id, firstName: 'Robin', email: 'afterwards@example.com' },
      utcStartTime: '2026-12-04T09:00:00Z',
    })
  })
})
