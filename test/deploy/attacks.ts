import { hostName } from './proxies'

const host = `Host: ${hostName}\r\n`
const get = (target: string, more = '') => `GET ${target} HTTP/1.1\r\n${host}${more}\r\n`
const booking = '/partners/v1/booking-request/'
const body = '{"user":1}'
const post = (fields: string, sent = body) =>
  `POST ${booking} HTTP/1.1\r\n${host}Content-Type: application/json\r\n${fields}\r\n${sent}`
const regions = '/partners/v1/provider-regions/?country_code=CA'
const long = (length: number) => 'a'.repeat(length)

/**
 * `outcome`: the statuses of the responses, then `reached N` if N requests reached the service. A pair
 * contains one outcome for each proxy.
 * `parts`: the bytes to send.
 */
type Row = readonly [
  title: string,
  outcome: string | readonly [nginx: string, haproxy: string],
  parts: readonly string[],
  options?: { readonly pauseMillis: number },
]

/** Ordinary and hostile requests as exact bytes, with the expected outcome at each proxy. */
export const attacks: readonly Row[] = [
  ['a plain request', '200 reached 1', [get(regions)]],
  [
    'a path without a trailing slash',
    '200 reached 1',
    [get('/partners/v1/provider-regions?country_code=CA')],
  ],
  ['dot segments in the path', '404', [get('/x/../partners/v1/user/?external_user_id=canary-1')]],
  ['dot segments that leave the served prefix', '404', [get('/partners/v1/user/../../../readyz')]],
  ['percent-encoded dot segments', '404', [get('/partners/v1/%2e%2e/v1/user/')]],
  ['half-encoded dot segments', '404', [get('/partners/v1/.%2e/v1/user/')]],
  ['a single dot segment', '404', [get('/partners/v1/./user/')]],
  ['an encoded slash', '404', [get('/partners/v1%2fuser/')]],
  ['backslashes in the path', '404', [get('/partners\\v1\\user/')]],
  ['dot segments between backslashes', '404', [get('/partners/v1/x\\..\\user/')]],
  ['encoded backslashes', '404', [get('/partners/v1/x%5c..%5cuser/')]],
  ['a double slash at the start', '404', [get('//partners/v1/user/')]],
  ['a double slash inside the path', '404', [get('/partners//v1/user/')]],
  ['a percent-encoded letter', '404', [get('/partners/v1/%75ser/?external_user_id=canary-1')]],
  ['an upper-case path', '404', [get('/PARTNERS/v1/user/')]],
  ['a path parameter', '404', [get('/partners/v1/user;x=1/')]],
  ['a fragment in the path', ['404', '400'], [get('/partners/v1/user/#/../readyz')]],
  ['a fragment in the query', ['404', '400'], [get('/partners/v1/user/?external_user_id=canary-1#x')]],
  ['an encoded NUL', ['400', '404'], [get('/partners/v1/user/%00')]],
  ['a space in the target', '400', [get('/partners/v1/user/ /x')]],
  ['a tab in the query', '400', [get('/partners/v1/user/?a=\tb')]],
  ['the health check path', '404', [get('/readyz')]],
  ['the metrics path', '404', [get('/metrics')]],
  ['the docs path', '404', [get('/docs')]],
  ['an absolute target', '200 reached 1', [get(`https://${hostName}${regions}`)]],
  ['an absolute target with another host', ['421', '400'], [get(`https://evil.example${regions}`)]],
  ['an absolute target with http', '200 reached 1', [get(`http://${hostName}${regions}`)]],
  ['an authority-form target (CONNECT)', ['400', '405'], [`CONNECT ${hostName}:443 HTTP/1.1\r\n${host}\r\n`]],
  ['an asterisk target (OPTIONS)', ['400', '404'], [`OPTIONS * HTTP/1.1\r\n${host}\r\n`]],
  ['the method TRACE', '405', [`TRACE ${regions} HTTP/1.1\r\n${host}\r\n`]],
  ['an unknown method', '405', [`CANARY ${regions} HTTP/1.1\r\n${host}\r\n`]],
  ['a lower-case method', ['400', '405'], [`get ${regions} HTTP/1.1\r\n${host}\r\n`]],
  ['no Host field', ['400', '421'], [`GET ${regions} HTTP/1.1\r\n\r\n`]],
  ['another Host', '421', [`GET ${regions} HTTP/1.1\r\nHost: evil.example\r\n\r\n`]],
  ['two Host fields', '400', [`GET ${regions} HTTP/1.1\r\n${host}Host: evil.example\r\n\r\n`]],
  [
    'a Host with a path',
    ['400', '421'],
    [`GET ${regions} HTTP/1.1\r\nHost: ${hostName}/partners/v1/user\r\n\r\n`],
  ],
  ['a Host with a user', '421', [`GET ${regions} HTTP/1.1\r\nHost: evil@${hostName}\r\n\r\n`]],
  ['a Host with a port', '200 reached 1', [`GET ${regions} HTTP/1.1\r\nHost: ${hostName}:1\r\n\r\n`]],
  ['a short unknown Host', '421', [`GET /health/partners/v1/user/ HTTP/1.1\r\nHost: x\r\n\r\n`]],
  ['a request of HTTP/1.0', '200 reached 1', [`GET ${regions} HTTP/1.0\r\n${host}\r\n`]],
  ['a request of HTTP/0.9', ['', '400'], [`GET ${regions}\r\n`]],
  ['the preface of HTTP/2', ['400', ''], ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']],
  [
    'forged X-Forwarded fields',
    '200 reached 1',
    [
      get(
        regions,
        'X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8\r\nX-Forwarded-Proto: http\r\nForwarded: for=1.2.3.4;proto=http\r\nX-Forwarded-Host: evil.example\r\nX-Real-IP: 1.2.3.4\r\nX_Forwarded_For: 9.9.9.9\r\nX-Request-Id: canary-1\r\n',
      ),
    ],
  ],
  [
    'a Connection field that names X-Forwarded-For',
    '200 reached 1',
    [get(regions, 'Connection: close, X-Forwarded-For, X-Forwarded-Proto\r\n')],
  ],
  [
    'an upgrade to WebSocket',
    ['200 reached 1', '400'],
    [
      get(
        regions,
        'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n',
      ),
    ],
  ],
  [
    'an upgrade to h2c',
    '200 reached 1',
    [
      get(
        regions,
        'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
      ),
    ],
  ],
  ['a booking', '200 reached 1', [post(`Content-Length: ${body.length}\r\n`)]],
  [
    'two equal Content-Length fields',
    ['400', '200 reached 1'],
    [post('Content-Length: 10\r\nContent-Length: 10\r\n')],
  ],
  ['two different Content-Length fields', '400', [post('Content-Length: 10\r\nContent-Length: 0\r\n')]],
  ['a list of Content-Length values', ['400', '200 reached 1'], [post('Content-Length: 10, 10\r\n')]],
  ['a Content-Length of +10', '400', [post('Content-Length: +10\r\n')]],
  ['a Content-Length of -1', '400', [post('Content-Length: -1\r\n')]],
  ['a space before the colon of Content-Length', '400', [post('Content-Length : 10\r\n')]],
  ['a folded Content-Length', ['400', '200 reached 1'], [post('Content-Length:\r\n 10\r\n')]],
  [
    'Content-Length before Transfer-Encoding',
    ['400', '200 reached 1'],
    [post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `a\r\n${body}\r\n0\r\n\r\n`)],
  ],
  [
    'Transfer-Encoding before Content-Length',
    ['400', '200 reached 1'],
    [
      post(
        'Transfer-Encoding: chunked\r\nContent-Length: 50\r\n',
        `0\r\n\r\n${get('/partners/v1/user/?external_user_id=smuggled')}`,
      ),
    ],
  ],
  ['a chunked body', '200 reached 1', [post('Transfer-Encoding: chunked\r\n', `a\r\n${body}\r\n0\r\n\r\n`)]],
  ['a broken chunked body', '400', [post('Transfer-Encoding: chunked\r\n', `zz\r\n${body}\r\n0\r\n\r\n`)]],
  [
    'a chunked body with bare LF',
    '200 reached 1',
    [post('Transfer-Encoding: chunked\r\n', `a\n${body}\n0\n\n`)],
  ],
  [
    'a chunked body with an extension and a trailer',
    '200 reached 1',
    [post('Transfer-Encoding: chunked\r\n', `a;x=y\r\n${body}\r\n0\r\nTrailer: x\r\n\r\n`)],
  ],
  [
    'the transfer coding xchunked',
    ['501', '400'],
    [post('Transfer-Encoding: xchunked\r\n', `a\r\n${body}\r\n0\r\n\r\n`)],
  ],
  [
    'the transfer codings identity and chunked',
    ['501', '422'],
    [post('Transfer-Encoding: identity, chunked\r\n', `a\r\n${body}\r\n0\r\n\r\n`)],
  ],
  [
    'two Transfer-Encoding fields',
    '400',
    [post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `a\r\n${body}\r\n0\r\n\r\n`)],
  ],
  [
    'a space before the colon of Transfer-Encoding',
    '400',
    [post('Transfer-Encoding : chunked\r\nContent-Length: 10\r\n', body)],
  ],
  [
    'a vertical tab before the transfer coding',
    ['501', '400'],
    [post('Transfer-Encoding: \x0bchunked\r\nContent-Length: 10\r\n', body)],
  ],
  [
    'a pipelined request after a body',
    '200 200 reached 2',
    [`${post(`Content-Length: ${body.length}\r\n`)}${post(`Content-Length: ${body.length}\r\n`)}`],
  ],
  [
    'a pipelined health check after a body',
    '200 404 reached 1',
    [`${post(`Content-Length: ${body.length}\r\n`)}${get('/readyz')}`],
  ],
  ['a body that is longer than its Content-Length', '200 400 reached 1', [post('Content-Length: 3\r\n')]],
  [
    'a GET whose body looks like a request',
    '200 reached 1',
    [get(regions, `Content-Length: ${get('/readyz').length}\r\n`) + get('/readyz')],
  ],
  ['stray CRLF before a request', '200 reached 1', [`\r\n\r\n${get(regions)}`]],
  [
    'stray CRLF after a body',
    '200 200 reached 2',
    [`${post(`Content-Length: ${body.length}\r\n`)}\r\n${get(regions)}`],
  ],
  ['a request with bare LF', '200 reached 1', [`GET ${regions} HTTP/1.1\nHost: ${hostName}\n\n`]],
  ['a bare CR in a field', '400', [get(regions, 'X-A: a\rX-Forwarded-Proto: http\r\n')]],
  ['a NUL in a field', '400', [get(regions, 'X-A: a\0b\r\n')]],
  ['a folded field', ['400', '200 reached 1'], [get(regions, 'X-A: a\r\n X-Forwarded-Proto: http\r\n')]],
  [
    'an Expect: 100-continue',
    '100 200 reached 1',
    [post(`Content-Length: ${body.length}\r\nExpect: 100-continue\r\n`)],
  ],
  ['a request line of 9 kB', ['414', '200 reached 1'], [get(`${regions}&x=${long(9000)}`)]],
  ['a field of 9 kB', ['400', '200 reached 1'], [get(regions, `X-A: ${long(9000)}\r\n`)]],
  [
    'fields of 40 kB in total',
    '400',
    [get(regions, Array.from({ length: 10 }, (_, at) => `X-${at}: ${long(4000)}\r\n`).join(''))],
  ],
  [
    '200 fields',
    ['200 reached 1', '400'],
    [get(regions, Array.from({ length: 200 }, (_, at) => `X-${at}: a\r\n`).join(''))],
  ],
  ['a body of 400 kB', '413', [post('Content-Length: 409600\r\n', long(409600))]],
  ['a body of 300 kB', '200 reached 1', [post('Content-Length: 300000\r\n', long(300000))]],
  [
    'a chunked body of 400 kB',
    ['413', '200 reached 1'],
    [post('Transfer-Encoding: chunked\r\n', `64000\r\n${long(409600)}\r\n0\r\n\r\n`)],
  ],
  ['half a body', '', [post('Content-Length: 100\r\n')]],
  [
    'a body sent byte by byte',
    '200 reached 1',
    [post(`Content-Length: ${body.length}\r\n`, ''), ...body],
    { pauseMillis: 50 },
  ],
]
