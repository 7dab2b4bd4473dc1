import { expect, test } from 'bun:test'
import { isCountryCode, regionRef } from '../../src/domain/region'

test('a region is referred to by country and code, a country-wide one by its country', () => {
  expect(regionRef({ countryCode: 'CA', code: 'ON' })).toBe('CA-ON')
  expect(regionRef({ countryCode: 'US', code: 'CA' })).toBe('US-CA')
  expect(regionRef({ countryCode: 'GB', code: 'GB' })).toBe('GB')
})

test.each(['CA', 'ca', 'Gb', 'US', 'NZ'])('%s is assigned to a country', (code) => {
  expect(isCountryCode(code)).toBe(true)
})

test.each(['', 'C', 'CAN', 'ZZ', 'XX', 'UK', 'EU', 'C1', ' CA', 'CA ', 'C\u00c0', 'toString', '__'])(
  '%j is not',
  (code) => {
    expect(isCountryCode(code)).toBe(false)
  },
)
