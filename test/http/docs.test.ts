import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createApp } from '../../src/http/app'
import { errorCodes } from '../../src/http/errors'
import { startService } from '../support/service'

let service: Awaited<ReturnType<typeof startService>>

beforeAll(async () => {
  service = await startService()
})

afterAll(() => service.stop())

function get(path: string) {
  return fetch(`${service.baseUrl}${path}`, { redirect: 'manual' })
}

/** The URLs that a page refers to. */
function referencesIn(html: string): string[] {
  return Array.from(html.matchAll(/(?:href|src)="([^"#]+)"/g), ([, reference = '']) => reference)
}

interface Shown {
  readonly spec: unknown
  readonly supportedSubmitMethods: readonly string[]
}

/** Runs the page's start script as if the browser had loaded it from `address`. Returns the options of Swagger UI. */
async function runStartScript(address: string, ask: typeof get = get) {
  const asked: string[] = []
  const { promise, resolve } = Promise.withResolvers<Shown>()
  const document = { currentScript: { src: address }, getElementById: () => null }
  const load = async (url: URL) => {
    asked.push(url.href)
    return { json: async () => ({ servers: [{ url: 'https://elsewhere.test' }], paths: {} }) }
  }
  const observer = class {
    observe() {}
  }
  const names = ['document', 'fetch', 'MutationObserver', 'SwaggerUIBundle']
  // Swagger UI never finishes here, so the script does not show tokens.
  const ui = (options: Shown) => {
    resolve(options)
    return new Promise(() => {})
  }
  new Function(...names, await (await ask('/docs/start.js')).text())(document, load, observer, ui)
  return { options: await promise, asked }
}

/** A service outside the sandbox, with the sandbox's data. */
function inProduction(address: () => string = () => 'somewhere') {
  const serving = { context: service.context, baseUrl: 'http://localhost', isSandbox: false }
  const app = createApp(serving, address)
  return async (path: string) => app.fetch(new Request(`http://localhost${path}`))
}

describe('http: the docs page', () => {
  test.each([
    ['/docs', 'text/html; charset=utf-8'],
    ['/docs/', 'text/html; charset=utf-8'],
    ['/docs/start.js', 'text/javascript; charset=utf-8'],
    ['/docs/page.css', 'text/css; charset=utf-8'],
    ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
    ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['/docs/swagger-ui-bundle.js.LICENSE.txt', 'text/plain; charset=utf-8'],
    ['/docs/favicon-32x32.png', 'image/png'],
    ['/docs/LICENSE', 'text/plain; charset=utf-8'],
    ['/docs/NOTICE', 'text/plain; charset=utf-8'],
  ])('is served without a token and without cookies: %s', async (path, type) => {
    const answer = await get(path)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe(type)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('cache-control')).toMatch(/^no-cache$|^public, max-age=\d+, immutable$/)
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect((await answer.bytes()).length).toBeGreaterThan(0)
  })

  test.each(['/docs', '/docs/'])('finds its files under any public path prefix: %s', async (path) => {
    const references = referencesIn(await (await get(path)).text())
    expect(references).toHaveLength(6)
    for (const reference of references) {
      const { pathname, search } = new URL(reference, `https://public.test/some/prefix${path}`)
      expect(pathname).toMatch(/^[/]some[/]prefix[/](docs[/]|openapi.json$)/)
      expect((await get(pathname.replace('/some/prefix', '') + search)).status).toBe(200)
    }
  })

  test('refers to no other origin, and the policy allows no other origin', async () => {
    const answer = await get('/docs')
    expect(referencesIn(await answer.text()).filter((reference) => reference.includes('//'))).toEqual([])
    expect(await (await get('/docs/start.js')).text()).not.toContain('://')
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
  })

  test('does not store tokens and uses no validator', async () => {
    const script = await (await get('/docs/start.js')).text()
    expect(script).toContain('persistAuthorization: false')
    expect(script).toContain('validatorUrl: null')
  })

  test("sends calls to the page's origin, not to the servers in the document", async () => {
    for (const from of [service.baseUrl, 'http://127.0.0.1:8080', 'https://public.test/some/prefix']) {
      const { options, asked } = await runStartScript(`${from}/docs/start.js`)
      expect(asked).toEqual([`${from}/openapi.json`, `${from}/docs/sandbox.json`])
      expect(options.spec).toEqual({ servers: [{ url: from }], paths: {} })
    }
  })

  test('offers calls and tokens only in a sandbox', async () => {
    const production = inProduction()
    const methodsIn = async (ask: typeof get) =>
      (await runStartScript(`${service.baseUrl}/docs/start.js`, ask)).options.supportedSubmitMethods
    expect([await methodsIn(get), await methodsIn(production)]).toEqual([['get', 'post'], []])
    const offered = await get('/docs/tokens.json')
    expect([offered.headers.get('content-type'), await offered.json()]).toEqual([
      'application/json',
      [expect.objectContaining({ state: 'active', token: service.partner.token })],
    ])
    for (const path of ['/docs/tokens.json', '/docs/sandbox.json', '/sandbox/v1/', '/sandbox/v1/clock'])
      expect((await production(path)).status).toBe(404)
    expect(await (await production('/docs/start.js')).text()).not.toMatch(/tokens|sandbox/)
  })

  test('contains the guide, the operations and the error codes, in this order, and links only to itself', async () => {
    const html = await (await get('/docs')).text()
    const ids = Array.from(html.matchAll(/<h[1-6] id="([^"]*)"/g), ([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.slice(0, 2)).toEqual(['the-partner-api-guide', 'the-flow'])
    expect(ids.slice(-2)).toEqual(['operations', 'error-codes'])
    const linked = Array.from(html.matchAll(/href="#([^"]*)"/g), ([, id]) => id)
    expect(linked.filter((id) => !ids.includes(id))).toEqual([])
    const [, table = ''] = html.split('id="error-codes"')
    const codes = Array.from(table.matchAll(/<tr><td><code>(\w+)<.code>/g), ([, code]) => code)
    expect(codes).toEqual(Object.keys(errorCodes))
    expect(html).not.toContain('.md')
  })

  test('has a viewport and colors for phones and dark mode', async () => {
    expect(await (await get('/docs')).text()).toContain('name="viewport" content="width=device-width')
    const styles = await (await get('/docs/page.css')).text()
    expect(styles).toContain('@media (prefers-color-scheme: dark)')
    expect(styles).toContain('@media (max-width: 40rem)')
  })

  test('is the target of / in a sandbox, and / is 404 in production', async () => {
    const answer = await get('/')
    expect([answer.status, answer.headers.get('location')]).toEqual([302, 'docs'])
    expect((await inProduction()('/')).status).toBe(404)
  })

  test.each<[path: string, type: string, smallest: number]>([
    ['/openapi.json', 'application/json', 50_000],
    ['/docs', 'text/html; charset=utf-8', 20_000],
    ['/docs/swagger-ui.css', 'text/css; charset=utf-8', 100_000],
    ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8', 1_000_000],
  ])('is sent compressed if the client accepts gzip: %s', async (path, type, smallest) => {
    const ask = async (encoding: string) => {
      const headers = { 'Accept-Encoding': encoding }
      const answer = await fetch(service.baseUrl + path, { headers, decompress: false } as RequestInit)
      const sent = ['content-type', 'content-encoding', 'vary'].map((name) => answer.headers.get(name))
      return { sent, bytes: await answer.bytes() }
    }
    const plain = await ask('gzip;q=0')
    const gzipped = await ask('br, gzip;q=0.5')
    expect(plain.sent).toEqual([type, null, 'Accept-Encoding'])
    expect(gzipped.sent).toEqual([type, 'gzip', 'Accept-Encoding'])
    expect(plain.bytes.length).toBeGreaterThan(smallest)
    expect(gzipped.bytes.length).toBeLessThan(plain.bytes.length * 0.7)
    expect(Bun.gunzipSync(Buffer.from(gzipped.bytes))).toEqual(new Uint8Array(plain.bytes))
    expect((await ask('gzip')).bytes).toEqual(gzipped.bytes)
  })

  test('is 404 with noDocs, and the API is still served', async () => {
    const bare = await startService({ noDocs: true })
    for (const path of [
      '/docs',
      '/docs/',
      '/docs/start.js',
      '/docs/swagger-ui-bundle.js',
      '/openapi.json',
      '/',
    ]) {
      expect([path, (await bare.send(path)).status]).toEqual([path, 404])
    }
    expect((await bare.get('/partners/v1/provider-regions/?country_code=CA')).status).toBe(200)
    await bare.stop()
  })

  test('is 429 in production for an address with too many requests', async () => {
    let address = '192.0.2.1'
    const ask = inProduction(() => address)
    const rateOf = ({ headers }: Response) => [headers.get('ratelimit-policy'), headers.get('ratelimit')]
    for (let call = 0; call < 300; call++) {
      const within = await ask('/docs')
      // The RateLimit headers are sent only once the budget of the address is used up.
      expect([within.status, ...rateOf(within)]).toEqual([200, null, null])
      expect((await ask('/docs/page.css')).status).toBe(200)
    }
    for (const path of ['/docs', '/docs/swagger-ui-bundle.js', '/openapi.json']) {
      const answer = await ask(path)
      expect([answer.status, await answer.json()]).toEqual([
        429,
        { message: 'the rate limit is exceeded; try again after Retry-After seconds', status: 429 },
      ])
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(rateOf(answer)).toEqual(['"documents";q=600;w=60', '"documents";r=0;t=1'])
    }
    address = '192.0.2.2'
    expect((await ask('/docs')).status).toBe(200)
  })

  test('has no rate limit in a sandbox', async () => {
    for (let call = 0; call < 700; call++) expect((await get('/docs/page.css')).status).toBe(200)
  })

  test.each(['/docs/index.html', '/swagger', '/swagger/json', '/page', '/document', '/openapi'])(
    'is served at one path only: %s is 404',
    async (path) => {
      expect((await get(path)).status).toBe(404)
    },
  )
})
