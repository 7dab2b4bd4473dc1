import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:tls'
import { perMinute, unlimited } from '../../src/domain/limits'
import { systemClock } from '../../src/domain/ports/time'
import { askServer } from '../../src/http/listening/hosts'
import { openService, readCertificate, type Service } from '../../src/service'
import { makeCertificate } from '../support/certificates'
import { Folder } from '../support/folder'
import { startService } from '../support/service'

const folder = new Folder()
let service: Service
let server: Awaited<ReturnType<Service['listen']>>

beforeAll(async () => {
  const files = makeCertificate(folder, 'own')
  const database = folder.file('a.sqlite')
  service = await openService({
    purpose: 'sandbox',
    database,
    masterKey: { file: `${database}.key` },
    create: true,
    clock: systemClock,
    report: () => {},
  })
  const certificate = readCertificate({ ...files, isCredential: false }, systemClock.now())
  server = await service.listen({ host: '127.0.0.1', port: 0, certificate })
})

afterAll(async () => {
  await server.stop()
  await service.close()
  folder[Symbol.dispose]()
})

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${server.baseUrl}${path}`, { ...init, tls: { rejectUnauthorized: false } } as RequestInit)

const noteOf = (isSecure: boolean) => ({
  host: '127.0.0.1',
  port: server.port,
  isSecure,
  version: '1',
  startedAt: 0,
})

test.each<[string, RequestInit, number]>([
  ['/livez', {}, 200],
  ['/openapi.json', {}, 200],
  ['/docs', { method: 'HEAD' }, 200],
  ['/partners/v1/providers/', {}, 401],
  ['/partners/v1/booking-request', { method: 'POST', body: '{' }, 401],
  ['/nothing', {}, 404],
])(
  'contract: over TLS %s has a Strict-Transport-Security header for one year',
  async (path, init, status) => {
    const response = await ask(path, init)
    expect([response.status, response.headers.get('strict-transport-security')]).toEqual([
      status,
      'max-age=31536000',
    ])
  },
)

test('contract: without TLS no response has a Strict-Transport-Security header', async () => {
  const plain = await startService()
  for (const path of ['/livez', '/openapi.json', '/partners/v1/providers/', '/nothing']) {
    const { headers } = await fetch(`${plain.baseUrl}${path}`)
    expect([path, headers.get('strict-transport-security')]).toEqual([path, null])
  }
  await plain.stop()
})

test('contract: over TLS the default base URL begins with https', async () => {
  expect(server.baseUrl).toBe(`https://127.0.0.1:${server.port}`)
})

test.each(['x', 'ab', 'abc', 'api.example', '', '[::1]', 'x/livez?'])(
  'contract: over TLS a Host header of %p does not change which path is served',
  async (host) => {
    const statuses = await Promise.all(
      ['/livez', '/livez/partners/v1/user/', '/partners/v1/providers/'].map((path) => statusOf(path, host)),
    )
    expect(statuses).toEqual([200, 404, 401])
  },
)

test.each(['TLSv1.1', 'TLSv1'] as const)(
  'contract: the server refuses a handshake with %s',
  async (version) => {
    await expect(statusOf('/livez', 'abc', version)).rejects.toThrow()
    expect(await statusOf('/livez', 'abc', 'TLSv1.2')).toBe(200)
  },
)

test('contract: operator commands reach a TLS server only if the database records the use of TLS', async () => {
  expect(await askServer(noteOf(true))).toBe('up')
  expect(await askServer(noteOf(false))).toBe('silent')
})

test('contract: a limit that is set while the TLS server runs applies to the next request', async () => {
  const refused = async () => (await ask('/partners/v1/providers/')).status
  service.setLimits({ ...unlimited, failedAuthentications: perMinute(1) })
  expect([await refused(), await refused()]).toEqual([401, 429])
  service.setLimits(unlimited)
  expect(await refused()).toBe(401)
})

/** Sends a request with the given Host header and returns the response's status. */
function statusOf(path: string, host: string, version?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2'): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const versions = version && { minVersion: version, maxVersion: version }
  const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false, ...versions })
  let received = ''
  socket.on('secureConnect', () =>
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
  )
  socket.on('data', (bytes) => {
    received += bytes
    resolve(Number(received.split(' ')[1]))
  })
  socket.on('error', reject)
  socket.on('close', () => reject(new Error('closed')))
  return promise
}
