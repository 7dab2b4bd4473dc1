import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import {
  encodings,
  forged,
  lookUp,
  receive,
  regionList,
  search,
  settled,
  textOf,
  tokenless,
  unchanged,
} from './asks'
import { book, offers, requestOf, slotsOf } from './booked'
import { Connection, parseAnswer } from './connection'
import { comparing, isMet } from './row'
import { Serving } from './service'

// The short form of the bench: what it asks for is answered rightly. How fast is not told here.

const providers = 60
const pages = [1, 2, 3]
let serving: Serving

beforeAll(async () => {
  serving = await Serving.start(providers)
})
afterAll(async () => {
  await serving?.[Symbol.asyncDispose]()
})

describe('What the bench asks for', () => {
  test('a page that nobody has asked for before is the same when it is asked for again', async () => {
    const first = []
    for (const page of pages) first.push(textOf(await receive(serving.baseUrl, search(serving, page))))
    for (const [place, page] of pages.entries()) {
      expect(textOf(await receive(serving.baseUrl, search(serving, page)))).toBe(first[place] as string)
    }
    const listed = first.flatMap((text) => JSON.parse(text).results)
    expect(listed.map(({ details }) => details.lastName.split(' ')[1])).toEqual(
      Array.from({ length: providers }, (_, index) => String(index + 1)),
    )
  })

  test('a page says the same in each encoding', async () => {
    const [identity, ...others] = encodings.map((encoding) => search(serving, 1, encoding))
    const text = textOf(await settled(serving.baseUrl, identity as (typeof others)[number]))
    for (const ask of others) expect(textOf(await settled(serving.baseUrl, ask))).toBe(text)
  })

  test('whoever has an answer gets 304 and nothing else, in each encoding', async () => {
    for (const encoding of encodings) {
      const ask = search(serving, 1, encoding)
      const { bytes } = await settled(serving.baseUrl, unchanged(ask, await settled(serving.baseUrl, ask)))
      expect(bytes).toBeEmpty()
    }
  })

  test('a slot is gone from the answer that follows its booking, in each encoding', async () => {
    using connection = await Connection.open(serving.baseUrl)
    for (const encoding of encodings) {
      const { path, headers } = search(serving, 1, encoding)
      const request = requestOf('GET', path, headers)
      const before = textOf(parseAnswer(await connection.ask(request)))
      const slot = await book(connection, serving.token, slotsOf(before))
      const answer = parseAnswer(await connection.ask(request))
      expect([answer.status, offers(before, slot), offers(textOf(answer), slot)]).toEqual([200, true, false])
    }
  })

  test('a filter leaves the two of nine providers who fit', async () => {
    const ask = search(serving, 1, 'identity', '&language=fr&modality=telephonic')
    const { count, results } = JSON.parse(textOf(await settled(serving.baseUrl, ask)))
    expect([count, results.length]).toEqual([14, 14])
    for (const { details } of results) {
      expect([details.languagesSpoken, details.modalities]).toEqual([
        ['en-CA', 'fr-CA'],
        expect.arrayContaining(['telephonic']),
      ])
    }
  })

  test('the region list is the regions of the built-in directory', async () => {
    const regions: { stateProvinceCode: string }[] = JSON.parse(
      textOf(await settled(serving.baseUrl, regionList(serving))),
    )
    expect(regions.map(({ stateProvinceCode: code }) => code).join(' ')).toBe(
      'AB BC MB NB NL NS NT NU ON PE QC SK YT',
    )
  })

  test('a forged token and none are refused alike', async () => {
    const [forgery, none] = [
      await settled(serving.baseUrl, forged(serving)),
      await settled(serving.baseUrl, tokenless()),
    ]
    expect(textOf(forgery)).toBe(textOf(none))
    expect(JSON.parse(textOf(none))).toEqual({ code: 'token_invalid', message: expect.any(String) })
  })

  test('a member is found', async () => {
    await serving.addMember('member-1001')
    expect(JSON.parse(textOf(await settled(serving.baseUrl, lookUp(serving, 'member-1001'))))).toEqual({
      id: expect.any(Number),
      firstName: 'Robin',
      lastName: 'Sample',
      email: 'member-1001@example.com',
      userType: 'member',
      country: 'CA',
      preferredSpokenLanguage: 'English',
      preferredSpokenLanguageCode: 'en',
      externalUserId: 'member-1001',
    })
  })
})

describe('A row', () => {
  test('tells medians, and ratios of figures of one round', () => {
    expect(
      comparing(
        { name: 'search', goal: '>= 0.90' },
        { ours: [90, 110, 200], theirs: [100, 100, 1_000], unit: 'a second', beside: 'another' },
      ),
    ).toEqual({
      name: 'search',
      figure: '110 a second',
      reference: '100 a second (another)',
      ratio: 0.9,
      spread: [0.2, 1.1],
      goal: '>= 0.90',
    })
  })

  test.each([
    ['a ratio that is reached', { ratio: 0.9, figure: '1 ms', goal: '>= 0.90' }, true],
    ['a ratio that is missed', { ratio: 0.89, figure: '1 ms', goal: '>= 0.90' }, false],
    ['a figure, where there is no ratio', { figure: '3.9 MB', goal: '<= 4 MB' }, true],
    ['a figure at its bound, which is to be below it', { figure: '50 ms', goal: '< 50 ms' }, false],
    ['what could not be measured', { figure: 'failed: not compressed', goal: '>= 0.65' }, false],
    ['no goal', { figure: '3.9 MB' }, null],
  ] as const)('knows whether its goal is met: %s', (_, row, expected) => {
    expect(isMet({ name: 'any', ...row })).toBe(expected)
  })
})

test('a part that the bench has not is refused with those that it has', async () => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'run.ts'), 'nothing'], { stderr: 'pipe' })
  expect(await child.stderr.text()).toMatch(/^no such part: nothing; there are search, small, .*\n$/)
  expect(await child.exited).toBe(1)
})
