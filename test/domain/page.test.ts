import { describe, expect, test } from 'bun:test'
import { Refusal } from '../../src/domain/errors'
import { defaultPageSize, maximumPageSize, pageOf } from '../../src/domain/page'

const five = ['a', 'b', 'c', 'd', 'e']

describe('domain: pageOf', () => {
  test('returns the items of a page in the middle', () => {
    expect(pageOf(five, { page: 2, pageSize: 2 })).toEqual({
      page: 2,
      pageSize: 2,
      count: 5,
      pages: 3,
      items: ['c', 'd'],
    })
  })

  test('returns the remaining items on the last page', () => {
    expect(pageOf(five, { page: 3, pageSize: 2 })).toEqual({
      page: 3,
      pageSize: 2,
      count: 5,
      pages: 3,
      items: ['e'],
    })
  })

  test('returns no page after a full last page', () => {
    expect(pageOf(five, { page: 1, pageSize: 5 }).pages).toBe(1)
    expect(() => pageOf(five, { page: 2, pageSize: 5 })).toThrow(
      new Refusal('page_out_of_range', 'past the last page'),
    )
  })

  test('returns only an empty first page of an empty list', () => {
    expect(pageOf([], { page: 1, pageSize: 20 })).toEqual({
      page: 1,
      pageSize: 20,
      count: 0,
      pages: 1,
      items: [],
    })
    expect(() => pageOf([], { page: 2, pageSize: 20 })).toThrow(Refusal)
  })

  test('returns pages that together are the list', () => {
    const pages = [1, 2, 3].flatMap((page) => pageOf(five, { page, pageSize: 2 }).items)
    expect(pages).toEqual(five)
  })

  test('has the default and the maximum page size of the contract', () => {
    expect({ defaultPageSize, maximumPageSize }).toEqual({ defaultPageSize: 20, maximumPageSize: 100 })
  })
})
