import { expect, test } from 'bun:test'
import { isCountryCode, regionRef } from '../../src/domain/region'

test('domain: the reference of a region is country and code, or only the country if it is country-wide', () => {
  expect(regionRef({ countryCode: 'CA', code: 'ON' })).toBe('CA-ON')
  expect(regionRef({ countryCode: 'US', code: 'CA' })).toBe('US-CA')
  expect(regionRef({ countryCode: 'GB', code: 'GB' })).toBe('GB')
})

test.each(['CA', 'ca', 'Gb', 'US', 'NZ'])('domain: %s is an assigned country code', (code) => {
  expect(isCountryCode(code)).toBe(true)
})

test.each(['', 'C', 'CAN', 'ZZ', 'XX', 'UK', 'EU', 'C1', ' CA', 'CA ', 'C\u00c0', 'toString', '__'])(
  'domain: %j is not an assigned country code',
  (code) => {
    expect(isCountryCode(code)).toBe(false)
  },
)
