import type { TSchema } from '@sinclair/typebox'
import type { Endpoint } from '../../src/http/endpoint'
import { endpoints } from '../../src/http/endpoints'
import { paths } from '../contract/contract'
import {
  invalidOf,
  invalidText,
  leftOut,
  type Meanings,
  Members,
  type Place,
  placesOf,
  replaced,
  toJson,
  Verbatim,
  validOf,
  valuesIn,
  wireName,
} from './grammar'
import { below, pick, type Random, randomFrom } from './random'

/** A request, and what must come of it. */
export interface Sample {
  /** How it was made. */
  readonly what: string
  readonly method: string
  readonly target: string
  readonly contentType?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
  /** The status, where it is known. */
  readonly status: number | null
  /** What the refusal must name, and nothing else. */
  readonly field?: string
  /** What a refusal must not hold. */
  readonly values: readonly string[]
}

/** What is there to be asked for. */
export interface World {
  readonly regionId: number
  readonly countryCode: string
  readonly externalUserId: string
  /** Takes a slot that is free; null where none is left. */
  readonly takeSlot: () => Record<string, unknown> | null
}

/** The request of a number, always the same for a seed. */
export function sample(seed: number, index: number, world: World): Sample {
  const random = randomFrom(Math.imul(seed, 1_000_003) + index)
  const endpoint = pick(random, [...endpoints, ...endpoints.filter(({ body }) => body !== undefined)])
  const made = endpoint.body
    ? bodySample(endpoint, endpoint.body, `m${seed}-${index}`, random, world)
    : querySample(endpoint, random, world)
  return { method: endpoint.method, target: endpoint.path, ...made }
}

const known = new Map<TSchema, Place[]>()

/** The places of a schema, found once. */
function placesIn(schema: TSchema): Place[] {
  const places = known.get(schema) ?? placesOf(schema)
  known.set(schema, places)
  return places
}

type Made = Partial<Sample> & Pick<Sample, 'what' | 'status' | 'values'>

/** What a body says that a schema cannot know of. */
function bodyMeanings(id: string, random: Random, { takeSlot }: World): Meanings {
  const slot = random() < 0.1 ? takeSlot() : null
  return {
    'user.external_user_id': `${id} ${pick(random, ['Qvxkzj', 'é', '😀', '\u202ex', '漢'])}`,
    'memberData.email': `${id}@${pick(random, ['example.com', 'EXAMPLE.org', 'a.b.c.example'])}`,
    bookingData: slot ?? undefined,
  }
}

function bodySample({ answer }: Endpoint, schema: TSchema, id: string, random: Random, world: World): Made {
  const document = validOf(schema, random, bodyMeanings(id, random, world))
  const values = valuesIn(document)
  const draw = random()
  if (draw < 0.3) return { ...dressed(document, random), status: answer.status, values }
  if (draw < 0.7) return faulty(schema, document, random)
  if (draw < 0.85) return { ...unreadable(toJson(document), random), values }
  return { ...mutated(schema, document, random), values }
}

const json = 'application/json'

/** A body that is right, in a form that not everybody expects. */
function dressed(document: unknown, random: Random) {
  const entries = Object.entries(document as object)
  const shuffled = entries.toSorted(() => random() - 0.5)
  const stray = (name: string, value: unknown) => new Members([[name, value], ...shuffled])
  const deep = new Verbatim(`${'[{"a":'.repeat(14)}0${'}]'.repeat(14)}`)
  const [name = '', value] = pick(random, entries)
  const ways: Record<string, () => string | Buffer> = {
    plainly: () => toJson(document),
    shuffled: () => toJson(new Members(shuffled)),
    'with blanks': () => JSON.stringify(JSON.parse(toJson(document)), null, '\t\r\n '),
    'with a byte order mark': () => Buffer.from(`\ufeff${toJson(document)}`),
    'with names escaped': () => toJson(document).replace(/"memberData"/, '"\\u006demberDat\\u0061"'),
    'with a member that nobody knows': () => toJson(stray('qvxkzj', ['Zyhwqk', 1e5, null])),
    'with __proto__': () => toJson(stray('__proto__', { user: null, Qvxkzj: 1 })),
    'with constructor': () => toJson(stray('constructor', { prototype: { user: null } })),
    'with an empty name': () => toJson(stray('', 1)),
    'with a deep member': () => toJson(stray('qvxkzj', deep)),
    'with a number too large that nobody knows': () => toJson(stray('qvxkzj', new Verbatim('1e400'))),
    'with a member repeated, the last one right': () => toJson(stray(name, null)),
    'with the same member again': () => toJson(stray(name, value)),
  }
  const way = pick(random, Object.keys(ways))
  const contentType = pick(random, [json, json, 'Application/JSON', `${json}; charset=utf-8`])
  return { what: `a right body, ${way}`, body: ways[way]?.() ?? '', contentType }
}

/** A body that is right but for one thing. */
function faulty(schema: TSchema, document: unknown, random: Random): Made {
  const places = placesIn(schema).filter(({ steps }) => isThere(document, steps.slice(0, -1)))
  const place = pick(random, places)
  const field = wireName(place.steps)
  const value = place.isRequired && random() < 0.15 ? leftOut : wrongValue(field, place.schema, random)
  const broken = replaced(document, place.steps, value)
  const body = toJson(broken)
  return {
    what: `${field} is ${value === leftOut ? 'left out' : toJson(value).slice(0, 60)}`,
    body,
    contentType: json,
    status: 400,
    field,
    values: valuesIn(broken),
  }
}

/** Whether a document has a place, so that only what is below it is at fault. */
function isThere(document: unknown, steps: Place['steps']): boolean {
  let inner = document
  for (const step of steps) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, step)) return false
    inner = (inner as Record<string | number, unknown>)[step]
  }
  return true
}

/** Values of the right form that mean nothing. */
const meaningless: Record<string, readonly unknown[]> = {
  'memberData.dob': ['2999-01-01', '9999-12-31'],
  'bookingData.selfSchedulingProviderId': [
    0,
    -1,
    999_999_999,
    -0,
    ...['9007199254740993', '-0'].map((text) => new Verbatim(text)),
  ],
  'bookingData.utcEndTime': ['2026-12-01T12:00:00Z', '9999-12-31T23:59:59Z'],
}

function wrongValue(field: string, schema: TSchema, random: Random): unknown {
  const values = meaningless[field]
  return values && random() < 0.3 ? pick(random, values) : invalidOf(schema, random)
}

const invalidBytes = [
  [0xff],
  [0xc0, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x28],
  [0x80],
]

/** A body that is not read as far as its fields, and what the answer names. */
function unreadable(text: string, random: Random) {
  const malformed = (what: string, body: string | Buffer) => ({
    what,
    body,
    contentType: json,
    status: 400,
    field: 'body',
  })
  const labelled = (contentType: string) => ({
    what: contentType,
    body: text,
    contentType,
    status: 415,
    field: 'Content-Type',
  })
  const cut = 1 + below(random, text.length - 1)
  const bytes = Buffer.from(text)
  const inText = bytes.indexOf('"') + 1
  const ways: (() => Omit<Made, 'values'>)[] = [
    () => malformed('cut off', text.slice(0, cut)),
    () => malformed('empty', ''),
    () => malformed('white space', ' \n'),
    () => malformed('something behind it', text + pick(random, ['}', ',', 'x', '{}', '\0', text])),
    () => malformed('something before it', pick(random, ['x', ',', '\0', ")]}'", '\u00a0']) + text),
    () =>
      malformed(
        'bytes that are not UTF-8',
        Buffer.concat([
          bytes.subarray(0, inText),
          Buffer.from(pick(random, invalidBytes)),
          bytes.subarray(inText),
        ]),
      ),
    () => malformed('UTF-16', Buffer.from(text, 'utf16le')),
    () => malformed('nested too deeply', `{"qvxkzj":${'['.repeat(40)}${']'.repeat(40)},${text.slice(1)}`),
    () =>
      malformed(
        'nested without end',
        pick(random, ['[', '{"a":', '[{"a":']).repeat(1 + below(random, 8_000) + 40),
      ),
    () =>
      malformed(
        'no JSON',
        pick(random, [
          'NaN',
          'undefined',
          'user=1',
          '<a/>',
          "{'user':1}",
          '{user:1}',
          '01',
          '+1',
          '.5',
          '"\t"',
          '{"a":1,}',
          '[1,]',
          '// x',
          '"\\x41"',
          'nul',
          'tru',
        ]),
      ),
    () => malformed('another value', pick(random, ['null', '5', '"Qvxkzj"', 'true', '[]', '[{}]', '1e400'])),
    () =>
      labelled(
        pick(random, [
          'text/plain',
          'text/json',
          'application/x-www-form-urlencoded',
          'multipart/form-data; boundary=x',
          'application/xml',
          `${json}; charset=utf-16`,
          `${json}; charset=latin1`,
          'application/json+x',
          `${json}x`,
          '*/*',
          'x',
        ]),
      ),
    () => ({
      what: 'an encoding',
      body: pick(random, [text, Bun.gzipSync(text) as Buffer]),
      contentType: json,
      headers: { 'Content-Encoding': pick(random, ['gzip', 'br', 'deflate', 'zstd', 'x', 'gzip, identity']) },
      status: 415,
      field: 'Content-Encoding',
    }),
    ...(random() < 0.05
      ? [() => ({ ...malformed('too large', text + ' '.repeat(262_144)), status: 413 })]
      : []),
  ]
  return pick(random, ways)()
}

/** A body of which nobody can tell whether it is right. */
function mutated(schema: TSchema, document: unknown, random: Random) {
  let broken = document
  for (let count = 1 + below(random, 5); count > 0; count--) {
    const { steps, schema: inner } = pick(random, placesIn(schema))
    const value = pick(random, [
      () => leftOut,
      () => invalidOf(inner, random),
      () => validOf(inner, random),
      () => document,
      // Faults without end: only so many are told.
      () => Array(inner.maxItems ?? 10).fill(pick(random, [{}, null, document])),
    ])()
    broken = replaced(broken, steps, value)
  }
  const text = toJson(broken)
  const bytes = Buffer.from(text)
  const flips = random() < 0.5 ? below(random, 4) : 0
  for (let count = flips; count > 0; count--) bytes[below(random, bytes.length)] = below(random, 256)
  return {
    what: `changed in several places, ${flips} bytes too`,
    body: bytes,
    contentType: json,
    status: null,
  }
}

/** What a query says that a schema cannot know of. */
function queryMeanings(path: string, { regionId, countryCode, externalUserId }: World): Meanings {
  const ofPath: Record<string, Meanings> = {
    [paths.providers]: { region_id: regionId, country_code: countryCode },
    [paths.user]: { external_user_id: externalUserId },
  }
  // The only page that every list has.
  return { page: 1, ...ofPath[path] }
}

type Pair = readonly [name: string, value: string]

function querySample(
  { path, query, answer }: Endpoint,
  random: Random,
  world: World,
): Made & { target: string } {
  const schema = query as TSchema
  const values = validOf(schema, random, queryMeanings(path, world)) as Record<string, unknown>
  const pairs = Object.entries(values).map(([name, value]): Pair => [name, encoded(String(value), random)])
  const stray: Pair[] = [
    ['qvxkzj', 'Zyhwqk%ff'],
    ['__proto__', '1'],
    ['', ''],
    ['%ff', '%zz'],
    ['Page', '0'],
  ]
  const written = (all: readonly Pair[], more = '') =>
    `${path}?${all
      .toSorted(() => random() - 0.5)
      .map((pair) => pair.join('='))
      .join('&')}${more}`
  const told = Object.values(values).flatMap(valuesIn)
  if (random() < 0.4) {
    const others = stray.filter(() => random() < 0.3)
    return {
      what: 'a right query',
      target: written([...pairs, ...others]),
      status: answer.status,
      values: told,
    }
  }
  const place = pick(random, placesIn(schema))
  const field = wireName(place.steps)
  const others = pairs.filter(([name]) => name !== field)
  const [what, faults] = brokenPairs(field, place, random)
  const isUnclear = random() < 0.1
  return {
    what: `${field} is ${what}`,
    target: written(
      [...others, ...faults],
      isUnclear ? pick(random, ['&', '&&=', '&%', '?', '&page=1', '&=']) : '',
    ),
    status: isUnclear ? null : 400,
    field,
    values: [...told, ...faults.flatMap(([, value]) => valuesIn(value))],
  }
}

/** A query's value in one of its spellings. */
function encoded(value: string, random: Random): string {
  if (random() < 0.7) return encodeURIComponent(value)
  const bytes = Array.from(Buffer.from(value), (byte) => `%${byte.toString(16).padStart(2, '0')}`)
  return bytes.join('')
}

const notDecimal = [
  'abcdef',
  '1.5',
  '+1',
  '01',
  ' 1',
  '1 ',
  '1e2',
  '0x10',
  '１',
  '--1',
  '1,000',
  'NaN',
  'Infinity',
  'null',
  '',
]
const outOfRange = [
  '0',
  '-1',
  '-9007199254740993',
  '9007199254740993',
  '99999999999999999999999',
  '1'.repeat(400),
]

/** What stands for a parameter that is not right: none, one that is wrong, or one too many. */
function brokenPairs(name: string, { schema, isRequired }: Place, random: Random): [string, Pair[]] {
  const one = (value: string): [string, Pair[]] => [value.slice(0, 40), [[name, value]]]
  const ways: (() => [string, Pair[]])[] = [
    () => ['repeated', Array(2 + below(random, 3)).fill([name, '1'])],
    () => one(pick(random, ['%ff', '%c0%af', '%ed%a0%80', '%zz', '%', '%1', '%u0041'])),
    () => one(encoded(wrongText(schema, random), random)),
    () => one(encoded(wrongText(schema, random), random)),
    ...(isRequired ? [(): [string, Pair[]] => ['left out', []]] : []),
  ]
  return pick(random, ways)()
}

function wrongText(schema: TSchema, random: Random): string {
  if (schema.type === 'integer') return pick(random, [...notDecimal, ...outOfRange])
  if (schema.enum) return pick(random, ['Qvxkzj', '', 'In-Person', 'in-person,in-video', 'in_person', 'null'])
  return invalidText(schema, random).toWellFormed().replaceAll('\ufffd', '\0')
}
