import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { isLong } from '../support/long'
import { Operator, type Served } from '../support/operator'
import type { Answer } from '../support/service'
import { has, hostName, proxies, proxyNames, send, type TlsProxy } from './proxies'

const directory = fileURLToPath(new URL('../../fixtures/directory.json', import.meta.url))

// These tests run only in test:long, and only if the proxy and openssl are installed.
for (const name of isLong ? proxyNames : []) {
  describe.skipIf(!has(name) || !has('openssl'))(`deploy: the service behind the example for ${name}`, () => {
    let operator: Operator
    let served: Served
    let proxy: TlsProxy
    let token: string

    beforeAll(async () => {
      operator = new Operator()
      await operator.do('init')
      token = await operator.onboard('Lantern', 'North Care')
      await operator.do('directory', 'load', directory, '--yes')
      served = await operator.serve('--behind-proxy', '127.0.0.1/32')
      proxy = await proxies[name](served.port)
    })

    afterAll(async () => {
      await proxy[Symbol.asyncDispose]()
      await served[Symbol.asyncDispose]()
      operator[Symbol.dispose]()
    })

    /** Sends a request over HTTPS without checking the certificate, because it is self-signed. */
    async function ask(path: string, body?: unknown): Promise<Answer> {
      const response = await fetch(`https://127.0.0.1:${proxy.httpsPort}/partners/v1/${path}`, {
        method: body ? 'POST' : 'GET',
        headers: {
          Host: hostName,
          Authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        tls: { rejectUnauthorized: false, serverName: hostName },
        proxy: false,
      } as RequestInit)
      return { status: response.status, headers: response.headers, body: await response.json() }
    }

    test('serves regions, providers, a booking and a look-up over HTTPS', async () => {
      const regions = await ask('provider-regions/?country_code=CA')
      expect(regions.status).toBe(200)
      const { id: region_id } = regions.body.find(
        (each: { stateProvinceCode: string }) => each.stateProvinceCode === 'ON',
      )
      const found = await ask(`providers/?region_id=${region_id}`)
      expect(found.status).toBe(200)
      const { providerId, availability } = found.body.results.find(
        (each: { availability: unknown[] }) => each.availability.length > 3,
      )
      const booked = await ask('booking-request/', {
        user: { external_user_id: 'm-1' },
        bookingData: { selfSchedulingProviderId: providerId, ...availability[3] },
        memberData: { email: 'robin@example.com', firstName: 'Robin', lastName: 'Sample', country: 'CA' },
        phq9Data: [],
      })
      expect({ status: booked.status, providerId: booked.body.providerId }).toEqual({
        status: 201,
        providerId,
      })
      const member = await ask('user/?external_user_id=m-1')
      expect({ status: member.status, id: member.body.externalUserId }).toEqual({ status: 200, id: 'm-1' })
      expect(proxy.logs()).not.toMatch(/m-1|robin|eyJ/)
    })

    test('answers only the first of two requests if the second is hidden in the body of a GET', async () => {
      const inside = `GET /partners/v1/user/?external_user_id=m-1 HTTP/1.1\r\nHost: ${hostName}\r\nAuthorization: Bearer ${token}\r\n\r\n`
      const outside = `GET /partners/v1/provider-regions/?country_code=CA HTTP/1.1\r\nHost: ${hostName}\r\nContent-Length: ${inside.length}\r\n\r\n`
      const came = await send(proxy.httpsPort, [outside + inside])
      expect(came?.statuses).toEqual([401])
    })

    test('rejects a body that is too large, with the error of the service instead of the proxy', async () => {
      const large = await ask('booking-request/', { filler: 'a'.repeat(290_000) })
      expect({ status: large.status, body: large.body.status }).toEqual({ status: 413, body: 413 })
      expect(large.headers.get('x-error-code')).toBe('body_too_large')
    })

    test('refuses a request that bypasses the proxy', async () => {
      const answer = await served.get('/partners/v1/provider-regions/?country_code=CA', token)
      expect(answer.status).toBe(403)
      expect(answer.headers.get('x-error-code')).toBe('https_required')
    })
  })
}
