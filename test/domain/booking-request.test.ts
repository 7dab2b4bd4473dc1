import { expect, test } from 'bun:test'
import { newAuthorizationNumber, slotMillis } from '../../src/domain/booking-request'

const numbers = Array.from({ length: 2_000 }, newAuthorizationNumber)

test('domain: an authorization number is three groups of four unambiguous characters', () => {
  for (const number of numbers) expect(number).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/)
})

test('domain: authorization numbers use all 32 characters and do not repeat', () => {
  expect(new Set(numbers.join('').replaceAll('-', '')).size).toBe(32)
  expect(new Set(numbers).size).toBe(numbers.length)
})

test('domain: a slot lasts 45 minutes', () => {
  expect(slotMillis).toBe(45 * 60 * 1000)
})
