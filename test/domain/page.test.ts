import { describe, expect, test } from 'bun:test'
import { Refusal } from '../../src/domain/errors'
import { defaultPageSize, maximumPageSize, pageOf } from '../../src/domain/page'

const five = ['a', 'b', 'c', 'd', 'e']

describe('pageOf', () => {
  test('a page in the middle holds its items', () => {
    expect(pageOf(five, { page: 2, pageSize: 2 })).toEqual({
      page: 2,
      pageSize: 2,
      count: 5,
      pages: 3,
      items: ['c', 'd'],
    })
  })

  test('the last page holds what is left', () => {
    expect(pageOf(five, { page: 3, pageSize: 2 })).toEqual({
      page: 3,
      pageSize: 2,
      count: 5,
      pages: 3,
      items: ['e'],
    })
  })

  test('a full last page is followed by none', () => {
    expect(pageOf(five, { page: 1, pageSize: 5 }).pages).toBe(1)
    expect(() => pageOf(five, { page: 2, pageSize: 5 })).toThrow(
      new Refusal('page_out_of_range', 'past the last page'),
    )
  })

  test('the first page of an empty list exists and is empty, the second does not exist', () => {
    expect(pageOf([], { page: 1, pageSize: 20 })).toEqual({
      page: 1,
      pageSize: 20,
      count: 0,
      pages: 1,
      items: [],
    })
    expect(() => pageOf([], { page: 2, pageSize: 20 })).toThrow(Refusal)
  })

  test('the pages together are the list', () => {
    const pages = [1, 2, 3].flatMap((page) => pageOf(five, { page, pageSize: 2 }).items)
    expect(pages).toEqual(five)
  })

  test('the limits are those of the contract', () => {
    expect({ defaultPageSize, maximumPageSize }).toEqual({ defaultPageSize: 20, maximumPageSize: 100 })
  })
})
