/** Whatever stands between the first line of a request and its end, in place of the one Host. */
export type HeadCase = readonly [name: string, outcome: Outcome, lines: readonly string[]]

/** What stands for a path that ends in a slash, and its query, in the request's first line. */
export type TargetCase = readonly [
  name: string,
  outcome: Outcome,
  target: (path: string, query: string) => string,
]

/**
 * What the plain request gets, what the root gets, the 404 of a path that is not there, or Bun's own refusal. Dots
 * are resolved and a backslash is a slash before a route is looked for, as the URL standard has it.
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
  ['two Hosts, the other first', 'same', ['Host: evil.example/docs', 'Host: localhost']],
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
  ['as it is', 'same', (path, query) => path + query],
  ['in absolute form', 'same', (path, query) => `http://localhost${path}${query}`],
  ['in absolute form of another host', 'same', (path, query) => `http://evil.example${path}${query}`],
  ['in absolute form with a port', 'same', (path, query) => `http://localhost:1${path}${query}`],
  ['in absolute form of another scheme', '400 bare', (path, query) => `ftp://localhost${path}${query}`],
  ['in absolute form without a host', 'same', (path, query) => `http://${path}${query}`],
  ['in absolute form behind a path', 'nothing', (path, query) => `http://localhost/docs${path}${query}`],
  ['in absolute form with a query for its path', 'root', (path) => `http://localhost?${path}`],
  ['behind an authority', 'nothing', (path, query) => `//localhost${path}${query}`],
  ['without its first slash', '400 bare', (path, query) => path.slice(1) + query],
  ['behind a slash', 'nothing', (path, query) => `/${path}${query}`],
  ['behind a dot', 'same', (path, query) => `/.${path}${query}`],
  ['behind two dots', 'same', (path, query) => `/..${path}${query}`],
  ['behind /docs/..', 'same', (path, query) => `/docs/..${path}${query}`],
  ['behind /docs', 'nothing', (path, query) => `/docs${path}${query}`],
  ['behind %2e%2e', 'same', (path, query) => `/docs/%2e%2e${path}${query}`],
  ['behind ..;', 'nothing', (path, query) => `/docs/..;${path}${query}`],
  ['behind ..%2f', 'nothing', (path, query) => `/docs/..%2f${path.slice(1)}${query}`],
  ['behind %c0%ae%c0%ae', 'nothing', (path, query) => `/docs/%c0%ae%c0%ae${path}${query}`],
  ['behind a backslash', 'same', (path, query) => `/docs\\..${path}${query}`],
  ['behind __proto__', 'nothing', (path, query) => `/__proto__${path}${query}`],
  ['with backslashes', 'same', (path, query) => `/${path.slice(1).replaceAll('/', '\\')}${query}`],
  ['with a backslash first', '400 bare', (path, query) => `\\${path.slice(1)}${query}`],
  ['with a slash encoded', 'nothing', (path, query) => `/${path.slice(1)}%2f${query}`],
  ['with a letter encoded', 'nothing', (path, query) => encode(path, 's', '%73') + query],
  ['with a letter full-width', 'nothing', (path, query) => encode(path, 's', text('ｓ')) + query],
  ['with a slash doubled', 'nothing', (path, query) => path.replace(/(?<=.)\//, '//') + query],
  ['with a dot at its end', 'same', (path, query) => `${path}.${query}`],
  ['with two dots at its end', 'same', (path, query) => `${path}x/..${query}`],
  ['with a semicolon', 'nothing', (path, query) => `${path};x${query}`],
  ['with a NUL encoded', 'nothing', (path, query) => `${path}%00${query}`],
  ['with a NUL', '505 bare', (path, query) => `${path}\0${query}`],
  ['with a line end encoded', 'nothing', (path, query) => `${path}%0d%0aX:%20y${query}`],
  ['with a bad percent sign', 'nothing', (path, query) => `${path}%zz${query}`],
  ['with .css behind it', 'nothing', (path, query) => `${path.replace(/\/$/, '')}.css${query}`],
  ['with a question mark encoded', 'nothing', (path, query) => path + query.replace('?', '%3f')],
  ['with a fragment before its query', 'nothing', (path, query) => `${path}#x${query}`],
  ['a fragment alone', '400 bare', (path) => `#${path}`],
  ['an asterisk', '400 bare', () => '*'],
  ['nothing', '400 bare', () => ''],
  ['a path of 10 kB behind it', 'nothing', (path, query) => `${path}${'a/'.repeat(5_000)}${query}`],
  ['dots, 10 kB of them, before it', 'same', (path, query) => `${'/..'.repeat(3_000)}${path}${query}`],
  ['64 kB behind it', '431 bare', (path, query) => `${path}${query}${'a'.repeat(65_536)}`],
]

export const headCases: Record<string, readonly HeadCase[]> = {
  'the Host': hosts,
  'a header that misleads': misleading,
}
