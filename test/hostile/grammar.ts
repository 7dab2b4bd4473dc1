import type { TSchema } from '@sinclair/typebox'
import type { FormatName } from '../../src/domain/formats'
import { below, pick, type Random } from './random'

/** JSON written out as it shall stand: numbers that no double holds, broken text. */
export class Verbatim {
  constructor(readonly json: string) {}
}

/** An object whose members may be repeated or bear any name. */
export class Members {
  constructor(readonly entries: readonly (readonly [name: string, value: unknown])[]) {}
}

/** A value as JSON. */
export function toJson(value: unknown): string {
  if (value instanceof Verbatim) return value.json
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = value instanceof Members ? value.entries : Object.entries(value)
  return `{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${toJson(inner)}`).join(',')}}`
}

/** A place in a document. */
export interface Place {
  readonly steps: readonly (string | number)[]
  readonly schema: TSchema
  readonly isRequired: boolean
}

/** All places below a schema, of an array its first element's. */
export function placesOf(schema: TSchema, steps: Place['steps'] = []): Place[] {
  const inner = (place: Place) => [place, ...placesOf(place.schema, place.steps)]
  if (schema.type === 'array') return inner({ steps: [...steps, 0], schema: schema.items, isRequired: false })
  return Object.entries((schema.properties ?? {}) as Record<string, TSchema>).flatMap(([name, member]) =>
    inner({
      steps: [...steps, name],
      schema: member,
      isRequired: schema.required?.includes(name) ?? false,
    }),
  )
}

/** A place as messages write it: `phq9Data[0].question`. */
export function wireName(steps: Place['steps']): string {
  return steps.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`
    return path ? `${path}.${step}` : step
  }, '')
}

/** Values that mean something, by their place's name: a schema alone would not do. */
export type Meanings = Record<string, unknown>

/** A value that a schema takes. Optional members are there half of the time. */
export function validOf(schema: TSchema, random: Random, meanings: Meanings = {}, name = ''): unknown {
  if (Object.hasOwn(meanings, name)) return meanings[name]
  if (schema.type === 'object') {
    const members = Object.entries(schema.properties as Record<string, TSchema>)
    const at = (member: string) => (name ? `${name}.${member}` : member)
    return Object.fromEntries(
      members
        .filter(([member]) => schema.required?.includes(member) || isSent(at(member), random, meanings))
        .map(([member, inner]) => [member, validOf(inner, random, meanings, at(member))]),
    )
  }
  if (schema.type === 'array') {
    const length = random() < 0.02 ? (schema.maxItems ?? 10) : below(random, 4)
    return Array.from({ length }, (_, at) => validOf(schema.items, random, meanings, `${name}[${at}]`))
  }
  if (schema.enum) return pick(random, schema.enum as string[])
  if (schema.type === 'integer') return validInteger(schema, random)
  return validText(schema, random)
}

/** Whether a member that may be left out is there: one with a meaning only where that is told. */
function isSent(name: string, random: Random, meanings: Meanings): boolean {
  return Object.hasOwn(meanings, name) ? meanings[name] !== undefined : random() < 0.5
}

function validInteger({ minimum = 1, maximum = 1_000 }: TSchema, random: Random): number {
  return pick(random, [minimum, maximum, minimum + below(random, maximum - minimum + 1)])
}

const words = ['Qvxkzj', 'Zyhwqk', 'Xjkvqw', 'Wqzxvh']
const alphabets = [
  'abcdefghijklmnopqrstuvwxyz',
  '0123456789',
  ' \t\n\r\u0001\u001b\u007f\u0085',
  `"\\/'<>&;:{}[]$%#`,
  'éßøñçŁ',
  'مرحبا\u202e\u202d\u200f\u2066\u2069',
  '\u200b\u200d\ufeff\u2028\u2029\u00ad',
  '漢字ｆｕｌｌ',
  '😀👩\u200d👩\u200d👧🏳\ufe0f\u200d🌈𝔘',
  'a\u0301\u0327\u0338',
  '\ufffd\ufffe\uffff',
].map((letters) => [...letters])

function validText({ format, minLength = 0, maxLength = 50 }: TSchema, random: Random): string {
  if (format) return pick(random, formatted[format as FormatName]?.right ?? [])
  if (random() < 0.05 && minLength === 0) return ''
  const length = random() < 0.05 ? maxLength : minLength + below(random, Math.min(maxLength, 40))
  const letters = pick(random, alphabets)
  const unit = Array.from({ length: Math.min(length, 20) }, () => pick(random, letters))
  const text = [...pick(random, words), ...unit]
  while (text.length < length) text.push(...unit)
  return text.slice(0, Math.max(length, minLength)).join('')
}

/** Texts that are of a format and that are not. */
const formatted: Partial<Record<FormatName, { readonly right: string[]; readonly wrong: string[] }>> = {
  'country-code': {
    right: ['CA', 'us', 'Ie', 'gB', 'AQ', 'zw'],
    wrong: ['XX', 'C', 'CAN', 'C1', 'ÇA', '  ', 'CA ', 'C\n', 'UK', 'EU', '1', 'ＣＡ', 'ca-on', 'k\u212a'],
  },
  'language-tag': {
    right: ['en', 'fr-CA', 'zh-Hant-TW', 'x-private', 'de-CH-1996', 'EN-us', 'en-a-bbb-x-a-ccc', 'i-klingon'],
    wrong: [
      'e',
      'en_US',
      'en-',
      '-en',
      'en--US',
      'english language',
      'toolonglanguage',
      '123',
      'en-\u212a',
      '日本',
    ],
  },
  email: {
    right: [],
    wrong: [
      'plainly',
      '@example.com',
      'qvxkzj@',
      'qvxkzj@localhost',
      'qvxkzj@@example.com',
      'qvx kzj@example.com',
      'qvxkzj@example..com',
      '.qvxkzj@example.com',
      'qvxkzj.@example.com',
      'qvxkzj@-example.com',
      'qvxkzj@exämple.com',
      'qvxkzj@example.com\n',
      'qvxkzj@[127.0.0.1]',
      '"qvxkzj"@example.com',
      `${'q'.repeat(65)}@example.com`,
      'qvxkzj@example.com, zyhwqk@example.com',
    ],
  },
  'phone-number': {
    right: ['+14165550177', '+1 (416) 555-0177', '+49.30.1234567', '+1234567', '+123456789012345'],
    wrong: [
      '4165550177',
      '+123456',
      '+1234567890123456',
      '+1 416 555 017x',
      '++14165550177',
      '+',
      '+１４１６５５５０１７７',
      ' +14165550177',
      '+14165550177 ',
    ],
  },
  date: {
    right: ['1987-06-05', '2000-02-29', '1904-02-29', '0001-01-01'],
    wrong: [
      '2026-02-30',
      '1900-02-29',
      '1987-6-5',
      '19870605',
      '1987-06-05T00:00:00Z',
      'yesterday',
      '0000-00-00',
      '1987-13-01',
      ' 1987-06-05',
      '+001987-06-05',
      '٢٠٠٠-٠١-٠١',
    ],
  },
  'date-time': {
    right: [],
    wrong: [
      '2026-12-01T12:00:00',
      '2026-12-01T12:00:00+00:00',
      '2026-12-01 12:00:00Z',
      '2026-12-01T12:00:00z',
      '2026-12-01T12:00Z',
      '2026-12-01T24:00:00Z',
      '2026-12-01T12:00:60Z',
      '2026-02-30T12:00:00Z',
      '2026-12-01T12:00:00.5Z',
      '20261201T120000Z',
      'tomorrow',
    ],
  },
}

const nested = new Verbatim(`${'['.repeat(20)}"Qvxkzj"${']'.repeat(20)}`)
const oddNumbers = ['-0', '1e400', '-1e400', '9007199254740993', '1e-7', '0.1', '123456.75', '1e5'].map(
  (json) => new Verbatim(json),
)
const notTexts = [
  null,
  true,
  false,
  0,
  123_456_789,
  [],
  ['Qvxkzj'],
  {},
  { Qvxkzj: 'Zyhwqk' },
  nested,
  ...oddNumbers,
]
const unstorable = ['Qvxkzj\0', '\0', 'Zyhwqk\ud800', '\udfff', 'Xj\udc00\ud800kv']
const notIntegers = [
  null,
  true,
  '5',
  'Qvxkzj',
  '',
  1.5,
  [],
  [5],
  {},
  nested,
  ...['1e400', '-1e400', '0.1', '1e-7'].map((json) => new Verbatim(json)),
]
const notObjects = [null, true, 0, 123_456_789, 'Qvxkzj', '', [], [{}], nested, new Verbatim('1e400')]
const notArrays = [
  null,
  true,
  0,
  'Qvxkzj',
  '',
  {},
  { 0: 'Qvxkzj', length: 1 },
  new Members([['__proto__', []]]),
]

/** A value of JSON that a schema does not take. */
export function invalidOf(schema: TSchema, random: Random): unknown {
  const { type, enum: choices } = schema
  if (type === 'object') return pick(random, notObjects)
  if (type === 'array') {
    if (random() > 0.1) return pick(random, notArrays)
    return Array.from({ length: (schema.maxItems ?? 100) + 1 }, () => validOf(schema.items, random))
  }
  if (type === 'integer') return pick(random, notIntegers)
  if (random() < 0.3) return pick(random, notTexts)
  return choices ? `${pick(random, choices as string[])}Qvxkzj` : invalidText(schema, random)
}

/** A text that a schema does not take. */
export function invalidText({ format, minLength = 0, maxLength = 50 }: TSchema, random: Random): string {
  const wrong = formatted[format as FormatName]?.wrong ?? []
  const tooLong = pick(random, ['Q', '😀', 'é', '\u202e', '漢']).repeat(maxLength + 1 + below(random, 3))
  return pick(random, [...wrong, tooLong, ...unstorable, ...(minLength > 0 ? [''] : [])])
}

/** A document with another value at a place; without the place for `leftOut`. */
export function replaced(document: unknown, [step, ...steps]: Place['steps'], value: unknown): unknown {
  if (step === undefined) return value
  if (Array.isArray(document) || typeof step === 'number') {
    const [first, ...others] = Array.isArray(document) ? document : []
    return [replaced(first, steps, value), ...others]
  }
  const { [step]: inner, ...others } = (document ?? {}) as Record<string, unknown>
  if (steps.length === 0 && value === leftOut) return others
  return { ...others, [step]: replaced(inner, steps, value) }
}

/** Stands for a member that is not there. */
export const leftOut = Symbol('left out')

/** Every text and number in a value that is long enough to be told in an answer. */
export function valuesIn(value: unknown): string[] {
  if (value instanceof Verbatim) return valuesIn(value.json.replace(/^\[+"|"\]+$/g, ''))
  if (value instanceof Members) return value.entries.flatMap(([, inner]) => valuesIn(inner))
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(valuesIn)
  const text = String(value)
  return text.length >= 6 && typeof value !== 'symbol' ? [text] : []
}
