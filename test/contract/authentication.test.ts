import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHmac, randomBytes } from 'node:crypto'
import {
  base64url,
  CompactEncrypt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  SignJWT,
  UnsecuredJWT,
} from 'jose'
import { rotateToken } from '../../src/operations/tokens'
import { actsOf } from '../support/acts'
import { booking, region } from '../support/builders'
import { startService, type TestPartner } from '../support/service'
import { words } from '../support/words'
import {
  expectAbsent,
  expectSuccess,
  expectUnauthorized,
  lookUp,
  paths,
  segment,
  sendRaw,
  signed,
} from './contract'

const start = () => startService({ directory: { regions: [region({ id: 9 })], providers: [] } })
let service: Awaited<ReturnType<typeof start>>

const regions = `${paths.regions}?country_code=CA`
const ontario = [
  {
    id: 9,
    countryCode: 'CA',
    stateProvinceCode: 'ON',
    stateProvinceNameLocal: 'Ontario',
    stateProvinceLabel: 'Province',
  },
]

beforeAll(async () => {
  service = await start()
})
afterAll(() => service.stop())

function kidOf(token: string): string {
  const { kid } = decodeProtectedHeader(token)
  if (!kid) throw new Error('the token has no kid')
  return kid
}

const ask = (authorization: string) => service.send(regions, { headers: { Authorization: authorization } })

/** Texts that no response may contain: the segments of the token, and the names of its partner and organization. */
function secretsOf({ token, partner, organization }: TestPartner): string[] {
  return [...token.split('.'), kidOf(token), partner.name, organization?.name ?? '']
}

/** A partner whose signing secret the test knows. */
async function addPartnerWithSecret(
  name: string,
): Promise<TestPartner & { kid: string; secret: Uint8Array }> {
  const added = await service.addPartner(name)
  const act = service.act()
  const kid = `known-${name}`
  const secret = new Uint8Array(randomBytes(32))
  await actsOf(service.context).rotateKey(added.partner.id, { kid, secret, startsAt: act.at }, act)
  return { ...added, kid, secret, token: signed({ alg: 'HS256', kid }, secret) }
}

describe('contract: the Authorization header', () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
    test(`the scheme ${scheme} with a valid token is accepted`, async () => {
      expectSuccess(await ask(`${scheme} ${service.partner.token}`), 200, ontario)
    })
  }

  const malformed: { name: string; header: (token: string) => string }[] = [
    { name: 'an empty header', header: () => '' },
    { name: 'a scheme without a token', header: () => 'Bearer' },
    { name: 'a token without a scheme', header: (token) => token },
    { name: 'another scheme', header: (token) => `Basic ${token}` },
    { name: 'a scheme that ends with Bearer', header: (token) => `XBearer ${token}` },
    { name: 'a scheme and a token without a space', header: (token) => `Bearer${token}` },
    { name: 'two spaces before the token', header: (token) => `Bearer  ${token}` },
    { name: 'a tab instead of the space', header: (token) => `Bearer\t${token}` },
    { name: 'a colon after the scheme', header: (token) => `Bearer: ${token}` },
    { name: 'a second token', header: (token) => `Bearer ${token} ${token}` },
    { name: 'a word after the token', header: (token) => `Bearer ${token} x` },
    { name: 'a comma after the token', header: (token) => `Bearer ${token},` },
    { name: 'a parameter after the token', header: (token) => `Bearer ${token}, realm="x"` },
    { name: 'a quoted token', header: (token) => `Bearer "${token}"` },
    { name: 'the scheme twice', header: (token) => `Bearer Bearer ${token}` },
  ]
  for (const { name, header } of malformed) {
    test(`${name} is token_invalid`, async () => {
      const { partner } = service
      expectUnauthorized(await ask(header(partner.token)), 'token_invalid', secretsOf(partner))
    })
  }

  test('a request without the header is token_invalid', async () => {
    expectUnauthorized(await service.get(regions, null), 'token_invalid')
  })

  test('WWW-Authenticate contains invalid_token only if a token was sent', async () => {
    const challenges = async (header: Record<string, string>) =>
      (await service.send(regions, { headers: header })).headers.get('www-authenticate')
    const invalid = 'Bearer error="invalid_token"'
    expect(await challenges({})).toBe('Bearer')
    expect(await challenges({ Authorization: 'Basic eDp5' })).toBe('Bearer')
    expect(await challenges({ Authorization: 'Bearer x.y.z' })).toBe(invalid)
    expect(await challenges({ Authorization: `Bearer ${service.partner.token}x` })).toBe(invalid)
    expect(await challenges({})).toBe('Bearer')
  })

  test('two Authorization headers are token_invalid', async () => {
    const line = `Authorization: Bearer ${service.partner.token}`
    const head = [`GET ${regions} HTTP/1.1`, 'Host: localhost', line, line]
    expectUnauthorized(await sendRaw(service.baseUrl, head), 'token_invalid', secretsOf(service.partner))
  })

  test('a token in the query, a cookie or another header is ignored', async () => {
    const { token } = service.partner
    const answers = await Promise.all([
      service.get(`${regions}&access_token=${token}`, null),
      service.get(`${regions}&token=${token}`, null),
      service.get(`${regions}&Authorization=Bearer%20${token}`, null),
      service.send(regions, { headers: { Cookie: `access_token=${token}; Authorization=Bearer ${token}` } }),
      service.send(regions, { headers: { 'X-Api-Key': token, 'X-Authorization': `Bearer ${token}` } }),
      service.send(regions, { headers: { 'Proxy-Authorization': `Bearer ${token}` } }),
    ])
    for (const answer of answers) {
      expectUnauthorized(answer, 'token_invalid', secretsOf(service.partner))
    }
  })

  test('a token in the body is ignored', async () => {
    const { token } = service.partner
    const answers = await Promise.all([
      service.post(paths.booking, { ...booking('in-body'), access_token: token, token }, null),
      service.post(paths.booking, `access_token=${token}`, null, {
        'Content-Type': 'application/x-www-form-urlencoded',
      }),
    ])
    for (const answer of answers) {
      expectUnauthorized(answer, 'token_invalid', secretsOf(service.partner))
    }
    expect((await lookUp(service, 'in-body')).status).toBe(404)
  })

  test('a token in the query is ignored if the header is valid', async () => {
    expectSuccess(await service.get(`${regions}&access_token=nonsense`), 200, ontario)
  })
})

describe('contract: malformed tokens', () => {
  const parts = () => {
    const [header = '', payload = '', signature = ''] = service.partner.token.split('.')
    return { header, payload, signature }
  }
  const rows: { name: string; token: () => string }[] = [
    { name: 'a word', token: () => 'canary-token' },
    { name: 'two segments', token: () => `${parts().header}.${parts().payload}` },
    { name: 'four segments', token: () => `${service.partner.token}.x` },
    { name: 'two dots', token: () => '..' },
    { name: 'an empty header', token: () => `.${parts().payload}.${parts().signature}` },
    { name: 'an empty signature', token: () => `${parts().header}.${parts().payload}.` },
    { name: 'a padded signature', token: () => `${service.partner.token}=` },
    { name: 'a character outside base64url in the signature', token: () => `${service.partner.token}!` },
    {
      name: 'a header with characters of plain base64',
      token: () => `+/+/.${parts().payload}.${parts().signature}`,
    },
    { name: 'a header that is not JSON', token: () => signed('canary, not JSON') },
    { name: 'a header that is a JSON array', token: () => signed(['HS256']) },
    { name: 'a header that is a JSON string', token: () => signed('"HS256"') },
    { name: 'a header that is null', token: () => signed('null') },
    { name: 'a header that is a number', token: () => signed('5') },
    { name: 'a header without alg', token: () => signed({ kid: kidOf(service.partner.token) }) },
    { name: 'a header of 6,000 characters', token: () => `${'A'.repeat(6000)}.AA.AA` },
  ]
  for (const { name, token } of rows) {
    test(`${name} is token_invalid`, async () => {
      const sent = token()
      const absent = [sent, 'canary', ...secretsOf(service.partner)]
      expectUnauthorized(await ask(`Bearer ${sent}`), 'token_invalid', absent)
    })
  }

  test('an encrypted JWT of five segments is token_invalid', async () => {
    const token = await new CompactEncrypt(new TextEncoder().encode('{}'))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: kidOf(service.partner.token) })
      .encrypt(new Uint8Array(32))
    expectUnauthorized(await ask(`Bearer ${token}`), 'token_invalid', secretsOf(service.partner))
  })
})

describe('contract: the signature of a token', () => {
  test('changing one character makes the token invalid', async () => {
    const { token } = service.partner
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const signatureAt = token.lastIndexOf('.') + 1
    for (const at of [signatureAt, signatureAt + 20, token.length - 2, token.length - 1]) {
      // Changes the highest bit of a base64url character. The lowest bits of the last character are only padding.
      const other = alphabet[(alphabet.indexOf(token.charAt(at)) + 32) % 64]
      const altered = `${token.slice(0, at)}${other}${token.slice(at + 1)}`
      expectUnauthorized(await ask(`Bearer ${altered}`), 'token_invalid', [altered, kidOf(token)])
    }
  })

  test('a token whose payload was altered is token_invalid', async () => {
    const [header, , signature] = service.partner.token.split('.')
    const altered = `${header}.${base64url.encode('{"iat":1}')}.${signature}`
    expectUnauthorized(await ask(`Bearer ${altered}`), 'token_invalid', [altered])
  })

  test("a token signed with another partner's kid is token_invalid", async () => {
    const [first, second] = [
      await addPartnerWithSecret('Kid Borrower'),
      await addPartnerWithSecret('Kid Lender'),
    ]
    const swapped = [
      signed({ alg: 'HS256', kid: second.kid }, first.secret),
      signed({ alg: 'HS256', kid: first.kid }, second.secret),
    ]
    for (const token of swapped) {
      expectUnauthorized(await ask(`Bearer ${token}`), 'token_invalid', [first.kid, second.kid, 'Kid '])
    }
    for (const { token } of [first, second]) {
      expectSuccess(await ask(`Bearer ${token}`), 200, ontario)
    }
  })

  test('a known kid with a random, empty or guessed secret is token_invalid', async () => {
    const kid = kidOf(service.partner.token)
    const secrets = [randomBytes(32), new Uint8Array(0), new Uint8Array(32), Buffer.from(kid)]
    for (const secret of secrets) {
      const forged = signed({ alg: 'HS256', kid, typ: 'JWT' }, secret)
      expectUnauthorized(await ask(`Bearer ${forged}`), 'token_invalid', [kid, forged])
    }
  })

  test('a key inside the token header is not used', async () => {
    const kid = kidOf(service.partner.token)
    const secret = new Uint8Array(randomBytes(32))
    const jwk = { kty: 'oct', k: base64url.encode(secret) }
    const forged = signed({ alg: 'HS256', kid, jwk, jku: 'http://localhost/keys', x5u: 'x' }, secret)
    expectUnauthorized(await ask(`Bearer ${forged}`), 'token_invalid', [kid, forged])
  })
})

describe('contract: alg and crit of a token', () => {
  let known: Awaited<ReturnType<typeof addPartnerWithSecret>>
  beforeAll(async () => {
    known = await addPartnerWithSecret('Algorithm Partner')
  })

  test('HS256 with the right secret and harmless header parameters is accepted', async () => {
    for (const more of [{}, { typ: 'JWT' }, { typ: 'at+jwt', cty: 'x', unknown: [1] }]) {
      const token = signed({ alg: 'HS256', kid: known.kid, ...more }, known.secret)
      expectSuccess(await ask(`Bearer ${token}`), 200, ontario)
    }
  })

  test('another algorithm is token_invalid even with the right secret', async () => {
    for (const [alg, hash] of [
      ['HS512', 'sha512'],
      ['HS384', 'sha384'],
      ['hs256', 'sha256'],
      ['HS256 ', 'sha256'],
      ['none', 'sha256'],
      ['None', 'sha256'],
      ['', 'sha256'],
    ] as const) {
      const token = signed({ alg, kid: known.kid }, known.secret, hash)
      expectUnauthorized(await ask(`Bearer ${token}`), 'token_invalid', [token, known.kid])
    }
  })

  test('an alg that is not a string is token_invalid even with the right secret', async () => {
    for (const alg of [null, 256, ['HS256'], { name: 'HS256' }]) {
      const token = signed({ alg, kid: known.kid }, known.secret)
      expectUnauthorized(await ask(`Bearer ${token}`), 'token_invalid', [token, known.kid])
    }
  })

  test('alg none without a signature is token_invalid', async () => {
    const [header = '', payload = ''] = new UnsecuredJWT({}).encode().split('.')
    const ofKid = base64url.encode(JSON.stringify({ alg: 'none', kid: known.kid }))
    for (const token of [`${header}.${payload}.`, `${ofKid}.${payload}.`]) {
      expectUnauthorized(await ask(`Bearer ${token}`), 'token_invalid', [token, known.kid])
    }
  })

  test('RS256 and ES256 are token_invalid even with a public key in the header', async () => {
    for (const alg of ['RS256', 'ES256']) {
      const { privateKey, publicKey } = await generateKeyPair(alg)
      const token = await new SignJWT({})
        .setProtectedHeader({ alg, kid: known.kid, jwk: await exportJWK(publicKey) })
        .sign(privateKey)
      expectUnauthorized(await ask(`Bearer ${token}`), 'token_invalid', [token, known.kid])
    }
  })

  test('a crit header with any value is token_invalid even with the right secret', async () => {
    for (const crit of [['exp'], ['b64'], ['kid'], [], 'exp', null, {}]) {
      const token = signed({ alg: 'HS256', kid: known.kid, crit, exp: 1, b64: true }, known.secret)
      expectUnauthorized(await ask(`Bearer ${token}`), 'token_invalid', [token, known.kid])
    }
  })

  test('a payload that is not encoded (b64: false) is token_invalid', async () => {
    const header = segment({ alg: 'HS256', kid: known.kid, b64: false, crit: ['b64'] })
    const signature = createHmac('sha256', known.secret).update(`${header}.canary`).digest('base64url')
    const token = `${header}.canary.${signature}`
    expectUnauthorized(await ask(`Bearer ${token}`), 'token_invalid', [token, known.kid, 'canary'])
  })

  test('alg and crit are checked before kid', async () => {
    const rows: unknown[] = [
      { alg: 'HS512' },
      { alg: 'none' },
      { alg: 'RS256', kid: 5 },
      {},
      { alg: 'HS512', kid: 'nobody' },
      { alg: 'HS256', crit: ['exp'], exp: 1 },
      { alg: 'HS256', crit: ['exp'], exp: 1, kid: '' },
      { alg: 'HS256', crit: ['exp'], exp: 1, kid: 'nobody' },
      { alg: 'HS256', crit: null },
      { alg: 'HS256', crit: false, kid: 'nobody' },
    ]
    for (const header of rows) expectUnauthorized(await ask(`Bearer ${signed(header)}`), 'token_invalid')
  })
})

describe('contract: the kid of a token', () => {
  const notAnId: { name: string; header: Record<string, unknown> }[] = [
    { name: 'no kid', header: {} },
    { name: 'an empty kid', header: { kid: '' } },
    { name: 'a kid that is null', header: { kid: null } },
    { name: 'a kid that is a number', header: { kid: 7 } },
    { name: 'a kid that is true', header: { kid: true } },
    { name: 'a kid that is an array', header: { kid: ['canary-kid'] } },
    { name: 'a kid that is an object', header: { kid: { id: 'canary-kid' } } },
    { name: 'a member spelled Kid', header: { Kid: 'canary-kid' } },
  ]
  for (const { name, header } of notAnId) {
    test(`${name} is refused with missing_claim`, async () => {
      const token = signed({ alg: 'HS256', ...header })
      expectUnauthorized(await ask(`Bearer ${token}`), 'missing_claim', [token, 'canary-kid'])
    })
  }

  test('a kid only in the payload is missing_claim', async () => {
    const token = await new SignJWT({ kid: kidOf(service.partner.token) })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new Uint8Array(32))
    expectUnauthorized(await ask(`Bearer ${token}`), 'missing_claim', [token])
  })

  const unknown = [
    'canary-nobody',
    '__proto__',
    'constructor',
    'toString',
    "canary' OR '1'='1",
    'canary"; DROP TABLE partners; --',
    '../../../etc/passwd',
    '1',
    'canary\u0000',
    'canary-\ud83d\ude00',
    `canary-${'k'.repeat(4000)}`,
  ]
  for (const kid of unknown) {
    test(`the unknown kid ${JSON.stringify(kid).slice(0, 40)} is partner_not_found`, async () => {
      const token = signed({ alg: 'HS256', kid })
      const absent = ['canary', 'passwd', 'DROP', token]
      expectUnauthorized(await ask(`Bearer ${token}`), 'partner_not_found', absent)
    })
  }

  test('a kid is compared with its case and spaces', async () => {
    const known = await addPartnerWithSecret('Exact Kid')
    const near = [known.kid.toUpperCase(), known.kid.slice(0, -1), ` ${known.kid}`, `${known.kid} `]
    for (const kid of near) {
      const token = signed({ alg: 'HS256', kid }, known.secret)
      expectUnauthorized(await ask(`Bearer ${token}`), 'partner_not_found', [kid])
    }
    expectSuccess(await ask(`Bearer ${known.token}`), 200, ontario)
  })
})

describe('contract: a deactivated partner', () => {
  test('gets partner_inactive at the next request until reactivation', async () => {
    const added = await service.addPartner('Canary Sleeper')
    expectSuccess(await service.get(regions, added.token), 200, ontario)
    await actsOf(service.context).setPartnerActive(added.partner.id, false, service.act())
    expectUnauthorized(await service.get(regions, added.token), 'partner_inactive', secretsOf(added))
    await actsOf(service.context).setPartnerActive(added.partner.id, true, service.act())
    expectSuccess(await service.get(regions, added.token), 200, ontario)
  })

  test('gets partner_inactive on every path', async () => {
    const added = await service.addPartner('Canary Everywhere')
    await actsOf(service.context).setPartnerActive(added.partner.id, false, service.act())
    const answers = await Promise.all([
      service.get(regions, added.token),
      service.get(`${paths.providers}?region_id=9`, added.token),
      lookUp(service, 'anybody', added.token),
      service.post(paths.booking, booking('from-a-sleeper'), added.token),
    ])
    for (const answer of answers) expectUnauthorized(answer, 'partner_inactive', secretsOf(added))
    expect((await lookUp(service, 'from-a-sleeper')).status).toBe(404)
  })

  test('gets token_invalid for a forged signature, another alg or a crit header', async () => {
    const known = await addPartnerWithSecret('Canary Quiet')
    await actsOf(service.context).setPartnerActive(known.partner.id, false, service.act())
    const tokens = [
      signed({ alg: 'HS256', kid: known.kid }),
      signed({ alg: 'HS512', kid: known.kid }, known.secret, 'sha512'),
      signed({ alg: 'HS256', kid: known.kid, crit: ['exp'], exp: 1 }, known.secret),
    ]
    for (const token of tokens) {
      expectUnauthorized(await ask(`Bearer ${token}`), 'token_invalid', [known.kid, 'Canary'])
    }
    expectUnauthorized(await ask(`Bearer ${known.token}`), 'partner_inactive', [known.kid, 'Canary'])
  })

  test('gets partner_inactive even without an organization', async () => {
    const homeless = await service.addPartner('Canary Homeless', null)
    await actsOf(service.context).setPartnerActive(homeless.partner.id, false, service.act())
    expectUnauthorized(await service.get(regions, homeless.token), 'partner_inactive', secretsOf(homeless))
  })
})

describe('contract: token rotation and revocation', () => {
  const startRotating = () =>
    startService({
      now: '2026-12-01T12:00:00Z',
      directory: { regions: [region({ id: 9 })], providers: [] },
    })
  let rotating: Awaited<ReturnType<typeof startRotating>>
  beforeAll(async () => {
    rotating = await startRotating()
  })
  afterAll(() => rotating.stop())

  /** Adds a partner with a valid token, and a second token that replaces the first at 13:00. */
  async function addRotating(name: string) {
    rotating.setNow('2026-12-01T12:00:00Z')
    const added = await rotating.addPartner(name)
    const { context } = rotating
    const next = await rotateToken(context, added.partner, Date.parse('2026-12-01T13:00:00Z'), rotating.act())
    return { ...added, next }
  }

  test('at the cutover the new token starts and the old token stops', async () => {
    const { token, next } = await addRotating('Canary Cutover')
    for (const before of ['2026-12-01T12:00:00Z', '2026-12-01T12:59:59Z']) {
      rotating.setNow(before)
      expectSuccess(await rotating.get(regions, token), 200, ontario)
      expectUnauthorized(await rotating.get(regions, next), 'token_invalid', [kidOf(next), 'Canary'])
    }
    for (const after of ['2026-12-01T13:00:00Z', '2026-12-01T13:00:01Z']) {
      rotating.setNow(after)
      expectSuccess(await rotating.get(regions, next), 200, ontario)
      expectUnauthorized(await rotating.get(regions, token), 'token_invalid', [kidOf(token), 'Canary'])
    }
  })

  test('a revocation during a rotation makes both tokens token_invalid for good', async () => {
    const { partner, token, next } = await addRotating('Canary Revoked')
    expectSuccess(await rotating.get(regions, token), 200, ontario)
    await actsOf(rotating.context).revokeKeys(partner.id, rotating.act())
    for (const now of ['2026-12-01T12:00:00Z', '2026-12-01T13:00:00Z', '2026-12-02T12:00:00Z']) {
      rotating.setNow(now)
      expectUnauthorized(await rotating.get(regions, token), 'token_invalid', [kidOf(token), 'Canary'])
      expectUnauthorized(await rotating.get(regions, next), 'token_invalid', [kidOf(next), 'Canary'])
    }
    await actsOf(rotating.context).setPartnerActive(partner.id, false, rotating.act())
    expectUnauthorized(await rotating.get(regions, token), 'token_invalid', [kidOf(token), 'Canary'])
  })
})

describe('contract: a 401 precedes every other error', () => {
  const megabyte = JSON.stringify({ padding: 'p'.repeat(1_000_000) })
  const json = (body: NonNullable<RequestInit['body']>) => ({
    headers: { 'Content-Type': 'application/json' },
    body,
  })
  const attempts: { name: string; method: string; path: string; init?: RequestInit }[] = [
    { name: 'without a required parameter', method: 'GET', path: paths.regions },
    { name: 'with a bad parameter', method: 'GET', path: `${paths.providers}?region_id=canary&page=0` },
    {
      name: 'with a repeated parameter',
      method: 'GET',
      path: `${paths.user}?external_user_id=a&external_user_id=b`,
    },
    { name: 'for a page out of range', method: 'GET', path: `${paths.regions}?country_code=CA&page=99` },
    { name: 'with broken percent signs', method: 'GET', path: `${paths.user}?external_user_id=%zz%` },
    { name: 'with broken JSON', method: 'POST', path: paths.booking, init: json('{"user": canary') },
    { name: 'with an empty body', method: 'POST', path: paths.booking, init: json('') },
    { name: 'with a body of 1 MB', method: 'POST', path: paths.booking, init: json(megabyte) },
    {
      name: 'with a body of 1 MB of another type',
      method: 'POST',
      path: paths.booking,
      init: { headers: { 'Content-Type': 'text/plain' }, body: megabyte },
    },
    {
      name: 'with a body that is not UTF-8',
      method: 'POST',
      path: paths.booking,
      init: json(new Uint8Array([0x22, 0xff, 0x22])),
    },
    {
      name: 'with an HTML form',
      method: 'POST',
      path: paths.booking,
      init: { body: new URLSearchParams({ user: 'canary' }) },
    },
    { name: 'without a body', method: 'POST', path: paths.booking },
    ...Object.values(paths).flatMap((path) =>
      ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].flatMap((method) => [
        { name: 'without parameters and body', method, path },
        { name: 'without parameters and body', method, path: path.slice(0, -1) },
      ]),
    ),
  ]
  for (const { name, method, path, init } of attempts) {
    test(`${method} ${path} ${name} is 401 without a token and with an unknown token`, async () => {
      expectUnauthorized(await service.send(path, { ...init, method }), 'token_invalid', ['canary', '%zz'])
      const headers = new Headers(init?.headers)
      headers.set('Authorization', `Bearer ${signed({ alg: 'HS256', kid: 'canary-kid' })}`)
      const answer = await service.send(path, { ...init, method, headers })
      expectUnauthorized(answer, 'partner_not_found', ['canary', '%zz'])
    })
  }

  for (const path of Object.values(paths)) {
    test(`HEAD ${path} is 401 without a token, and has no body`, async () => {
      const answer = await service.send(path, { method: 'HEAD' })
      expect([answer.status, answer.body]).toEqual([401, ''])
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer( error="invalid_token")?$/)
      expect(answer.headers.get('x-error-code')).toBe('token_invalid')
    })
  }

  test('a Content-Length of 1 GB is 401 without a token', async () => {
    const head = [
      `POST ${paths.booking} HTTP/1.1`,
      'Host: localhost',
      'Content-Type: application/json',
      'Content-Length: 1000000000',
    ]
    expectUnauthorized(await sendRaw(service.baseUrl, head), 'token_invalid')
  })
})

describe('contract: no path and no Host header bypasses authentication', () => {
  const email = 'canary-bypass@example.com'
  beforeAll(async () => {
    const answer = await service.post(paths.booking, booking('bypassed', undefined, { email }))
    expect(answer.status).toBe(201)
  })

  const query = '?external_user_id=bypassed'
  const hosts = [
    'x',
    'localhost',
    'a.b',
    'example.com:80',
    'localhost/health',
    '[',
    '',
    'a b',
    '\u00e9',
    '?',
    '#',
  ]
  for (const host of hosts) {
    test(`the look-up with Host: ${host} is 401 without a token`, async () => {
      const head = [`GET ${paths.user}${query} HTTP/1.1`, `Host: ${host}`]
      expectUnauthorized(await sendRaw(service.baseUrl, head), 'token_invalid', [email])
    })
  }

  test('an HTTP/1.0 request without a Host is 401 without a token', async () => {
    const answer = await sendRaw(service.baseUrl, [`GET ${paths.user}${query} HTTP/1.0`])
    expectUnauthorized(answer, 'token_invalid', [email])
  })

  const targets = words`
    /health/partners/v1/user/ /docs/partners/v1/user/ /openapi.json/partners/v1/user/
    /docs/../partners/v1/user/ //partners/v1/user/ /partners//v1/user/ /partners/v1/./user/
    /partners/v1/x/../user/ /partners/v1/user/%2e%2e/user/ /partners%2Fv1%2Fuser/ /partners/v1/%75ser/
    /partners/v1/user/;x /partners/v1/user// http://localhost/partners/v1/user/
    http://x/health/partners/v1/user/
  `
  for (const target of targets) {
    test(`${target} reveals no member without a token`, async () => {
      for (const host of ['localhost', 'x']) {
        const answer = await sendRaw(service.baseUrl, [`GET ${target}${query} HTTP/1.1`, `Host: ${host}`])
        expect([400, 401, 404]).toContain(answer.status)
        expectAbsent(answer, [email, 'Robin', 'bypassed'])
      }
    })
  }
})

test("contract: a valid token from outside its partner's networks gets the bytes of an invalid one", async () => {
  const { context } = service
  const { partner, organization, token } = await service.addPartner('Bounded')
  const setNetworks = async (networks: string | null) => {
    await actsOf(context).setPartnerNetworks(partner.id, networks, service.act())
    await context.directory.catchUp()
  }
  const shown = async (authorization: string) => {
    const { status, headers, body } = await ask(authorization)
    const same = [...headers].filter(([name]) => !/^(date|x-request-id)$/.test(name))
    return [status, same, body]
  }
  const [invalid, valid] = [await shown('Bearer x.y.z'), await shown(`Bearer ${token}`)]
  await setNetworks('192.0.2.0/24')
  expect(await shown(`Bearer ${token}`)).toEqual(invalid)
  const posted = await service.post(paths.booking, booking('m-1'), token)
  expect([posted.status, posted.body]).toEqual([401, invalid[2]])
  await context.notebook.flush(context.store)
  const lines = await context.store.read(({ audit }) => audit.list(10, { record: `partner ${partner.id}` }))
  const seen = lines
    .map(({ action, outcome }) => `${action}: ${outcome.replace(/^.*, kid .*/, 'address')}`)
    .sort()
  expect(seen).toEqual([
    'authentication.refuse: token_invalid, outside its networks',
    `partner.add: done: organization ${organization?.id}`,
    'partner.set-networks: done: calls from 192.0.2.0/24',
    'token.issue: done',
    'token.use: address',
  ])
  expect(lines.find(({ action }) => action === 'token.use')?.outcome).toMatch(
    /^(127\.0\.0\.1|0:0:0:0::\/64), kid /,
  )
  await setNetworks('192.0.2.0/24,127.0.0.0/8,::1/128')
  expect(await shown(`Bearer ${token}`)).toEqual(valid)
})
