import { afterAll, beforeAll, expect, test } from 'bun:test'
import document from '../../fixtures/openapi.json'
import { createApp } from '../../src/http/app'
import { startService } from '../support/service'

let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const ask = (path: string, init?: RequestInit) => fetch(`${service.baseUrl}${path}`, init)

test.each([
  ['/livez', 'live'],
  ['/livez/', 'live'],
  ['/readyz', 'ready'],
])('http: %s is answered without a token and with no-store', async (path, message) => {
  const answer = await ask(path)
  expect([answer.status, await answer.json()]).toEqual([200, { message, status: 200 }])
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const head = await ask(path, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('http: /readyz refuses POST with 405, and similar paths are 404', async () => {
  const posted = await ask('/readyz', { method: 'POST', body: '{' })
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  expect(await posted.json()).toEqual({ message: 'the path does not support this method', status: 405 })
  for (const path of [
    '/readyz/x',
    '/livez/partners/v1/user/',
    '/Readyz',
    '/healthz',
    '/partners/v1/readyz',
  ]) {
    expect([path, (await ask(path)).status]).toEqual([path, 404])
  }
})

test('http: the health checks are not in the OpenAPI document', () => {
  expect(Object.keys(document.paths).filter((path) => path.endsWith('z') || path.endsWith('z/'))).toEqual([])
})

test('http: /readyz answers 503 in the shape of all errors if the service is not ready', async () => {
  const serving = { context: service.context, baseUrl: service.baseUrl, isSandbox: true }
  const app = createApp(
    serving,
    () => 'somewhere',
    async () => false,
  )
  const answer = await app.fetch(new Request('http://localhost/readyz'))
  expect([answer.status, await answer.json()]).toEqual([503, { message: 'not ready', status: 503 }])
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect((await app.fetch(new Request('http://localhost/livez'))).status).toBe(200)
})
