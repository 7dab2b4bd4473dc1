/** A request that has the given header lines instead of a Host header. */
export type HeadCase = readonly [name: string, outcome: Outcome, lines: readonly string[]]

/** A request target, built from a path that ends in a slash and a query. */
export type TargetCase = readonly [
  name: string,
  outcome: Outcome,
  target: (path: string, query: string) => string,
]

/**
 * The expected response. `same`, `root` and `nothing` are the responses to the plain request, to the root path and to
 * an unknown path. A `bare` response has no body and comes from Bun. Before routing, dots in a path are resolved and
 * backslashes become slashes (URL standard).
 */
export type Outcome = 'same' | 'root' | 'nothing' | '400 bare' | '431 bare' | '505 bare'

const text = (word: string) => Buffer.from(word).toString('latin1')
const host = (value: string, outcome: Outcome = 'same'): HeadCase => [
  `Host: ${JSON.stringify(value).slice(0, 40)}`,
  outcome,
  [`Host: ${value}`],
]

const hosts: HeadCase[] = [
  ['no Host', '400 bare', []],
  ...[
    '',
    'x',
    'localhost',
    '.',
    'evil.example',
    'localhost:0',
    'localhost:port',
    'user:password@localhost',
    'localhost/docs',
    'localhost/openapi.json?',
    'localhost/..',
    'localhost?x',
    'localhost\\docs',
    'localhost, evil.example',
    'a b',
    '[',
    '[::1]',
    '0x7f000001',
    '/',
    'http://localhost',
    'xn--80ak6aa92e',
    text('пример'),
    text('ｌｏｃａｌｈｏｓｔ'),
    '\xc0\xaf',
    'a'.repeat(300),
    'a.'.repeat(4_000),
  ].map((value) => host(value)),
  host('a\0b', '400 bare'),
  host(`${'a'.repeat(65_536)}`, '431 bare'),
  ['two Hosts', 'same', ['Host: localhost', 'Host: evil.example']],
  ['two Hosts, the wrong one first', 'same', ['Host: evil.example/docs', 'Host: localhost']],
]

const local = 'Host: localhost'
const elsewhere = '/partners/v1/user/?external_user_id=looked-up'

const misleading: HeadCase[] = [
  'X-Forwarded-Host: evil.example',
  'X-Forwarded-Server: evil.example',
  'X-Forwarded-Proto: javascript',
  'X-Forwarded-Port: 1',
  'X-Forwarded-Prefix: /evil',
  'X-Forwarded-Path: /evil',
  'X-Forwarded-For: 127.0.0.1',
  'X-Forwarded-Uri: /docs',
  'Forwarded: for=127.0.0.1;host=evil.example;proto=ftp',
  'X-Host: evil.example',
  'X-Real-IP: 127.0.0.1',
  'X-Custom-IP-Authorization: 127.0.0.1',
  `X-Original-URL: ${elsewhere}`,
  `X-Rewrite-URL: ${elsewhere}`,
  `X-Envoy-Original-Path: ${elsewhere}`,
  'X-Original-Host: evil.example',
  'X-HTTP-Method-Override: DELETE',
  'X-HTTP-Method: DELETE',
  'X-Method-Override: DELETE',
  'Origin: https://evil.example',
  'Referer: https://evil.example/docs',
  'Base-Url: https://evil.example',
  'Via: 1.1 evil.example',
  'X-Authenticated-User: operator',
  'X-Remote-User: operator',
  'X-Partner-Id: 1',
].map((line): HeadCase => [line, 'same', [local, line]])

const encode = (path: string, letter: string, as: string) => path.replace(letter, as)

export const targetCases: readonly TargetCase[] = [
  ['unchanged', 'same', (path, query) => path + query],
  ['in absolute form', 'same', (path, query) => `http://localhost${path}${query}`],
  ['in absolute form with another host', 'same', (path, query) => `http://evil.example${path}${query}`],
  ['in absolute form with a port', 'same', (path, query) => `http://localhost:1${path}${query}`],
  ['in absolute form with another scheme', '400 bare', (path, query) => `ftp://localhost${path}${query}`],
  ['in absolute form without a host', 'same', (path, query) => `http://${path}${query}`],
  ['in absolute form after a path', 'nothing', (path, query) => `http://localhost/docs${path}${query}`],
  ['in absolute form with a query instead of a path', 'root', (path) => `http://localhost?${path}`],
  ['after an authority', 'nothing', (path, query) => `//localhost${path}${query}`],
  ['without its first slash', '400 bare', (path, query) => path.slice(1) + query],
  ['after a slash', 'nothing', (path, query) => `/${path}${query}`],
  ['after a dot', 'same', (path, query) => `/.${path}${query}`],
  ['after two dots', 'same', (path, query) => `/..${path}${query}`],
  ['after /docs/..', 'same', (path, query) => `/docs/..${path}${query}`],
  ['after /docs', 'nothing', (path, query) => `/docs${path}${query}`],
  ['after %2e%2e', 'same', (path, query) => `/docs/%2e%2e${path}${query}`],
  ['after ..;', 'nothing', (path, query) => `/docs/..;${path}${query}`],
  ['after ..%2f', 'nothing', (path, query) => `/docs/..%2f${path.slice(1)}${query}`],
  ['after %c0%ae%c0%ae', 'nothing', (path, query) => `/docs/%c0%ae%c0%ae${path}${query}`],
  ['after a backslash', 'same', (path, query) => `/docs\\..${path}${query}`],
  ['after __proto__', 'nothing', (path, query) => `/__proto__${path}${query}`],
  ['with backslashes', 'same', (path, query) => `/${path.slice(1).replaceAll('/', '\\')}${query}`],
  ['with a backslash first', '400 bare', (path, query) => `\\${path.slice(1)}${query}`],
  ['with an encoded slash', 'nothing', (path, query) => `/${path.slice(1)}%2f${query}`],
  ['with an encoded letter', 'nothing', (path, query) => encode(path, 's', '%73') + query],
  ['with a full-width letter', 'nothing', (path, query) => encode(path, 's', text('ｓ')) + query],
  ['with a doubled slash', 'nothing', (path, query) => path.replace(/(?<=.)\//, '//') + query],
  ['with a dot at its end', 'same', (path, query) => `${path}.${query}`],
  ['with two dots at its end', 'same', (path, query) => `${path}x/..${query}`],
  ['with a semicolon', 'nothing', (path, query) => `${path};x${query}`],
  ['with an encoded NUL', 'nothing', (path, query) => `${path}%00${query}`],
  ['with a NUL', '505 bare', (path, query) => `${path}\0${query}`],
  ['with an encoded line end', 'nothing', (path, query) => `${path}%0d%0aX:%20y${query}`],
  ['with a bad percent sign', 'nothing', (path, query) => `${path}%zz${query}`],
  ['with .css appended', 'nothing', (path, query) => `${path.replace(/\/$/, '')}.css${query}`],
  ['with an encoded question mark', 'nothing', (path, query) => path + query.replace('?', '%3f')],
  ['with a fragment before its query', 'nothing', (path, query) => `${path}#x${query}`],
  ['only a fragment', '400 bare', (path) => `#${path}`],
  ['an asterisk', '400 bare', () => '*'],
  ['empty', '400 bare', () => ''],
  ['with a path of 10 kB appended', 'nothing', (path, query) => `${path}${'a/'.repeat(5_000)}${query}`],
  ['after 10 kB of dots', 'same', (path, query) => `${'/..'.repeat(3_000)}${path}${query}`],
  ['with 64 kB appended', '431 bare', (path, query) => `${path}${query}${'a'.repeat(65_536)}`],
]

export const headCases: Record<string, readonly HeadCase[]> = {
  'Host headers': hosts,
  'misleading headers': misleading,
}
