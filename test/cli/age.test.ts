import { describe, expect, test } from 'bun:test'
import { lengthOfTime } from '../../src/cli/arguments'
import { ageText } from '../../src/cli/terminal/output'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

describe('cli: the text of an age', () => {
  test.each([
    [0, '0 min'],
    [minute - 1, '0 min'],
    [59 * minute, '59 min'],
    [hour, '1 h'],
    [2 * day - 1, '47 h'],
    [2 * day, '2 d'],
    [400 * day, '400 d'],
    // An age is negative if the system clock was set back.
    [-hour, '0 min'],
  ])('an age of %p ms is shown as %p', (age, text) => expect(ageText(1_000, 1_000 + age)).toBe(text))
})

describe('cli: reading a length of time', () => {
  test.each([
    ['90min', 90 * minute],
    ['12h', 12 * hour],
    ['3d', 3 * day],
    ['2w', 14 * day],
    ['2 w', 14 * day],
    ['0d', 0],
  ])('the length of time %p is accepted', (text, length) => expect(lengthOfTime(text)).toBe(length))

  test.each(['', '3', 'd', '-1d', '1.5h', '3D', '1y', '3m', '999999d'])(
    'the length of time %p is rejected',
    (text) => expect(() => lengthOfTime(text)).toThrow('90min, 12h, 3d or 2w'),
  )
})
