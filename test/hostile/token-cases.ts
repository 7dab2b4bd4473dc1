import { createHmac, randomBytes } from 'node:crypto'
import { CompactEncrypt, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { segment, signed } from '../contract/contract'

/** A partner's key as only the service and its partner should have it. */
export interface Known {
  readonly kid: string
  readonly secret: Uint8Array
  readonly token: string
}

/** What whoever crafts a token has come by. */
export interface Loot {
  /** Of an active partner, in force. */
  readonly known: Known
  readonly inactive: Known
  readonly rotatedOut: string
  readonly waiting: string
  readonly revoked: string
}

/** What is sent beside the request itself: lines of its head, and more for its query and its body. */
export interface Attempt {
  readonly lines?: readonly string[]
  readonly query?: string
  readonly body?: Record<string, unknown>
}

/** How a request with it ends: served, a 401 with this code, or Bun's own refusal. */
export type Verdict =
  | 'served'
  | 'token_invalid'
  | 'missing_claim'
  | 'partner_not_found'
  | 'partner_inactive'
  | '400 bare'
  | '431 bare'

export type TokenCase = readonly [
  name: string,
  verdict: Verdict,
  attempt: (loot: Loot) => Attempt | Promise<Attempt>,
]

const text = (bytes: string) => Buffer.from(bytes).toString('latin1')
/** With one Authorization header of this value. */
const header = (value: (token: string, loot: Loot) => string) => (loot: Loot) => ({
  lines: [`Authorization: ${value(loot.known.token, loot)}`],
})
/** With another header in its place. */
const line =
  (write: (token: string) => string) =>
  ({ known }: Loot) => ({ lines: [write(known.token)] })
/** With a token of this making. */
const bearer = (make: (known: Known, loot: Loot) => string | Promise<string>) => async (loot: Loot) => ({
  lines: [`Authorization: Bearer ${await make(loot.known, loot)}`],
})
/** With a token that the true secret has signed, of a header that is right but for this. */
const under = (different: Record<string, unknown>, hash?: string) =>
  bearer(({ kid, secret }) => signed({ alg: 'HS256', kid, ...different }, secret, hash))
/** The same of a header written out as text. */
const underText = (write: (kid: string) => string) => bearer(({ kid, secret }) => signed(write(kid), secret))
/** With a token that is signed by a secret that whoever crafts it has made up. */
const forged = (different: Record<string, unknown>, secret?: Uint8Array) =>
  bearer(({ kid }) => signed({ alg: 'HS256', kid, ...different }, secret))
/** The true token with something done to one of its parts. */
const parts = (change: (header: string, payload: string, signature: string, known: Known) => string) =>
  bearer((known) => {
    const [head = '', payload = '', signature = ''] = known.token.split('.')
    return change(head, payload, signature, known)
  })
/** What is to be signed, with its signature by a secret. */
const withSignature = (input: string, secret: Uint8Array) =>
  `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
/** A header and a payload, the header with a byte that UTF-8 does not have. */
const notUtf8 = (kid: string) =>
  `${Buffer.from(`{"alg":"HS256","kid":"${kid}","x":"\xff"}`, 'latin1').toString('base64url')}.${segment({})}`
/** Any payload at all, signed by the true secret. */
const saying = (payload: string) =>
  bearer(({ kid, secret }) => withSignature(`${segment({ alg: 'HS256', kid })}.${segment(payload)}`, secret))

const schemes: TokenCase[] = [
  ['no header', 'token_invalid', () => ({})],
  ['an empty header', 'token_invalid', header(() => '')],
  ['the scheme alone', 'token_invalid', header(() => 'Bearer')],
  ['the scheme and a blank', 'token_invalid', header(() => 'Bearer ')],
  ['the token alone', 'token_invalid', header((token) => token)],
  ['in lower case', 'served', header((token) => `bearer ${token}`)],
  ['in upper case', 'served', header((token) => `BEARER ${token}`)],
  ['in mixed case', 'served', header((token) => `bEaReR ${token}`)],
  ['with blanks around it, which HTTP takes off', 'served', header((token) => ` \t Bearer ${token} \t`)],
  ['Basic', 'token_invalid', header((token) => `Basic ${token}`)],
  [
    'Basic with the token for a password',
    'token_invalid',
    header((token) => `Basic ${segment(`Bearer:${token}`)}`),
  ],
  ['Token', 'token_invalid', header((token) => `Token ${token}`)],
  ['DPoP', 'token_invalid', header((token) => `DPoP ${token}`)],
  ['XBearer', 'token_invalid', header((token) => `XBearer ${token}`)],
  ['with nothing between', 'token_invalid', header((token) => `Bearer${token}`)],
  ['with two blanks', 'token_invalid', header((token) => `Bearer  ${token}`)],
  ['with a tab', 'token_invalid', header((token) => `Bearer\t${token}`)],
  ['with a blank and a tab', 'token_invalid', header((token) => `Bearer \t${token}`)],
  ['with a no-break space', 'token_invalid', header((token) => `Bearer\xa0${token}`)],
  ['with a no-break space behind the blank', 'token_invalid', header((token) => `Bearer \xa0${token}`)],
  ['with a colon', 'token_invalid', header((token) => `Bearer: ${token}`)],
  ['with an equals sign', 'token_invalid', header((token) => `Bearer=${token}`)],
  ['twice', 'token_invalid', header((token) => `Bearer Bearer ${token}`)],
  ['with two tokens', 'token_invalid', header((token) => `Bearer ${token} ${token}`)],
  ['with two joined by a comma', 'token_invalid', header((token) => `Bearer ${token}, Bearer ${token}`)],
  ['with a comma behind it', 'token_invalid', header((token) => `Bearer ${token},`)],
  ['with a parameter', 'token_invalid', header((token) => `Bearer ${token}, realm="x"`)],
  ['with a semicolon', 'token_invalid', header((token) => `Bearer ${token};x=1`)],
  ['with the token in quotes', 'token_invalid', header((token) => `Bearer "${token}"`)],
  ['with a name before the token', 'token_invalid', header((token) => `Bearer token="${token}"`)],
  ['in Cyrillic letters', 'token_invalid', header((token) => `${text('Веаrer')} ${token}`)],
  ['in full-width letters', 'token_invalid', header((token) => `${text('Ｂｅａｒｅｒ')} ${token}`)],
  ['with a soft hyphen', 'token_invalid', header((token) => `Bea\xadrer ${token}`)],
  ['with a NUL behind it', '400 bare', header((token) => `Bearer ${token}\0`)],
  ['with a NUL before it', '400 bare', header((token) => `\0Bearer ${token}`)],
  ['with a bare CR', '400 bare', header((token) => `Bearer\r${token}`)],
  ['with a bare LF', '400 bare', header((token) => `Bearer\n${token}`)],
  ['folded', '400 bare', header((token) => `Bearer\r\n ${token}`)],
  ['with a form feed', '400 bare', header((token) => `Bearer\f${token}`)],
]

const places: TokenCase[] = [
  [
    'two headers that are both right',
    'token_invalid',
    ({ known }) => ({ lines: Array(2).fill(`Authorization: Bearer ${known.token}`) }),
  ],
  [
    'two headers, the first wrong',
    'token_invalid',
    ({ known }) => ({ lines: ['Authorization: Bearer x.y.z', `Authorization: Bearer ${known.token}`] }),
  ],
  [
    'two headers, the last wrong',
    'token_invalid',
    ({ known }) => ({ lines: [`Authorization: Bearer ${known.token}`, 'authorization: Basic x'] }),
  ],
  [
    'two headers, the first empty',
    'token_invalid',
    ({ known }) => ({ lines: ['Authorization:', `Authorization: Bearer ${known.token}`] }),
  ],
  ['a header in upper case', 'served', line((token) => `AUTHORIZATION: Bearer ${token}`)],
  ['a header with a blank before the colon', '400 bare', line((token) => `Authorization : Bearer ${token}`)],
  ['a header in British spelling', 'token_invalid', line((token) => `Authorisation: Bearer ${token}`)],
  ['X-Authorization', 'token_invalid', line((token) => `X-Authorization: Bearer ${token}`)],
  [
    'X-Forwarded-Authorization',
    'token_invalid',
    line((token) => `X-Forwarded-Authorization: Bearer ${token}`),
  ],
  ['X-Original-Authorization', 'token_invalid', line((token) => `X-Original-Authorization: Bearer ${token}`)],
  ['Proxy-Authorization', 'token_invalid', line((token) => `Proxy-Authorization: Bearer ${token}`)],
  ['WWW-Authenticate', 'token_invalid', line((token) => `WWW-Authenticate: Bearer ${token}`)],
  ['X-Api-Key', 'token_invalid', line((token) => `X-Api-Key: ${token}`)],
  ['X-Access-Token', 'token_invalid', line((token) => `X-Access-Token: ${token}`)],
  [
    'a cookie',
    'token_invalid',
    line((token) => `Cookie: Authorization=Bearer ${token}; access_token=${token}; token=${token}`),
  ],
  ['a websocket protocol', 'token_invalid', line((token) => `Sec-WebSocket-Protocol: bearer, ${token}`)],
  ['access_token in the query', 'token_invalid', ({ known }) => ({ query: `&access_token=${known.token}` })],
  [
    'Authorization in the query',
    'token_invalid',
    ({ known }) => ({ query: `&Authorization=Bearer+${known.token}` }),
  ],
  [
    'access_token in the query and an empty header',
    'token_invalid',
    ({ known }) => ({ lines: ['Authorization:'], query: `&access_token=${known.token}` }),
  ],
  [
    'access_token in the query and a wrong header',
    'token_invalid',
    ({ known }) => ({ lines: ['Authorization: Bearer x.y.z'], query: `&access_token=${known.token}` }),
  ],
  [
    'the body',
    'token_invalid',
    ({ known }) => ({ body: { access_token: known.token, Authorization: `Bearer ${known.token}` } }),
  ],
]

const algorithms: TokenCase[] = [
  [
    'none, without a signature',
    'token_invalid',
    parts((_, payload, __, { kid }) => `${segment({ alg: 'none', kid })}.${payload}.`),
  ],
  ...[
    'none',
    'None',
    'NONE',
    'nOnE',
    'HS384',
    'hs256',
    'HS256 ',
    ' HS256',
    'HS256\0',
    'HS2560',
    'HMAC',
    'RS256',
    'ES256',
    'PS256',
    'EdDSA',
    'dir',
    '',
  ].map((alg): TokenCase => [JSON.stringify(alg), 'token_invalid', under({ alg })]),
  ['HS512 with its own hash', 'token_invalid', under({ alg: 'HS512' }, 'sha512')],
  ['HS384 with its own hash', 'token_invalid', under({ alg: 'HS384' }, 'sha384')],
  ['HS256 with the hash of HS512', 'token_invalid', under({}, 'sha512')],
  ...[null, 256, true, ['HS256'], { alg: 'HS256' }].map(
    (alg): TokenCase => [`${JSON.stringify(alg)}, no text`, 'token_invalid', under({ alg })],
  ),
  ['left out', 'token_invalid', under({ alg: undefined })],
  ['in another case of its name', 'token_invalid', underText((kid) => `{"Alg":"HS256","kid":"${kid}"}`)],
  [
    'twice, the last one none',
    'token_invalid',
    underText((kid) => `{"alg":"HS256","kid":"${kid}","alg":"none"}`),
  ],
  // Of members that are repeated the last counts (RFC 7515 §4): the secret's owner has signed it.
  ['twice, the last one right', 'served', underText((kid) => `{"alg":"none","kid":"${kid}","alg":"HS256"}`)],
  ['escaped', 'served', underText((kid) => `{"\\u0061lg":"\\u0048S256","kid":"${kid}"}`)],
  ...['RS256', 'ES256', 'EdDSA'].map(
    (alg): TokenCase => [
      `${alg} with a key of its own`,
      'token_invalid',
      bearer(async ({ kid }) => {
        const { privateKey, publicKey } = await generateKeyPair(alg)
        return new SignJWT({})
          .setProtectedHeader({ alg, kid, jwk: await exportJWK(publicKey) })
          .sign(privateKey)
      }),
    ],
  ),
]

const members: TokenCase[] = [
  ...[['exp'], ['b64'], ['kid'], ['x'], [], 'exp', null, {}].map(
    (crit): TokenCase => [
      `crit ${JSON.stringify(crit)}`,
      'token_invalid',
      under({ crit, exp: 1, b64: true, x: 1 }),
    ],
  ),
  [
    'b64 false',
    'token_invalid',
    bearer(({ kid, secret }) => {
      const head = segment({ alg: 'HS256', kid, b64: false, crit: ['b64'] })
      return withSignature(`${head}.plain`, secret)
    }),
  ],
  ['typ, cty and members that nobody knows', 'served', under({ typ: 'at+jwt', cty: 'JWT', x: [1] })],
  ['zip', 'served', under({ zip: 'DEF' })],
  [
    'a jwk of the forger',
    'token_invalid',
    bearer(({ kid }) => {
      const secret = randomBytes(32)
      return signed({ alg: 'HS256', kid, jwk: { kty: 'oct', k: secret.toString('base64url') } }, secret)
    }),
  ],
  ['a jku', 'token_invalid', forged({ jku: 'http://127.0.0.1:9/keys' })],
  ['an x5u', 'token_invalid', forged({ x5u: 'http://127.0.0.1:9/cert' })],
  ['an x5c', 'token_invalid', forged({ x5c: ['MIIB'] })],
  [
    'a jwk beside the true signature',
    'served',
    under({ jwk: { kty: 'oct', k: 'AAAA' }, jku: 'http://127.0.0.1:9/' }),
  ],
]

const secrets: TokenCase[] = [
  ['a random secret', 'token_invalid', forged({})],
  ['an empty secret', 'token_invalid', forged({}, new Uint8Array(0))],
  ['a secret of zeros', 'token_invalid', forged({}, new Uint8Array(32))],
  ['the secret "secret"', 'token_invalid', forged({}, Buffer.from('secret'))],
  ['the kid', 'token_invalid', bearer(({ kid }) => signed({ alg: 'HS256', kid }, Buffer.from(kid)))],
  [
    'the true secret as text',
    'token_invalid',
    bearer(({ kid, secret }) =>
      signed({ alg: 'HS256', kid }, Buffer.from(Buffer.from(secret).toString('base64url'))),
    ),
  ],
  [
    "another partner's secret",
    'token_invalid',
    bearer(({ kid }, { inactive }) => signed({ alg: 'HS256', kid }, inactive.secret)),
  ],
]

const kids: TokenCase[] = [
  ['left out', 'missing_claim', under({ kid: undefined })],
  ...['', null, 0, 7, true, [], ['x'], {}, { kid: 'x' }].map(
    (kid): TokenCase => [JSON.stringify(kid), 'missing_claim', under({ kid })],
  ),
  [
    'the known one in an array',
    'missing_claim',
    bearer(({ kid, secret }) => signed({ alg: 'HS256', kid: [kid] }, secret)),
  ],
  ['in another case of its name', 'missing_claim', underText((kid) => `{"alg":"HS256","KID":"${kid}"}`)],
  [
    'in the payload',
    'missing_claim',
    bearer(({ kid, secret }) => new SignJWT({ kid }).setProtectedHeader({ alg: 'HS256' }).sign(secret)),
  ],
  ['under __proto__', 'missing_claim', underText((kid) => `{"alg":"HS256","__proto__":{"kid":"${kid}"}}`)],
  ...[
    'nobody',
    '__proto__',
    'constructor',
    'hasOwnProperty',
    '1',
    ' ',
    '*',
    '%',
    "' OR '1'='1",
    '"; DROP TABLE partners; --',
    '../../../etc/passwd',
    '/dev/null',
    'file:///etc/passwd',
    'nobody\0',
    '\ud83d\ude00',
    '\ud83d',
    '{{7*7}}',
    '\r\nSet-Cookie: a=b',
    'k'.repeat(4_000),
  ].map((kid): TokenCase => [JSON.stringify(kid).slice(0, 30), 'partner_not_found', under({ kid })]),
  [
    'in upper case',
    'partner_not_found',
    bearer(({ kid, secret }) => signed({ alg: 'HS256', kid: kid.toUpperCase() }, secret)),
  ],
  [
    'with a blank behind it',
    'partner_not_found',
    bearer(({ kid, secret }) => signed({ alg: 'HS256', kid: `${kid} ` }, secret)),
  ],
  [
    'with a NUL behind it',
    'partner_not_found',
    bearer(({ kid, secret }) => signed({ alg: 'HS256', kid: `${kid}\0` }, secret)),
  ],
  [
    'cut short',
    'partner_not_found',
    bearer(({ kid, secret }) => signed({ alg: 'HS256', kid: kid.slice(0, -1) }, secret)),
  ],
  [
    'twice, the last one unknown',
    'partner_not_found',
    underText((kid) => `{"alg":"HS256","kid":"${kid}","kid":"nobody"}`),
  ],
  [
    'twice, the last one empty',
    'missing_claim',
    underText((kid) => `{"alg":"HS256","kid":"${kid}","kid":""}`),
  ],
]

const headers: TokenCase[] = [
  ...[
    'not JSON',
    '',
    '{}',
    '[]',
    '["HS256"]',
    '"HS256"',
    'null',
    '5',
    'true',
    '{',
    '{"alg":"HS256"',
    '{"alg":"HS256",}',
    "{'alg':'HS256'}",
    '{"alg":"HS256"}x',
    '[{"alg":"HS256","kid":"x"}]',
    '{"header":{"alg":"HS256","kid":"x"}}',
    `${'['.repeat(3_000)}`,
    `{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`,
  ].map(
    (written): TokenCase => [JSON.stringify(written).slice(0, 40), 'token_invalid', underText(() => written)],
  ),
  ['with a NUL behind it', 'token_invalid', underText((kid) => `{"alg":"HS256","kid":"${kid}"}\0`)],
  ['with a comment', 'token_invalid', underText((kid) => `{"alg":"HS256",/**/"kid":"${kid}"}`)],
  [
    'that is not UTF-8',
    'token_invalid',
    parts(
      (_, payload, signature) =>
        `${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${payload}.${signature}`,
    ),
  ],
  [
    'that is not UTF-8 in a value',
    'token_invalid',
    bearer(({ kid, secret }) => withSignature(notUtf8(kid), secret)),
  ],
  [
    'that is not UTF-8 in a value, of nobody',
    'token_invalid',
    bearer(({ secret }) => withSignature(notUtf8('nobody'), secret)),
  ],
  [
    'in UTF-16',
    'token_invalid',
    parts(
      (head, payload, signature) =>
        `${Buffer.from(Buffer.from(head, 'base64url').toString(), 'utf16le').toString('base64url')}.${payload}.${signature}`,
    ),
  ],
  [
    'written with blanks, under the old signature',
    'token_invalid',
    parts(
      (head, payload, signature) =>
        `${segment(Buffer.from(head, 'base64url').toString().replace(':', ': '))}.${payload}.${signature}`,
    ),
  ],
]

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** The other spelling of the same bytes: 43 characters carry 258 bits, of which 256 are the signature's. */
const lastBits = (signature: string) =>
  `${signature.slice(0, -1)}${alphabet[alphabet.indexOf(signature.at(-1) ?? '') ^ 1]}`

const spellings: TokenCase[] = [
  ['a signature with padding', 'token_invalid', parts((h, p, s) => `${h}.${p}.${s}=`)],
  ['a signature with other last bits', 'token_invalid', parts((h, p, s) => `${h}.${p}.${lastBits(s)}`)],
  [
    'a signature in the other base64',
    'token_invalid',
    bearer(({ kid, secret }) => {
      // One whose spelling differs: most signatures hold one of the two signs.
      const tokens = Array.from({ length: 50 }, (_, at) => signed({ alg: 'HS256', kid, at }, secret))
      const token = tokens.find((one) => /[-_]/.test(one.slice(one.lastIndexOf('.')))) ?? ''
      const at = token.lastIndexOf('.')
      return token.slice(0, at) + token.slice(at).replaceAll('-', '+').replaceAll('_', '/')
    }),
  ],
  [
    'a signature in hexadecimal',
    'token_invalid',
    parts((h, p, s) => `${h}.${p}.${Buffer.from(s, 'base64url').toString('hex')}`),
  ],
  ['a signature of one byte more', 'token_invalid', parts((h, p, s) => `${h}.${p}.${s}A`)],
  ['half a signature', 'token_invalid', parts((h, p, s) => `${h}.${p}.${s.slice(0, 22)}`)],
  ['an empty signature', 'token_invalid', parts((h, p) => `${h}.${p}.`)],
  [
    'a signature over another payload',
    'token_invalid',
    parts((h, _, s) => `${h}.${segment({ iat: 1 })}.${s}`),
  ],
  ['a payload of nothing under the old signature', 'token_invalid', parts((h, _, s) => `${h}..${s}`)],
  ['padding in the header', 'token_invalid', parts((h, p, s) => `${h}=.${p}.${s}`)],
  ['padding in the payload', 'token_invalid', parts((h, p, s) => `${h}.${p}=.${s}`)],
  ['header and payload swapped', 'token_invalid', parts((h, p, s) => `${p}.${h}.${s}`)],
  ['percent-encoded', 'token_invalid', bearer(({ token }) => token.replace('e', '%65'))],
  ['with dots percent-encoded', 'token_invalid', bearer(({ token }) => token.replaceAll('.', '%2E'))],
  ['with a letter full-width', 'token_invalid', bearer(({ token }) => token.replace('e', text('ｅ')))],
  ['with a letter Cyrillic', 'token_invalid', bearer(({ token }) => token.replace('e', text('е')))],
  ['with a zero-width space', 'token_invalid', bearer(({ token }) => text(`${token}\u200b`))],
  ['in lower case', 'token_invalid', bearer(({ token }) => token.toLowerCase())],
  ['with an exclamation mark', 'token_invalid', bearer(({ token }) => `${token}!`)],
  ['with a dot behind it', 'token_invalid', bearer(({ token }) => `${token}.`)],
  ['with a dot before it', 'token_invalid', bearer(({ token }) => `.${token}`)],
  ['of one part', 'token_invalid', parts((h) => h)],
  ['of two parts', 'token_invalid', parts((h, p) => `${h}.${p}`)],
  ['of four parts', 'token_invalid', bearer(({ token }) => `${token}.AAAA`)],
  ['of three empty parts', 'token_invalid', bearer(() => '..')],
  [
    'of five parts: encrypted',
    'token_invalid',
    bearer(({ kid, secret }) =>
      new CompactEncrypt(Buffer.from('{}'))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid })
        .encrypt(secret),
    ),
  ],
  [
    'as JSON',
    'token_invalid',
    parts((h, p, s) => JSON.stringify({ protected: h, payload: p, signature: s })),
  ],
  [
    'wrapped in another token',
    'partner_not_found',
    bearer(({ token }) => signed({ alg: 'HS256', kid: token })),
  ],
  ['of 8 kB', 'token_invalid', bearer(() => `${'A'.repeat(8_000)}.AA.AA`)],
  ['of 8 kB of dots', 'token_invalid', bearer(() => '.'.repeat(8_000))],
  ['of 8 kB in its payload, signed', 'served', saying('x'.repeat(5_000))],
  ['of 64 kB', '431 bare', bearer(() => `${'A'.repeat(65_536)}.AA.AA`)],
  ['of 64 kB behind the true one', '431 bare', bearer(({ token }) => `${token}${'A'.repeat(65_536)}`)],
]

const states: TokenCase[] = [
  ['in force', 'served', bearer(({ token }) => token)],
  ['that has expired by its own account: there is no such rule', 'served', saying('{"exp":1}')],
  ['not valid yet by its own account: there is no such rule', 'served', saying('{"nbf":99999999999}')],
  ['whose payload is not JSON', 'served', saying('plain')],
  ['whose payload is empty', 'served', saying('')],
  [
    'of another environment',
    'partner_not_found',
    bearer(() => signed({ alg: 'HS256', kid: randomBytes(12).toString('base64url'), typ: 'JWT' })),
  ],
  ['rotated out', 'token_invalid', bearer((_, { rotatedOut }) => rotatedOut)],
  ['waiting for its cutover', 'token_invalid', bearer((_, { waiting }) => waiting)],
  ['revoked', 'token_invalid', bearer((_, { revoked }) => revoked)],
  ['of an inactive partner', 'partner_inactive', bearer((_, { inactive }) => inactive.token)],
  [
    'forged for an inactive partner',
    'token_invalid',
    bearer((_, { inactive }) => signed({ alg: 'HS256', kid: inactive.kid })),
  ],
  [
    'of an inactive partner under HS512',
    'token_invalid',
    bearer((_, { inactive }) => signed({ alg: 'HS512', kid: inactive.kid }, inactive.secret, 'sha512')),
  ],
  [
    "an inactive partner's, its last bits changed",
    'token_invalid',
    bearer((_, { inactive }) => lastBits(inactive.token)),
  ],
]

export const tokenCases: Record<string, readonly TokenCase[]> = {
  'the scheme': schemes,
  'a token in': places,
  'the algorithm': algorithms,
  'a header with': members,
  'a signature by': secrets,
  'the kid': kids,
  'a header': headers,
  'a token': spellings,
  'a whole token': states,
}
