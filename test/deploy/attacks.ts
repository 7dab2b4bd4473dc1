import { hostName } from './proxies'

const host = `Host: ${hostName}\r\n`
const get = (target: string, more = '') => `GET ${target} HTTP/1.1\r\n${host}${more}\r\n`
const booking = '/partners/v1/booking-request/'
const body = '{"user":1}'
const post = (fields: string, sent = body) =>
  `POST ${booking} HTTP/1.1\r\n${host}Content-Type: application/json\r\n${fields}\r\n${sent}`
const regions = '/partners/v1/provider-regions/?country_code=CA'
const long = (length: number) => 'a'.repeat(length)

/** What is sent, and the response of each proxy: the statuses, and how many requests reached the service. */
type Row = readonly [
  title: string,
  outcome: string | readonly [nginx: string, haproxy: string],
  parts: readonly string[],
  options?: { readonly pauseMillis: number },
]

/** Requests in order and hostile ones, byte by byte; what a proxy is seen to do with each. */
export const attacks: readonly Row[] = [
  ['plain', '200 reached 1', [get(regions)]],
  ['no slash at the end', '200 reached 1', [get('/partners/v1/provider-regions?country_code=CA')]],
  ['dot segments', '404', [get('/x/../partners/v1/user/?external_user_id=canary-1')]],
  ['dot segments out', '404', [get('/partners/v1/user/../../../readyz')]],
  ['dot encoded', '404', [get('/partners/v1/%2e%2e/v1/user/')]],
  ['dot segments half encoded', '404', [get('/partners/v1/.%2e/v1/user/')]],
  ['single dot', '404', [get('/partners/v1/./user/')]],
  ['encoded slash', '404', [get('/partners/v1%2fuser/')]],
  ['backslash', '404', [get('/partners\\v1\\user/')]],
  ['backslash dots', '404', [get('/partners/v1/x\\..\\user/')]],
  ['encoded backslash', '404', [get('/partners/v1/x%5c..%5cuser/')]],
  ['double slash', '404', [get('//partners/v1/user/')]],
  ['double slash inside', '404', [get('/partners//v1/user/')]],
  ['encoded letter', '404', [get('/partners/v1/%75ser/?external_user_id=canary-1')]],
  ['upper case', '404', [get('/PARTNERS/v1/user/')]],
  ['path parameter', '404', [get('/partners/v1/user;x=1/')]],
  ['fragment', ['404', '400'], [get('/partners/v1/user/#/../readyz')]],
  ['fragment in query', ['404', '400'], [get('/partners/v1/user/?external_user_id=canary-1#x')]],
  ['NUL encoded', ['400', '404'], [get('/partners/v1/user/%00')]],
  ['space in target', '400', [get('/partners/v1/user/ /x')]],
  ['tab in query', '400', [get('/partners/v1/user/?a=\tb')]],
  ['health', '404', [get('/readyz')]],
  ['metrics', '404', [get('/metrics')]],
  ['docs', '404', [get('/docs')]],
  ['absolute form', '200 reached 1', [get(`https://${hostName}${regions}`)]],
  ['absolute form, another host', ['421', '400'], [get(`https://evil.example${regions}`)]],
  ['absolute form, http', '200 reached 1', [get(`http://${hostName}${regions}`)]],
  ['authority form', ['400', '405'], [`CONNECT ${hostName}:443 HTTP/1.1\r\n${host}\r\n`]],
  ['asterisk', ['400', '404'], [`OPTIONS * HTTP/1.1\r\n${host}\r\n`]],
  ['TRACE', '405', [`TRACE ${regions} HTTP/1.1\r\n${host}\r\n`]],
  ['a method nobody knows', '405', [`CANARY ${regions} HTTP/1.1\r\n${host}\r\n`]],
  ['a method in small letters', ['400', '405'], [`get ${regions} HTTP/1.1\r\n${host}\r\n`]],
  ['no host', ['400', '421'], [`GET ${regions} HTTP/1.1\r\n\r\n`]],
  ['another host', '421', [`GET ${regions} HTTP/1.1\r\nHost: evil.example\r\n\r\n`]],
  ['two hosts', '400', [`GET ${regions} HTTP/1.1\r\n${host}Host: evil.example\r\n\r\n`]],
  [
    'host with a path',
    ['400', '421'],
    [`GET ${regions} HTTP/1.1\r\nHost: ${hostName}/partners/v1/user\r\n\r\n`],
  ],
  ['host with a user', '421', [`GET ${regions} HTTP/1.1\r\nHost: evil@${hostName}\r\n\r\n`]],
  ['host with a port', '200 reached 1', [`GET ${regions} HTTP/1.1\r\nHost: ${hostName}:1\r\n\r\n`]],
  ['short host', '421', [`GET /health/partners/v1/user/ HTTP/1.1\r\nHost: x\r\n\r\n`]],
  ['HTTP/1.0', '200 reached 1', [`GET ${regions} HTTP/1.0\r\n${host}\r\n`]],
  ['HTTP/0.9', ['', '400'], [`GET ${regions}\r\n`]],
  ['HTTP/2 preface', ['400', ''], ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']],
  [
    'forged X-Forwarded',
    '200 reached 1',
    [
      get(
        regions,
        'X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8\r\nX-Forwarded-Proto: http\r\nForwarded: for=1.2.3.4;proto=http\r\nX-Forwarded-Host: evil.example\r\nX-Real-IP: 1.2.3.4\r\nX_Forwarded_For: 9.9.9.9\r\nX-Request-Id: canary-1\r\n',
      ),
    ],
  ],
  [
    'connection names X-Forwarded-For',
    '200 reached 1',
    [get(regions, 'Connection: close, X-Forwarded-For, X-Forwarded-Proto\r\n')],
  ],
  [
    'upgrade',
    ['200 reached 1', '400'],
    [
      get(
        regions,
        'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n',
      ),
    ],
  ],
  [
    'upgrade h2c',
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
    'two equal Content-Length',
    ['400', '200 reached 1'],
    [post('Content-Length: 10\r\nContent-Length: 10\r\n')],
  ],
  ['two different Content-Length', '400', [post('Content-Length: 10\r\nContent-Length: 0\r\n')]],
  ['Content-Length list', ['400', '200 reached 1'], [post('Content-Length: 10, 10\r\n')]],
  ['Content-Length +10', '400', [post('Content-Length: +10\r\n')]],
  ['Content-Length -1', '400', [post('Content-Length: -1\r\n')]],
  ['Content-Length space before colon', '400', [post('Content-Length : 10\r\n')]],
  ['Content-Length folded', ['400', '200 reached 1'], [post('Content-Length:\r\n 10\r\n')]],
  [
    'TE and CL',
    ['400', '200 reached 1'],
    [post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `a\r\n${body}\r\n0\r\n\r\n`)],
  ],
  [
    'CL and TE, other order',
    ['400', '200 reached 1'],
    [
      post(
        'Transfer-Encoding: chunked\r\nContent-Length: 50\r\n',
        `0\r\n\r\n${get('/partners/v1/user/?external_user_id=smuggled')}`,
      ),
    ],
  ],
  ['TE chunked', '200 reached 1', [post('Transfer-Encoding: chunked\r\n', `a\r\n${body}\r\n0\r\n\r\n`)]],
  ['TE chunked, broken', '400', [post('Transfer-Encoding: chunked\r\n', `zz\r\n${body}\r\n0\r\n\r\n`)]],
  ['TE chunked, bare LF', '200 reached 1', [post('Transfer-Encoding: chunked\r\n', `a\n${body}\n0\n\n`)]],
  [
    'TE chunk extension',
    '200 reached 1',
    [post('Transfer-Encoding: chunked\r\n', `a;x=y\r\n${body}\r\n0\r\nTrailer: x\r\n\r\n`)],
  ],
  ['TE xchunked', ['501', '400'], [post('Transfer-Encoding: xchunked\r\n', `a\r\n${body}\r\n0\r\n\r\n`)]],
  [
    'TE identity, chunked',
    ['501', '422'],
    [post('Transfer-Encoding: identity, chunked\r\n', `a\r\n${body}\r\n0\r\n\r\n`)],
  ],
  [
    'TE twice',
    '400',
    [post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `a\r\n${body}\r\n0\r\n\r\n`)],
  ],
  ['TE space before colon', '400', [post('Transfer-Encoding : chunked\r\nContent-Length: 10\r\n', body)]],
  [
    'TE vertical tab',
    ['501', '400'],
    [post('Transfer-Encoding: \x0bchunked\r\nContent-Length: 10\r\n', body)],
  ],
  [
    'pipelined behind a body',
    '200 200 reached 2',
    [`${post(`Content-Length: ${body.length}\r\n`)}${post(`Content-Length: ${body.length}\r\n`)}`],
  ],
  [
    'pipelined health behind a body',
    '200 404 reached 1',
    [`${post(`Content-Length: ${body.length}\r\n`)}${get('/readyz')}`],
  ],
  ['pipelined in an over-long body', '200 400 reached 1', [post('Content-Length: 3\r\n')]],
  [
    'body behind a GET, taken for a request',
    '200 reached 1',
    [get(regions, `Content-Length: ${get('/readyz').length}\r\n`) + get('/readyz')],
  ],
  ['stray CRLF before', '200 reached 1', [`\r\n\r\n${get(regions)}`]],
  [
    'stray CRLF behind a body',
    '200 200 reached 2',
    [`${post(`Content-Length: ${body.length}\r\n`)}\r\n${get(regions)}`],
  ],
  ['bare LF', '200 reached 1', [`GET ${regions} HTTP/1.1\nHost: ${hostName}\n\n`]],
  ['bare CR in a field', '400', [get(regions, 'X-A: a\rX-Forwarded-Proto: http\r\n')]],
  ['NUL in a field', '400', [get(regions, 'X-A: a\0b\r\n')]],
  ['folded field', ['400', '200 reached 1'], [get(regions, 'X-A: a\r\n X-Forwarded-Proto: http\r\n')]],
  ['expect', '100 200 reached 1', [post(`Content-Length: ${body.length}\r\nExpect: 100-continue\r\n`)]],
  ['line of 9k', ['414', '200 reached 1'], [get(`${regions}&x=${long(9000)}`)]],
  ['field of 9k', ['400', '200 reached 1'], [get(regions, `X-A: ${long(9000)}\r\n`)]],
  [
    'fields of 40k',
    '400',
    [get(regions, Array.from({ length: 10 }, (_, at) => `X-${at}: ${long(4000)}\r\n`).join(''))],
  ],
  [
    '200 fields',
    ['200 reached 1', '400'],
    [get(regions, Array.from({ length: 200 }, (_, at) => `X-${at}: a\r\n`).join(''))],
  ],
  ['body of 400k', '413', [post('Content-Length: 409600\r\n', long(409600))]],
  ['body of 300k', '200 reached 1', [post('Content-Length: 300000\r\n', long(300000))]],
  [
    'chunked body of 400k',
    ['413', '200 reached 1'],
    [post('Transfer-Encoding: chunked\r\n', `64000\r\n${long(409600)}\r\n0\r\n\r\n`)],
  ],
  ['half a body', '', [post('Content-Length: 100\r\n')]],
  [
    'a body letter by letter',
    '200 reached 1',
    [post(`Content-Length: ${body.length}\r\n`, ''), ...body],
    { pauseMillis: 50 },
  ],
]
