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

/** What a search found, and whose slots were worked out. */
function search(items: readonly FoundProvider[], holdsUntil = 1_000) {
  const workedOut: FoundProvider[] = []
  const found: FoundPage = {
    items,
    count: items.length,
    page: 1,
    pageSize: 20,
    pages: 1,
    version,
    holdsUntil,
    availabilityOf(item) {
      workedOut.push(item)
      return { slots: [], heldFrom: 0, holdsUntil: item === c ? 60 : 100 }
    },
  }
  return { found, workedOut }
}

const [a, b, c] = [named('a'), named('b'), named('c')]

function make(found: FoundPage, now: number, before?: ProviderPage, turn: Turn = () => undefined) {
  const write = (draft: Draft, { provider }: FoundProvider) =>
    draft.addText(JSON.stringify({ name: provider.firstName }))
  return makePage(found, head, now, before, write, turn)
}

const textOf = ({ representation }: ProviderPage) => (representation.plain.body as Blob).text()

describe('a page of search', () => {
  test('is made of its entries, of none too', async () => {
    expect(await textOf(await make(search([a, b]).found, 0))).toBe('{"results":[{"name":"a"},{"name":"b"}]}')
    expect(await textOf(await make(search([]).found, 0))).toBe('{"results":[]}')
  })

  test('is its own while others are made between its steps, and however long its entries are', async () => {
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

  test('is made anew of what it was, with the same bytes and tag as from nothing, wherever entries stood', async () => {
    const before = await make(search([a, b]).found, 0)
    for (const items of [[b], [b, a], [c, a, b], [a, c], [], [a, b, c]]) {
      const { found, workedOut } = search(items)
      const [after, anew] = [await make(found, 10, before), await make(search(items).found, 10)]
      expect(await textOf(after)).toBe(await textOf(anew))
      expect(after.representation.tag).toBe(anew.representation.tag)
      expect(workedOut).toEqual(items.filter((item) => item === c))
      expect(await textOf(await make(search([a, b, c]).found, 10, after))).toBe(
        '{"results":[{"name":"a"},{"name":"b"},{"name":"c"}]}',
      )
    }
  })

  test('works an entry out again that no longer holds, or does not yet', async () => {
    const { found, workedOut } = search([a, c])
    const before = await make(found, 0)
    workedOut.length = 0
    await make(found, 60, before)
    expect(workedOut).toEqual([c])
    workedOut.length = 0
    await make(found, -1, before)
    expect(workedOut).toEqual([a, c])
  })

  test('is current until something is stored, its first entry changes, others are found or the clock is set back', async () => {
    const page = await make(search([a, c]).found, 10)
    expect([9, 10, 59, 60].map((now) => isCurrent(page, version, now))).toEqual([false, true, true, false])
    expect(isCurrent(page, later, 10)).toBe(false)
    expect(isCurrent(await make(search([a, c], 20).found, 10), version, 20)).toBe(false)
  })

  test('stays, its compressed forms too, where what was stored changed nothing in it', async () => {
    const page = await make(search([a, c]).found, 10)
    const same = renewed(page, { ...search([a, c]).found, version: later }, 20)
    expect(same?.representation).toBe(page.representation)
    expect(isCurrent(same as ProviderPage, later, 59)).toBe(true)
    expect(isCurrent(same as ProviderPage, later, 60)).toBe(false)
  })

  test.each<[what: string, items: readonly FoundProvider[], now: number]>([
    ['another provider', [a, named('c')], 20],
    ['another order', [c, a], 20],
    ['one fewer', [a], 20],
    ['one more', [a, c, b], 20],
    ['slots that are over', [a, c], 60],
  ])('does not stay with %s', async (_, items, now) => {
    expect(renewed(await make(search([a, c]).found, 10), search(items).found, now)).toBeNull()
  })

  test('does not stay where another number of providers is told on all pages', async () => {
    const page = await make(search([a, c]).found, 10)
    expect(renewed(page, { ...search([a, c]).found, count: 3 }, 20)).toBeNull()
  })
})

describe('the cache of pages', async () => {
  const page = await make(search([a]).found, 0)
  const each = page.representation.bytes + 4 * 1024

  test('lets those go first that were made first, once they are more than it holds', async () => {
    const cache = new PageCache(() => 2 * each)
    for (const asked of ['1', '2', '1', '3']) cache.keep(asked, page)
    expect(['1', '2', '3'].map((asked) => cache.get(asked))).toEqual([page, undefined, page])
  })

  test('counts what they were compressed to since', async () => {
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

  test('holds none where it may hold no bytes', async () => {
    const cache = new PageCache(() => 0)
    cache.keep('1', page)
    expect(cache.get('1')).toBeUndefined()
  })
})
