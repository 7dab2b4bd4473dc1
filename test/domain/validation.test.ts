import { describe, expect, test } from 'bun:test'
import { type TSchema, Type } from '@sinclair/typebox'
import { Choice, Text, validator } from '../../src/domain/validation'

const faults = (schema: TSchema, value: unknown) => validator(schema).faultsOf(value)

function faultWith(schema: TSchema, value: unknown): string | undefined {
  const found = faults(schema, value)
  expect(validator(schema).accepts(value)).toBe(found.length === 0)
  expect(found.length).toBeLessThanOrEqual(1)
  return found[0]?.fault
}

describe('domain: the path of a validation fault', () => {
  const Named = Type.Object({ name: Text() })
  const Tree = Type.Object({ people: Type.Array(Type.Object({ pets: Type.Array(Named) })) })

  test('contains field names and array positions', () => {
    const value = { people: [{ pets: [] }, { pets: [{ name: 'Tom' }, { name: 5 }] }] }
    expect(faults(Tree, value)).toEqual([{ path: 'people[1].pets[1].name', fault: 'must be a string' }])
  })

  test('is empty for the whole value', () => {
    expect(faults(Tree, [])).toContainEqual({ path: '', fault: 'must be an object' })
  })

  test('keeps slashes and tildes in a name', () => {
    const Strange = Type.Object({ 'a/b~c': Text() })
    expect(faults(Strange, { 'a/b~c': 5 })).toEqual([{ path: 'a/b~c', fault: 'must be a string' }])
  })

  test('is reported once, with the first fault at that path', () => {
    const Both = Type.Object({ a: Text({ minLength: 1, format: 'email' }), b: Type.Integer({ minimum: 1 }) })
    expect(faults(Both, { a: '', b: 1.5 })).toEqual([
      { path: 'a', fault: 'must not be empty' },
      { path: 'b', fault: 'must be an integer' },
    ])
  })

  test('is not reported for a valid value', () => {
    expect(faults(Tree, { people: [] })).toEqual([])
    expect(validator(Tree).accepts({ people: [] })).toBe(true)
  })
})

describe('domain: the message of a validation fault', () => {
  const Closed = Type.Object({ a: Type.Optional(Text()) }, { additionalProperties: false })

  test.each<[string, TSchema, unknown, string | undefined]>([
    ['an absent member', Type.Object({ a: Text() }), {}, 'is required'],
    ['an unknown member', Closed, { b: 1 }, 'is not a known field'],
    ['a null', Text(), null, 'must be a string'],
    ['a number instead of a text', Text(), 5, 'must be a string'],
    ['a text instead of an integer', Type.Integer(), '5', 'must be an integer'],
    ['a fraction', Type.Integer(), 5.5, 'must be an integer'],
    ['a number that is too small', Type.Integer({ minimum: 1 }), 0, 'must be at least 1'],
    ['a number that is too large', Type.Integer({ maximum: 100 }), 101, 'must be at most 100'],
    ['a text instead of true', Type.Boolean(), 'true', 'must be true or false'],
    ['an array instead of an object', Type.Object({}), [], 'must be an object'],
    ['an object instead of an array', Type.Array(Text()), {}, 'must be an array'],
    ['too few elements', Type.Array(Text(), { minItems: 1 }), [], 'must have at least 1 element'],
    [
      'too few elements for a minimum of 2',
      Type.Array(Text(), { minItems: 2 }),
      ['a'],
      'must have at least 2 elements',
    ],
    [
      'too many elements',
      Type.Array(Text(), { maxItems: 2 }),
      ['a', 'b', 'c'],
      'must have at most 2 elements',
    ],
    [
      'a repeated element',
      Type.Array(Text(), { uniqueItems: true }),
      ['a', 'a'],
      'must not contain duplicates',
    ],
    ['a word that is not one of the choices', Choice(['Yes', 'No']), 'yes', 'must be one of Yes, No'],
    ['a number instead of a choice', Choice(['Yes', 'No']), 1, 'must be one of Yes, No'],
    ['a choice', Choice(['Yes', 'No']), 'No', undefined],
    ['an empty text', Text({ minLength: 1 }), '', 'must not be empty'],
    ['an allowed empty text', Text({ maxLength: 5 }), '', undefined],
    ['a text that is too long', Text({ maxLength: 3 }), 'abcd', 'must have at most 3 characters'],
    ['a text of the maximum length', Text({ maxLength: 3 }), 'abc', undefined],
    ['characters of two UTF-16 units', Text({ maxLength: 3 }), '\u{1f600}\u{1f600}\u{1f600}', undefined],
    [
      'too many characters of two UTF-16 units',
      Text({ maxLength: 3 }),
      '\u{1f600}'.repeat(4),
      'must have at most 3 characters',
    ],
    ['a NUL', Text(), 'a\0b', 'must not contain NUL or an unpaired surrogate'],
    ['a lone surrogate', Text(), 'a\ud83d', 'must not contain NUL or an unpaired surrogate'],
    ['an invalid email address', Text({ format: 'email' }), 'robin', 'must be an e-mail address'],
    [
      'an invalid country code',
      Text({ format: 'country-code' }),
      'uK',
      'must be an ISO 3166-1 alpha-2 country code',
    ],
    ['a country code in any case', Text({ format: 'country-code' }), 'gB', undefined],
    [
      'an invalid language tag',
      Text({ format: 'language-tag' }),
      'en_US',
      'must be a well-formed BCP 47 language tag',
    ],
    [
      'an invalid date',
      Text({ format: 'date' }),
      '2026-02-29',
      'must be a calendar date, written as YYYY-MM-DD',
    ],
    ['an invalid time', Text({ format: 'time-of-day' }), '24:01', 'must be a time, written as HH:MM'],
    ['the time 24:00', Text({ format: 'time-of-day' }), '24:00', undefined],
    [
      'an invalid phone number',
      Text({ format: 'phone-number' }),
      '416 555 0100',
      'must be a phone number with a leading + and 7 to 15 digits',
    ],
    [
      'an invalid timestamp',
      Text({ format: 'date-time' }),
      '2026-12-01T09:00:00+00:00',
      'must be a UTC timestamp, written as YYYY-MM-DDTHH:MM:SSZ',
    ],
  ])('is correct for %s', (_, schema, value, fault) => {
    expect(faultWith(schema, value)).toBe(fault)
  })

  test('is the same for a nullable text as for a text', () => {
    const Maybe = Type.Union([Type.Null(), Text({ maxLength: 3 })])
    expect(faultWith(Maybe, null)).toBeUndefined()
    expect(faultWith(Maybe, 'abcd')).toBe('must have at most 3 characters')
  })

  test('never contains the value', () => {
    const All = Type.Object({
      a: Text({ format: 'email' }),
      b: Choice(['Yes', 'No']),
      c: Type.Integer({ minimum: 1 }),
      d: Type.Array(Text(), { uniqueItems: true }),
    })
    const said = JSON.stringify(faults(All, { a: 'canary', b: 'canary', c: -4711, d: ['canary', 'canary'] }))
    expect(said).toContain('must be an e-mail address')
    expect(said).not.toMatch(/canary|4711/)
  })
})

test('domain: a schema is published with standard JSON Schema keywords only', () => {
  expect(JSON.parse(JSON.stringify(Text({ minLength: 1, maxLength: 200 })))).toEqual({
    type: 'string',
    minLength: 1,
    maxLength: 200,
    pattern: '^[^\\x00]*$',
  })
  expect(Text({ format: 'phone-number' }).pattern).toBe('^\\+[0-9](?:[ .()-]*[0-9]){6,14}$')
  expect(JSON.parse(JSON.stringify(Choice(['Yes', 'No'], { description: 'An answer' })))).toEqual({
    type: 'string',
    enum: ['Yes', 'No'],
    description: 'An answer',
  })
})
