import { expect, test } from 'bun:test'
import { parseNetworks } from '../../src/domain/addresses'
import { words } from '../support/words'

const includes = (text: string, address: string) => {
  const networks = parseNetworks(text)
  return typeof networks === 'string' ? networks : networks.include(address)
}

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['192.0.2.7', '::ffff:192.0.2.7'],
  ['192.0.2.7', '::ffff:c000:207'],
  ['10.1.2.3/8', '10.255.0.1'],
  ['198.51.100.0/24, 10.0.0.0/8', '10.0.0.1'],
  ['2001:db8::1', '2001:0db8:0::1'],
  ['2001:db8::/32', '2001:db8:ffff::7'],
  ['::1', '::1'],
])('domain: the networks %s include %s', (networks, address) => {
  expect(includes(networks, address)).toBe(true)
})

test.each([
  ['192.0.2.7', '192.0.2.8'],
  ['10.0.0.0/8', '11.0.0.1'],
  ['2001:db8::/32', '2001:db9::1'],
  ['10.0.0.0/8', 'fe80::1%eth0'],
  ['10.0.0.0/8', 'unknown'],
])('domain: the networks %s do not include %s', (networks, address) => {
  expect(includes(networks, address)).toBe(false)
})

test.each([
  '',
  ...words`10.0.0.0/8, 10.0.0 010.0.0.1 10.0.0.0/33 10.0.0.0/ 10.0.0.0/08 10.0.0.0/8/8 10.0.0.0/255.0.0.0 0.0.0.0/0
    ::/0 2001:db8::/129 fe80::1%eth0 proxy.example`,
])('domain: %p is not a valid list of networks', (text) => {
  expect(parseNetworks(text)).toBe(
    'must be addresses or networks separated by commas, such as 10.0.0.7,2001:db8::/32; names, ports and /0 are not allowed',
  )
})
