import { expect, mock, test } from 'bun:test'
import * as dns from 'node:dns/promises'
import { isPlainAddress, requireLoopback } from '../../src/http/listening/hosts'

const real = { ...dns }

test.each(['127.0.0.1', '127.8.8.8', '127.1', '::1', '::ffff:127.0.0.1', 'localhost'])(
  '%s may be listened on without HTTPS',
  async (host) => {
    expect(await requireLoopback(host)).toBeUndefined()
  },
)

test.each(['0.0.0.0', '0', '::', '::ffff:10.0.0.1', '192.0.2.1', '128.0.0.1', 'fe80::1%lo'])(
  '%s may not, and the three ways are told',
  async (host) => {
    await expect(requireLoopback(host)).rejects.toThrow(
      `--host: what is sent to ${host} without HTTPS can be read on its way; name the proxy that does HTTPS for it by --behind-proxy (ANTEROOM_BEHIND_PROXY; 127.0.0.1 for one on this machine), give it --tls-certificate and --tls-key, or listen on loopback, as --host 127.0.0.1`,
    )
  },
)

test('a name of which one address is loopback and another is not may not either', async () => {
  const both = [{ address: '127.0.0.1' }, { address: '10.0.0.1' }]
  mock.module('node:dns/promises', () => ({ ...real, lookup: async () => both }))
  await expect(requireLoopback('both.example')).rejects.toThrow('what is sent to both.example without HTTPS')
  mock.module('node:dns/promises', () => real)
})

test.each(['no-such-host.invalid', 'not a host'])('%s leads nowhere', async (host) => {
  await expect(requireLoopback(host)).rejects.toThrow(`--host: ${host} cannot be resolved to an address`)
})

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
])('that %s has tokens sent in the clear is %p', (address, isPlain) => {
  expect(isPlainAddress(address)).toBe(isPlain)
})
