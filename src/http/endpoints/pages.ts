import type { Page } from '../../domain/page'

/** The full URL of a page of a list: the public address, every parameter that was sent, and the page. */
export function pageUrl(base: string, path: string, query: Record<string, unknown>, page: number): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value))
  parameters.set('page', String(page))
  return `${base}${path}?${parameters}`
}

/** What tells of the other pages of a bare list: Link (RFC 8288) and X-Total-Count. */
export function pageHeaders(page: Page<unknown>, urlOf: (page: number) => string): Record<string, string> {
  const link = (rel: string, to: number) => `<${urlOf(to)}>; rel="${rel}"`
  const links = [
    link('first', 1),
    ...(page.page > 1 ? [link('prev', page.page - 1)] : []),
    ...(page.page < page.pages ? [link('next', page.page + 1)] : []),
    link('last', page.pages),
  ]
  return { Link: links.join(', '), 'X-Total-Count': String(page.count) }
}
