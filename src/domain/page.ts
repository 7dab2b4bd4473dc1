import { Refusal } from './errors'

/** The contract's limits on lists. */
export const defaultPageSize = 20
export const maximumPageSize = 100

/** Pages are numbered from 1. */
export interface PageRequest {
  readonly page: number
  readonly pageSize: number
}

/** One page of a list of `count` items. An empty list has one empty page. */
export interface Page<Item> extends PageRequest {
  readonly count: number
  readonly pages: number
  readonly items: readonly Item[]
}

/** @throws Refusal page_out_of_range if the page does not exist */
export function pageOf<Item>(all: readonly Item[], { page, pageSize }: PageRequest): Page<Item> {
  const pages = Math.max(1, Math.ceil(all.length / pageSize))
  if (page > pages) throw new Refusal('page_out_of_range', 'past the last page')
  const items = all.slice((page - 1) * pageSize, page * pageSize)
  return { page, pageSize, count: all.length, pages, items }
}
