import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Folder } from '../support/folder'
import { startService } from '../support/service'

let service: Awaited<ReturnType<typeof startService>>

beforeAll(async () => {
  service = await startService()
})

afterAll(() => service.stop())

/** A GET without a token. */
function get(path: string) {
  return fetch(`${service.baseUrl}${path}`, { redirect: 'manual' })
}

/** The addresses that a page refers to. */
function referencesIn(html: string): string[] {
  return Array.from(html.matchAll(/(?:href|src)="([^"]*)"/g), ([, reference = '']) => reference)
}

describe('the page', () => {
  test.each([
    ['/docs', 'text/html; charset=utf-8'],
    ['/docs/', 'text/html; charset=utf-8'],
    ['/docs/start.js', 'text/javascript; charset=utf-8'],
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

  test.each(['/docs', '/docs/'])('finds its files, whatever stands before %s in public', async (path) => {
    const references = referencesIn(await (await get(path)).text())
    expect(references).toHaveLength(4)
    for (const reference of references) {
      const { pathname, search } = new URL(reference, `https://public.test/some/prefix${path}`)
      expect(pathname).toStartWith('/some/prefix/docs/')
      expect((await get(pathname.replace('/some/prefix', '') + search)).status).toBe(200)
    }
  })

  test('refers to no other origin, and its policy allows none', async () => {
    const answer = await get('/docs')
    expect(await answer.text()).not.toContain('//')
    expect(await (await get('/docs/start.js')).text()).not.toContain('//')
    const policy = (answer.headers.get('content-security-policy') ?? '').split('; ')
    expect(policy).toContain("default-src 'none'")
    for (const directive of policy) {
      expect(directive).toMatch(/^[a-z-]+ ('self'|'none')( data:)?$/)
    }
    expect(policy).toContain("script-src 'self'")
  })

  test('does not remember tokens and asks no validator', async () => {
    const script = await (await get('/docs/start.js')).text()
    expect(script).toContain('persistAuthorization: false')
    expect(script).toContain('validatorUrl: null')
  })

  test.each(['/docs/index.html', '/swagger', '/swagger/json', '/page', '/document', '/openapi'])(
    'and the document are at no other path: %s is 404',
    async (path) => {
      expect((await get(path)).status).toBe(404)
    },
  )
})

const chromium = Bun.which('chromium')
if (!chromium) console.warn('No chromium on the PATH: the page is not tried in a browser.')

test.skipIf(!chromium)(
  'the page shows all four operations in a browser, and nothing of it is refused by its policy',
  async () => {
    using profile = new Folder()
    const browser = Bun.spawn(
      [
        chromium as string,
        ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
        ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
        ...['--enable-logging=stderr', `--user-data-dir=${profile.path}`],
        ...['--virtual-time-budget=10000', '--dump-dom', `${service.baseUrl}/docs`],
      ],
      { stderr: 'pipe', timeout: 50_000 },
    )
    const [dom, log] = await Promise.all([browser.stdout.text(), browser.stderr.text()])
    const shown = Array.from(dom.matchAll(/class="opblock [^"]*" id="([^"]+)"/g), ([, id]) => id)
    expect(shown, log).toEqual([
      'operations-Directory-listProviderRegions',
      'operations-Directory-searchProviders',
      'operations-Bookings-submitBookingRequest',
      'operations-Members-lookUpMember',
    ])
    expect(log).not.toContain('Content Security Policy')
  },
  60_000,
)
