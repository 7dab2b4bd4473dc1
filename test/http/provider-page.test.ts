import { describe, expect, test } from 'bun:test'
import type { Version } from '../../src/domain/ports/directory-feed'
import {
  type Draft,
  isCurrent,
  makePage,
  PageCache,
  type ProviderPage,
  renewed,
} from '../../src/http/endpoints/provider-page'
import type { Turn } from '../../src/operations/context'
import type { FoundPage, FoundProvider } from '../../src/operations/search-providers'
import { version } from '../domain/values'

const head = '{"results":['
const later = 2 as unknown as Version

const named = (name: string) => ({ provider: { firstName: name } }) as unknown as FoundProvider

function search(items: readonly FoundProvider[], holdsUntil = 1_000) {
  const computed: FoundProvider[] = []
  const found: FoundPage = {
    items,
    count: items.length,
    page: 1,
    pageSize: 20,
    pages: 1,
    version,
    holdsUntil,
    availabilityOf(item) {
      computed.push(item)
      return { slots: [], heldFrom: 0, holdsUntil: item === c ? 60 : 100 }
    },
  }
  return { found, computed }
}

const [a, b, c] = [named('a'), named('b'), named('c')]

function make(found: FoundPage, now: number, before?: ProviderPage, turn: Turn = () => undefined) {
  const write = (draft: Draft, { provider }: FoundProvider) =>
    draft.addText(JSON.stringify({ name: provider.firstName }))
  return makePage(found, head, now, before, write, turn)
}

const textOf = ({ representation }: ProviderPage) => (representation.plain.body as Blob).text()

describe('http: a page of search', () => {
  test('contains all entries, and is valid JSON even without entries', async () => {
    expect(await textOf(await make(search([a, b]).found, 0))).toBe('{"results":[{"name":"a"},{"name":"b"}]}')
    expect(await textOf(await make(search([]).found, 0))).toBe('{"results":[]}')
  })

  test('is correct even if other pages are built at the same time', async () => {
    const long = named('ü'.repeat(400_000))
    const making = [
      [a, b],
      [long, c],
      [c, a],
    ].map((items) => make(search(items).found, 0, undefined, () => Promise.resolve()))
    const texts = (await Promise.all(making)).map(textOf)
    expect(await Promise.all(texts)).toEqual([
      '{"results":[{"name":"a"},{"name":"b"}]}',
      `{"results":[{"name":"${long.provider.firstName}"},{"name":"c"}]}`,
      '{"results":[{"name":"c"},{"name":"a"}]}',
    ])
    expect(await textOf(await make(search([b]).found, 0))).toBe('{"results":[{"name":"b"}]}')
  })

  test('has the same bytes and ETag if it was rebuilt from an earlier page', async () => {
    const before = await make(search([a, b]).found, 0)
    for (const items of [[b], [b, a], [c, a, b], [a, c], [], [a, b, c]]) {
      const { found, computed } = search(items)
      const [after, fresh] = [await make(found, 10, before), await make(search(items).found, 10)]
      expect(await textOf(after)).toBe(await textOf(fresh))
      expect(after.representation.tag).toBe(fresh.representation.tag)
      expect(computed).toEqual(items.filter((item) => item === c))
      expect(await textOf(await make(search([a, b, c]).found, 10, after))).toBe(
        '{"results":[{"name":"a"},{"name":"b"},{"name":"c"}]}',
      )
    }
  })

  test('computes an entry again outside its period of validity', async () => {
    const { found, computed } = search([a, c])
    const before = await make(found, 0)
    computed.length = 0
    await make(found, 60, before)
    expect(computed).toEqual([c])
    computed.length = 0
    await make(found, -1, before)
    expect(computed).toEqual([a, c])
  })

  test('is current until a new version or an expiry, unless the clock is set back', async () => {
    const page = await make(search([a, c]).found, 10)
    expect([9, 10, 59, 60].map((now) => isCurrent(page, version, now))).toEqual([false, true, true, false])
    expect(isCurrent(page, later, 10)).toBe(false)
    expect(isCurrent(await make(search([a, c], 20).found, 10), version, 20)).toBe(false)
  })

  test('is reused with its compressed forms if a new version changes no entry', async () => {
    const page = await make(search([a, c]).found, 10)
    const same = renewed(page, { ...search([a, c]).found, version: later }, 20)
    expect(same?.representation).toBe(page.representation)
    expect(isCurrent(same as ProviderPage, later, 59)).toBe(true)
    expect(isCurrent(same as ProviderPage, later, 60)).toBe(false)
  })

  test.each<[change: string, items: readonly FoundProvider[], now: number]>([
    ['one of its providers is another one', [a, named('c')], 20],
    ['the order changes', [c, a], 20],
    ['one provider fewer is found', [a], 20],
    ['one provider more is found', [a, c, b], 20],
    ['its slots have expired', [a, c], 60],
  ])('is not reused if %s', async (_, items, now) => {
    expect(renewed(await make(search([a, c]).found, 10), search(items).found, now)).toBeNull()
  })

  test('is not reused if the total count changes', async () => {
    const page = await make(search([a, c]).found, 10)
    expect(renewed(page, { ...search([a, c]).found, count: 3 }, 20)).toBeNull()
  })
})

describe('http: the cache of pages', async () => {
  const page = await make(search([a]).found, 0)
  const each = page.representation.bytes + 4 * 1024

  test('evicts the page that was stored first when it is full', async () => {
    const cache = new PageCache(() => 2 * each)
    for (const asked of ['1', '2', '1', '3']) cache.keep(asked, page)
    expect(['1', '2', '3'].map((asked) => cache.get(asked))).toEqual([page, undefined, page])
  })

  test('counts compressed forms that were added later', async () => {
    const cache = new PageCache(() => 3 * each)
    const second = await make(search([a]).found, 0)
    for (const asked of ['1', '2', '3']) cache.keep(asked, asked === '2' ? second : page)
    second.representation.keep('gzip', new Uint8Array(2 * each))
    cache.get('2')
    cache.keep('4', page)
    expect(['1', '2', '3', '4'].map((asked) => cache.get(asked) !== undefined)).toEqual([
      false,
      false,
      true,
      true,
    ])
  })

  test('stores nothing if its limit is 0 bytes', async () => {
    const cache = new PageCache(() => 0)
    cache.keep('1', page)
    expect(cache.get('1')).toBeUndefined()
  })
})
