import { describe, expect, test } from 'bun:test'
import { foldEmail, isEmail, isPastDate, isPhoneNumber, matcherOf } from '../../src/domain/member'
import { words } from '../support/words'
import { member, profile } from './values'

describe('domain: isEmail', () => {
  test.each([
    'robin@example.com',
    'ROBIN@EXAMPLE.COM',
    'robin.sample+tag@sub.example.co.uk',
    "o'hara@example.ie",
    "!#$%&'*+/=?^_`{|}~-@example.com",
    'a@b.co',
    'robin@xn--bcher-kva.example',
    'robin@example.museum',
    `${'a'.repeat(64)}@example.com`,
    `robin@${'a'.repeat(63)}.com`,
    'robin@1and1.com',
  ])('accepts %s', (text) => {
    expect(isEmail(text)).toBe(true)
  })

  test.each([
    '',
    ...words`robin robin@ @example.com robin@example robin@@example.com robin@example..com robin@.example.com
      robin@example.com. .robin@example.com robin.@example.com ro..bin@example.com`,
    'ro bin@example.com',
    ' robin@example.com',
    'robin@example.com ',
    'robin@example.com\n',
    'robin@-example.com',
    'robin@example-.com',
    'robin@exa_mple.com',
    'Robin <robin@example.com>',
    'robin@example.com,kim@example.com',
    'robin@[127.0.0.1]',
    `${'a'.repeat(65)}@example.com`,
    `robin@${'a'.repeat(64)}.com`,
  ])('rejects %j', (text) => {
    expect(isEmail(text)).toBe(false)
  })
})

test('domain: foldEmail returns the same text for addresses that differ only in case', () => {
  expect(foldEmail('Robin.SAMPLE@Example.com')).toBe(foldEmail('robin.sample@example.COM'))
  expect(foldEmail('robin.sample@example.com')).not.toBe(foldEmail('robinsample@example.com'))
  expect(foldEmail('Rene\u0301e@example.com')).toBe(foldEmail('ren\u00c9e@example.com'))
})

describe('domain: isPhoneNumber', () => {
  test.each([
    '+1234567',
    '+123456789012345',
    '+1 (416) 555-0100',
    '+1.416.555.0100',
    '+44 20 7946 0000',
    '+1 - 4165550100',
  ])('accepts %s', (text) => {
    expect(isPhoneNumber(text)).toBe(true)
  })

  test.each([
    '',
    '+',
    '14165550100',
    '+123456',
    '+1234567890123456',
    '++14165550100',
    '+1 416 555 0100 ',
    '+ 14165550100',
    '+1416555O100',
    '+1416\u0009555',
    '+14165550100\n',
    '+\u0661\u0662\u0663\u0664\u0665\u0666\u0667',
  ])('rejects %j', (text) => {
    expect(isPhoneNumber(text)).toBe(false)
  })
})

describe('domain: isPastDate', () => {
  const noon = Date.UTC(2026, 11, 1, 12)

  test.each(['2026-12-01', '2026-11-30', '1920-02-29', '0001-01-01'])('accepts the birth date %s', (text) => {
    expect(isPastDate(text, noon)).toBe(true)
  })

  test.each(['2026-12-02', '2027-01-01', '2025-02-29', '2026-13-01', '2026-12-1', 'yesterday'])(
    'rejects the birth date %s',
    (text) => {
      expect(isPastDate(text, noon)).toBe(false)
    },
  )
})

describe('domain: finding a member', () => {
  const sample = {
    ...member,
    profile: { ...profile, firstName: 'Zoë', lastName: 'Sample', preferredName: 'Kit' },
  }
  test.each([
    ['zoë', 'name'],
    ['ZOE\u0308 SAM', 'name'],
    ['zoe', 'name'],
    ['kit', 'name'],
    ['416 555 0100', 'phone'],
    ['+1 (416) 555-0100', 'phone'],
    ['0100', 'phone'],
    ['416 555', 'phone'],
    ['robin@', 'e-mail'],
    ['ROBIN@example.com', 'e-mail'],
  ] as const)('by %p matches the %s', (text, by) => expect(matcherOf(text)(sample)).toBe(by))

  test.each(['010', '1990', 'ON', 'robin', 'x0100', 'kim', '@elsewhere'])('by %p matches nothing', (text) =>
    expect(matcherOf(text)(sample)).toBeNull(),
  )

  test.each(["o'br", 'O’BR', 'OʼBRIEN-LEVE'])('by %p ignores the kind of apostrophe', (text) =>
    expect(matcherOf(text)({ ...sample, profile: { ...sample.profile, lastName: 'O’Brien-Lévê' } })).toBe(
      'name',
    ),
  )

  test('by a lone accent matches nothing', () => expect(matcherOf('\u0301')(sample)).toBeNull())

  test('works if the phone number and the preferred name are unknown', () => {
    const silent = { ...member, profile: { ...profile, phoneNumber: null, preferredName: null } }
    expect([matcherOf('0100')(silent), matcherOf('Sample')(silent)]).toEqual([null, 'name'])
  })
})
