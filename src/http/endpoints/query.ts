import type { TObject, TProperties, TSchema } from '@sinclair/typebox'
import { editDistance } from '../../domain/did-you-mean'
import { Refusal } from '../../domain/errors'
import type { Page } from '../../domain/page'
import type { LogEntry } from '../log'

/** Returns the parameters of the schema. @throws Refusal field_invalid if a parameter is repeated or not UTF-8 */
export function readQuery(text: string, schema: TObject<TProperties>): Record<string, string | number> {
  const query: Record<string, string | number> = {}
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=')
    const name = decodeParameter(equals < 0 ? pair : pair.slice(0, equals))
    if (name === null || !Object.hasOwn(schema.properties, name)) continue
    if (Object.hasOwn(query, name)) throw new Refusal('field_invalid', `${name}: must not be repeated`)
    query[name] = toValue(name, decodeParameter(equals < 0 ? '' : pair.slice(equals + 1)), schema)
  }
  return query
}

/** Returns path parameters. @throws Refusal field_invalid if a parameter is not UTF-8 */
export function readParams(params: Record<string, string | null> = {}, schema: TObject<TProperties>) {
  const values: Record<string, string | number> = {}
  for (const name in params) values[name] = toValue(name, params[name] ?? null, schema)
  return values
}

/** Returns the headers of the schema, without surrounding quotes. @throws Refusal field_invalid if one is repeated */
export function readHeaders(headers: Headers, schema: TObject<TProperties>): Record<string, string> {
  const sent: Record<string, string> = {}
  for (const name in schema.properties) {
    const value = headers.get(name)
    if (value === null) continue
    // A list of entity tags is kept as sent.
    if (schema.properties[name]?.format === 'entity-tags') {
      sent[name] = value
      continue
    }
    const quoted = /^"([^"]*)"$/.exec(value)?.[1]
    // The server joins repeated headers by a comma and a space (RFC 9110 §5.3).
    if (quoted === undefined && value.includes(', '))
      throw new Refusal('field_invalid', `${name}: must not be repeated`)
    sent[name] = quoted ?? value
  }
  return sent
}

function toValue(name: string, text: string | null, { properties }: TObject<TProperties>): string | number {
  if (text === null) throw new Refusal('field_invalid', `${name}: not percent-encoded UTF-8`)
  return properties[name]?.type === 'integer' && /^(0|-?[1-9]\d*)$/.test(text) ? Number(text) : text
}

function decodeParameter(text: string): string | null {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}

const mostNames = 100
const mostSuggestions = 5

/** Suggests known names for misspelled names. Omits other unknown names, because clients can send anything. */
export function warnOfTypos(sent: unknown, schema: TSchema, { headers }: Pick<LogEntry, 'headers'>): void {
  const found = nearMisses(sent, schema, '').slice(0, mostSuggestions)
  const warnings = [headers['X-Sandbox-Warning'] ?? [], found].flat()
  if (warnings.length > 0) headers['X-Sandbox-Warning'] = warnings.join(' ')
}

/** Returns the parameters as in a body. */
export function parametersOf(url: string): object {
  return Object.fromEntries(new URLSearchParams(url.split('?')[1]))
}

function nearMisses(value: unknown, { properties, items }: TSchema, path: string): string[] {
  if (Array.isArray(value)) return items ? nearMisses(value[0], items, path) : []
  if (typeof value !== 'object' || value === null || !properties) return []
  const known = Object.keys(properties)
  return Object.keys(value)
    .slice(0, mostNames)
    .flatMap((name) => {
      const inner = (value as Record<string, unknown>)[name]
      if (known.includes(name)) return nearMisses(inner, properties[name], `${path}${name}.`)
      const meant = /^[A-Za-z0-9_ -]{1,40}$/.test(name) && known.find((one) => isNear(name, one))
      return meant ? [`${path}${name} is not known; did you mean ${path}${meant}?`] : []
    })
}

/** True if the names differ only by a small typo, case, underscores, hyphens or spaces. */
function isNear(name: string, known: string): boolean {
  const [one, other] = [foldName(name), foldName(known)]
  const most = other.length > 5 ? 2 : 1
  return Math.abs(one.length - other.length) <= most && editDistance(one, other) <= most
}

function foldName(name: string): string {
  return name.replace(/[_ -]/g, '').toLowerCase()
}

export function pageUrl(base: string, path: string, query: Record<string, unknown>, page: number): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value))
  parameters.set('page', String(page))
  return `${base}${path}?${parameters}`
}

/** Returns the header Link (RFC 8288). */
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
