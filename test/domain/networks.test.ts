import { expect, test } from 'bun:test'
import { callerNetworkFault, isWithin, parseNetworks } from '../../src/domain/addresses'
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

test.each(words`10.0.0.0/8 192.0.2.7/32 192.0.2.128/25 2001:db8::/32 2001:db8:0:8000::/49 ::1/128`)(
  'domain: %p is a network that a partner may call from',
  (text) => {
    expect(callerNetworkFault(text)).toBeNull()
  },
)

test.each(words`banana 192.0.2.7 10.0.0.0/33 0.0.0.0/0 10.0.0.0/8,10.1.0.0/16 10.0.0.0/8/8 fe80::1%eth0/128`)(
  'domain: %p is no network in CIDR notation',
  (text) => {
    expect(callerNetworkFault(text)).toBe('must look like 203.0.113.0/24, 203.0.113.7/32 or 2001:db8::/32')
  },
)

test.each(words`10.0.0.1/8 192.0.2.64/25 2001:db8::1/32 2001:db8:0:4000::/49`)(
  'domain: %p has host bits',
  (text) => {
    expect(callerNetworkFault(text)).toBe('must be the first address of its network, without host bits')
  },
)

test.each([
  [null, 'unknown', true],
  ['10.0.0.0/8,2001:db8::/32', '10.9.9.9', true],
  ['10.0.0.0/8,2001:db8::/32', '::ffff:10.9.9.9', true],
  ['10.0.0.0/8,2001:db8::/32', '2001:db8:7::1', true],
  ['10.0.0.0/8,2001:db8::/32', '11.0.0.1', false],
  ['10.0.0.0/8', 'unknown', false],
  ['an unreadable list', '10.0.0.1', false],
] as const)('domain: calls accepted from %p include %p: %p', (networks, address, expected) => {
  expect(isWithin(networks, address)).toBe(expected)
})
