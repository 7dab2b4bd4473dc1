import { expect, test } from 'bun:test'
import { Folder } from '../support/folder'
import { startService } from '../support/service'

const chromium = Bun.which('chromium')
if (!chromium) console.warn('Chromium is not on the PATH; the browser test of the docs page is skipped.')

test.skipIf(!chromium)(
  'http: the docs page shows all four operations in a browser under its content security policy',
  async () => {
    const service = await startService()
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
    await service.stop()
  },
  60_000,
)
