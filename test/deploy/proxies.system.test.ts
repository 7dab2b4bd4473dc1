import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { isLong } from '../support/long'
import { eventually } from '../support/process'
import { attacks } from './attacks'
import { has, hostName, proxies, proxyNames, send, type TlsProxy } from './proxies'
import { type Reached, Recorder } from './recorder'

const contract = /^\/partners\/v1\/(provider-regions|providers|booking-request|user)\/?(\?[^#\\]*)?$/

/** Checks a request that a proxy forwarded. The service relies on these properties. */
function expectSafe({ target, headers, body }: Reached): void {
  const valuesOf = (name: string) => headers.filter(([each]) => each === name).map(([, value]) => value)
  expect(target).toMatch(contract)
  expect(valuesOf('x-forwarded-for')).toEqual(['127.0.0.1'])
  expect(valuesOf('x-forwarded-proto')).toEqual(['https'])
  expect(valuesOf('host')).toEqual([hostName])
  expect(valuesOf('x-request-id')).toEqual([expect.not.stringContaining('canary')])
  for (const name of ['forwarded', 'x-forwarded-host', 'x-real-ip', 'upgrade'])
    expect(valuesOf(name)).toEqual([])
  // A body has either a length or a transfer coding, never both.
  const [lengths, codings] = [valuesOf('content-length'), valuesOf('transfer-encoding')]
  expect(lengths.length + codings.length).toBe(body === '' ? 0 : 1)
  if (codings.length > 0) expect(codings).toEqual(['chunked'])
}

// These tests run only in test:long, and only if the proxy and openssl are installed.
for (const [at, name] of (isLong ? proxyNames : []).entries()) {
  describe.skipIf(!has(name) || !has('openssl'))(`deploy: the example configuration for ${name}`, () => {
    let recorder: Recorder
    let proxy: TlsProxy

    beforeAll(async () => {
      recorder = await Recorder.start()
      proxy = await proxies[name](recorder.port)
    })

    afterAll(async () => {
      await proxy[Symbol.asyncDispose]()
      recorder[Symbol.dispose]()
    })

    for (const [title, outcome, parts, options] of attacks) {
      test(`answers ${title} as expected`, async () => {
        const came = await send(proxy.httpsPort, parts, options)
        const reached = recorder.take()
        const seen = [came?.statuses.join(' '), reached.length > 0 && `reached ${reached.length}`]
        expect(seen.filter(Boolean).join(' ')).toBe(
          typeof outcome === 'string' ? outcome : (outcome[at] as string),
        )
        for (const request of reached) expectSafe(request)
      })
    }

    for (const [version, isSpoken] of [
      ['tls1_1', false],
      ['tls1_2', true],
      ['tls1_3', true],
    ] as const) {
      test(`${isSpoken ? 'accepts' : 'refuses'} ${version}`, async () => {
        const words = ['-connect', `127.0.0.1:${proxy.httpsPort}`, '-servername', hostName, `-${version}`]
        // At its default security level, openssl itself would refuse old TLS versions.
        const cipher = ['-cipher', 'DEFAULT@SECLEVEL=0']
        const child = Bun.spawn(['openssl', 's_client', ...words, ...cipher], {
          stdin: 'ignore',
          stderr: 'ignore',
        })
        expect((await child.stdout.text()).includes('Cipher is (NONE)')).toBe(!isSpoken)
      })
    }

    test('refuses a plain HTTP request, which does not reach the service', async () => {
      const url = `http://127.0.0.1:${proxy.httpPort}/partners/v1/user/?external_user_id=canary-1`
      const answer = await fetch(url, { redirect: 'manual', proxy: false } as RequestInit)
      expect(answer.status).toBe(403)
      expect(await answer.json()).toEqual({ message: 'all requests must use HTTPS', status: 403 })
      expect(recorder.take()).toEqual([])
    })

    const gone = name === 'haproxy' ? 503 : 502
    test(`answers ${gone} with the error body of the contract if the service is down`, async () => {
      const target = '/partners/v1/user/?external_user_id=canary-1'
      await using alone = await proxies[name](1)
      // HAProxy waits one second before each retry.
      const timeouts = name === 'haproxy' ? { momentMillis: 3_000 } : {}
      const came = await send(
        alone.httpsPort,
        [`GET ${target} HTTP/1.1\r\nHost: ${hostName}\r\n\r\n`],
        timeouts,
      )
      expect(came?.statuses).toEqual([gone])
      expect(came?.text).toEndWith(`{"message":"the service does not answer","status":${gone}}`)
      expect(alone.logs()).not.toContain('canary')
      const post = `POST /partners/v1/booking-request/ HTTP/1.1\r\nHost: ${hostName}\r\nContent-Length: 2\r\n\r\n{}`
      const refused = await send(alone.httpsPort, [post], timeouts)
      expect(refused?.statuses).toEqual([gone])
      for (const field of [
        /^cache-control: no-store\r$/im,
        /^x-content-type-options: nosniff\r$/im,
        /^x-request-id: [\da-f-]+\r$/im,
      ])
        expect(refused?.text).toMatch(field)
      await eventually('the refusal to be logged by its method', () =>
        new RegExp(`"method":"POST".*"status":${gone}`).test(alone.logs()),
      )
    }, 300_000)

    test('logs requests without their query strings', () => {
      expect(proxy.logs()).toContain('"status":200')
      expect(proxy.logs()).not.toMatch(/canary|country_code|external_user_id/)
    })
  })
}
