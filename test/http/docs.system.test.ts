import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { Browser, chromium } from '../support/browser'
import { startSandbox } from '../support/process'

if (!chromium) console.warn('Chromium is not on the PATH; the browser tests of the docs page are skipped.')

/** Functions for the page: waiting, clicking, and checking with axe-core. */
const inPage = `${readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')}
const sleep = (millis) => new Promise((wake) => setTimeout(wake, millis))
const until = async (isDone) => { while (!isDone()) await sleep(20) }
const all = (selector) => [...document.querySelectorAll(selector)]
const click = async (selector) => {
  for (const each of all(selector)) each.click()
  await sleep(200)
}
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const faults = async () => {
  const { violations, passes } = await axe.run(document, { runOnly: rules, resultTypes: ['violations'] })
  const { scrollWidth } = document.documentElement
  return [
    ...violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join('; ')),
    ...(scrollWidth > innerWidth ? ['scrolls sideways: ' + scrollWidth] : []),
    ...(passes.some(({ id }) => id === 'color-contrast') ? [] : ['axe checked no contrast']),
  ]
}
`

const booking = '#operations-Bookings-submitBookingRequest'

describe.skipIf(!chromium)('http: the docs page in a browser', () => {
  let sandbox: Awaited<ReturnType<typeof startSandbox>>
  let browser: Browser
  let operations: string[]
  beforeAll(async () => {
    sandbox = await startSandbox()
    browser = await Browser.start()
    operations = [...(await operationsOf('openapi.json')), ...(await operationsOf('docs/sandbox.json'))]
  }, 60_000)
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
    await sandbox[Symbol.asyncDispose]()
  })

  /** The ids of a document's operations in the page. */
  async function operationsOf(path: string): Promise<string[]> {
    const { paths } = (await (await fetch(`${sandbox.report.baseUrl}/${path}`)).json()) as {
      paths: Record<string, Record<string, { operationId: string; tags: string[] }>>
    }
    return Object.values(paths)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId, tags }) => `operations-${tags[0]?.replaceAll(' ', '_')}-${operationId}`)
  }

  async function open(): Promise<void> {
    await browser.open(`${sandbox.report.baseUrl}/docs`)
    await browser.evaluate(inPage)
    await browser.evaluate(
      `until(() => all('.opblock').length === ${operations.length} && all('#tokens:not([hidden])').length > 0)`,
    )
  }

  test('shows the guide, then all operations, under its content security policy', async () => {
    await browser.show(1280, 'light')
    await open()
    const shown = await browser.evaluate<string[]>(`all('.opblock').map(({ id }) => id)`)
    expect(operations).toContain(booking.slice(1))
    expect(shown.toSorted()).toEqual(operations.toSorted())
    const first = `document.elementFromPoint(innerWidth / 2, 400).closest('article') !== null`
    expect(await browser.evaluate(first)).toBe(true)
    expect(browser.errors).toEqual([])
  }, 60_000)

  test.each([
    [1280, 'light', true],
    [1280, 'dark', false],
    [420, 'light', false],
    [420, 'dark', true],
  ] as const)(
    'has no fault that axe finds, closed and opened: %d px, %s',
    async (width, scheme, isWhole) => {
      await browser.show(width, scheme)
      await open()
      const found: Record<string, string[]> = { closed: await browser.evaluate('faults()') }
      await browser.evaluate(`click('.opblock-summary-control')`)
      found.opened = await browser.evaluate('faults()')
      const parts = isWhole ? ['.folded button', '.try-out__btn', '.tablinks:not(.active)'] : []
      for (const part of parts) await browser.evaluate(`click('${part}')`)
      if (isWhole) found.everything = await browser.evaluate('faults()')
      expect(found).toEqual({ closed: [], opened: [], ...(isWhole && { everything: [] }) })
    },
    300_000,
  )

  test('an opened booking is at most a third error responses, and each opens with a click', async () => {
    await browser.show(1280, 'light')
    await open()
    await browser.evaluate(`click('${booking} .opblock-summary-control')`)
    const [whole, folded] = await browser.evaluate<[number, number]>(`[
      all('${booking}')[0].offsetHeight,
      all('.folded').reduce((height, row) => height + row.offsetHeight, 0),
    ]`)
    expect(folded).toBeGreaterThan(0)
    expect(folded).toBeLessThan(whole / 3)
    expect(await browser.evaluate(`all('.response[data-code="409"]').length`)).toBe(0)
    await browser.evaluate(
      `all('.folded button').find(({ textContent }) => textContent.startsWith('409')).click()`,
    )
    await browser.evaluate(`until(() => all('.response[data-code="409"]').length === 1)`)
  }, 60_000)

  test('a click on a token authorizes the calls of the page', async () => {
    await open()
    await browser.evaluate(`all('#tokens input')[0].click()`)
    await browser.evaluate(`click('#operations-Directory-listProviderRegions .opblock-summary-control')`)
    await browser.evaluate(`click('.try-out__btn').then(() => click('.execute'))`)
    await browser.evaluate(`until(() => all('.live-responses-table .response-col_status').length > 0)`)
    const shown = await browser.evaluate<string>(`all('.live-responses-table')[0].textContent`)
    expect(shown).toContain('200Response body')
  }, 60_000)

  test('the guide can be read with scripts off', async () => {
    await browser.send('Emulation.setScriptExecutionDisabled', { value: true })
    await browser.open(`${sandbox.report.baseUrl}/docs`)
    const shown = await browser.evaluate<string>('document.body.innerText')
    expect(shown).toContain('Try the flow against a sandbox of your own')
    expect(shown).toContain('This list needs JavaScript')
    await browser.send('Emulation.setScriptExecutionDisabled', { value: false })
  }, 60_000)
})
