import { expect, mock, test } from 'bun:test'
import * as dns from 'node:dns/promises'
import { isPlainAddress, requireLoopback } from '../../src/http/listening/hosts'

const real = { ...dns }

test.each(['127.0.0.1', '127.8.8.8', '127.1', '::1', '::ffff:127.0.0.1', 'localhost'])(
  'http: listening on %s without HTTPS is allowed',
  async (host) => {
    expect(await requireLoopback(host)).toBeUndefined()
  },
)

test.each(['0.0.0.0', '0', '::', '::ffff:10.0.0.1', '192.0.2.1', '128.0.0.1', 'fe80::1%lo'])(
  'http: listening on %s without HTTPS is refused, and the error lists the three alternatives',
  async (host) => {
    await expect(requireLoopback(host)).rejects.toThrow(
      `--host: without HTTPS, requests to ${host} cross the network unencrypted; put it behind an HTTPS proxy and set --behind-proxy (ANTEROOM_BEHIND_PROXY) to its address (127.0.0.1 if it is on this machine), set --tls-certificate and --tls-key, or listen on loopback with --host 127.0.0.1`,
    )
  },
)

test('http: refuses to listen without HTTPS on a host name that has a loopback and another address', async () => {
  const both = [{ address: '127.0.0.1' }, { address: '10.0.0.1' }]
  mock.module('node:dns/promises', () => ({ ...real, lookup: async () => both }))
  await expect(requireLoopback('both.example')).rejects.toThrow(
    'without HTTPS, requests to both.example cross',
  )
  mock.module('node:dns/promises', () => real)
})

test.each(['no-such-host.invalid', 'not a host'])(
  'http: listening on %s is refused because it cannot be resolved',
  async (host) => {
    await expect(requireLoopback(host)).rejects.toThrow(`--host: ${host} cannot be resolved to an address`)
  },
)

test.each([
  ['http://api.example', true],
  ['http://10.0.0.1:8080', true],
  ['http://localhost.example', true],
  ['http://notlocalhost', true],
  ['https://api.example', false],
  ['http://localhost:8080/x', false],
  ['http://api.localhost', false],
  ['http://127.0.0.9', false],
  ['http://[::1]:1', false],
])('http: tokens sent to %s travel unencrypted: %p', (address, isPlain) => {
  expect(isPlainAddress(address)).toBe(isPlain)
})
