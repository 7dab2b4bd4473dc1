import { expect, test } from 'bun:test'
import { newAuthorizationNumber, slotMillis } from '../../src/domain/booking-request'

const numbers = Array.from({ length: 2_000 }, newAuthorizationNumber)

test('an authorization number is three groups of four symbols that no ear and no eye mistakes', () => {
  for (const number of numbers) expect(number).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/)
})

test('authorization numbers use their whole alphabet of 32 symbols and none comes twice', () => {
  expect(new Set(numbers.join('').replaceAll('-', '')).size).toBe(32)
  expect(new Set(numbers).size).toBe(numbers.length)
})

test('a slot lasts 45 minutes', () => {
  expect(slotMillis).toBe(45 * 60 * 1000)
})
