import { type TObject, type TProperties, Type } from '@sinclair/typebox'
import { Refusal } from '../domain/errors'
import { defaultPageSize, maximumPageSize } from '../domain/page'
import { Text } from '../domain/validation'

export const CountryCode = Text({
  format: 'country-code',
  minLength: 2,
  maxLength: 2,
  description: 'ISO 3166-1 alpha-2, in any case',
  examples: ['CA'],
})

export const LanguageTag = Text({
  format: 'language-tag',
  maxLength: 500,
  description: 'BCP 47 language tag',
  examples: ['fr-CA'],
})

export const ExternalUserId = Text({
  minLength: 1,
  maxLength: 255,
  description: "The partner's own stable id of the member",
  examples: ['member-1001'],
})

/** The query parameters of a list, as members of a schema. */
export const pageParameters = {
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1, description: 'Counted from 1' })),
  page_size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maximumPageSize,
      default: defaultPageSize,
      description: 'Entries on a page',
    }),
  ),
}

/** The largest request body that is read (decisions, Body strings). */
const maximumBodyBytes = 256 * 1024

/**
 * The parameters of a query that a schema knows, as text, but whole decimal numbers where it wants integers.
 * Validation comes after; what no schema could tell is refused here.
 *
 * @throws Refusal field_invalid for a parameter that is repeated or is not UTF-8
 */
export function readQuery(
  url: string,
  { properties }: TObject<TProperties>,
): Record<string, string | number> {
  const query: Record<string, string | number> = {}
  const mark = url.indexOf('?')
  for (const pair of mark < 0 ? [] : url.slice(mark + 1).split('&')) {
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    if (name === null || !Object.hasOwn(properties, name)) continue
    if (Object.hasOwn(query, name)) throw new Refusal('field_invalid', `${name}: must not be repeated`)
    const value = decode(equals < 0 ? '' : pair.slice(equals + 1))
    if (value === null) throw new Refusal('field_invalid', `${name}: not percent-encoded UTF-8`)
    const isNumber = properties[name]?.type === 'integer' && /^[1-9]\d*$/.test(value)
    query[name] = isNumber ? Number(value) : value
  }
  return query
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}

/**
 * Reads a body of JSON, no further than it may go.
 *
 * @throws Refusal media_type_unsupported, body_too_large or body_malformed
 */
export async function readJson(request: Request): Promise<unknown> {
  const { headers } = request
  if (!isJson(headers.get('content-type') ?? '')) {
    throw new Refusal('media_type_unsupported', 'Content-Type: must be application/json in UTF-8')
  }
  if (!/^(identity)?$/i.test(headers.get('content-encoding') ?? '')) {
    throw new Refusal('media_type_unsupported', 'Content-Encoding: must be left out')
  }
  const bytes = await readBytes(request)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new Refusal('body_malformed', 'body: not JSON in UTF-8')
  }
}

/** Whether a media type, in any case (RFC 9110 §8.3.1), is JSON's; of its parameters only charset matters. */
function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  return type === 'application/json' && (charset === undefined || /^charset="?utf-8"?$/.test(charset))
}

async function readBytes(request: Request): Promise<Uint8Array> {
  const tooLarge = () => new Refusal('body_too_large', `body: larger than ${maximumBodyBytes} bytes`)
  if (Number(request.headers.get('content-length') ?? 0) > maximumBodyBytes) throw tooLarge()
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.length
    if (length > maximumBodyBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
