import { type Endpoint, refusalsOf } from '../endpoints/endpoint'
import { type ErrorCode, errorCodes, errorResponse } from '../errors'
import { requestIdHeader } from '../log'
import { rateHeaders } from '../rate-limits'

const headers: Record<string, Json> = {
  'X-Error-Code': {
    description: 'The error code, for programs',
    schema: { $ref: '#/components/schemas/ErrorCode' },
  },
  'WWW-Authenticate': {
    description: 'The required authentication scheme (RFC 6750)',
    schema: { type: 'string' },
  },
  Allow: { description: 'The methods that the path supports', schema: { type: 'string' } },
  ...rateHeaders,
  'Retry-After': {
    description: 'Seconds to wait before sending the request again',
    schema: { type: 'integer' },
  },
  ...requestIdHeader,
}

export const codesTable = `| \`X-Error-Code\` | Status | When | What to do |
|---|---|---|---|
${Object.entries(errorCodes)
  .map(([code, { status, when, remedy }]) => `| \`${code}\` | ${status} | ${when} | ${remedy} |`)
  .join('\n')}`

/** Returns the error responses by status. For a named response, it is a reference with the endpoint's error codes. */
export async function errorResponsesOf(endpoint: Endpoint): Promise<Record<string, Json>> {
  const words = Object.entries(refusalsOf(endpoint)) as [ErrorCode, string][]
  const own = await responsesByStatus(words, endpoint.within)
  return mapValues(own, (response, status) =>
    names[status]
      ? { $ref: `#/components/responses/${names[status]}`, description: response.description }
      : response,
  )
}

/** The responses are built from those that the service really sends. */
async function responsesByStatus(
  words: readonly [ErrorCode, string][],
  within?: string,
): Promise<Record<string, Json>> {
  const documented: Record<string, Json> = {}
  for (const [status, same] of Map.groupBy(words, ([code]) => errorCodes[code].status)) {
    documented[status] = await toResponse(status, same, within)
  }
  return documented
}

async function toResponse(
  status: number,
  words: readonly [ErrorCode, string][],
  within?: string,
): Promise<Json> {
  const added = [...(status === 405 ? ['Allow'] : []), ...(status === 401 ? [] : Object.keys(rateHeaders))]
  const sent = new Set(['X-Error-Code', ...Object.keys(requestIdHeader), ...added])
  const examples: Json = {}
  for (const [code, message] of words) {
    const response = errorResponse(code, message, null, {}, within)
    for (const [name] of Object.entries(headers)) if (response.headers.has(name)) sent.add(name)
    examples[code] = { value: await response.json() }
  }
  const schema = status === 401 ? 'AuthenticationError' : 'ApiError'
  const [[code] = ['internal_error' as const]] = words
  return {
    description:
      words.length === 1
        ? `${errorCodes[code].when}.`
        : words.map(([each]) => `- \`${each}\`: ${errorCodes[each].when}`).join('\n'),
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => sent.has(name))),
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, examples } },
  }
}

/** Names of error responses in `components`. Client generators derive type names from them, so they never change. */
const names: Record<string, string> = {
  401: 'Unauthenticated',
  403: 'Forbidden',
  405: 'MethodNotAllowed',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
}

/** Returns one error response for each named status. The response has the error codes of all endpoints. */
export async function sharedResponses(endpoints: readonly Endpoint[]): Promise<Record<string, Json>> {
  const words = Object.assign({}, ...endpoints.map(refusalsOf))
  const all = await responsesByStatus(Object.entries(words) as [ErrorCode, string][])
  return Object.fromEntries(Object.entries(names).map(([status, name]) => [name, all[status] as Json]))
}

export function mapValues<Value, Mapped>(
  record: Record<string, Value>,
  map: (value: Value, name: string) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]))
}

export interface Json {
  [name: string]: unknown
}

export interface Operation extends Json {
  parameters?: Json[]
  requestBody?: Json
  responses: Record<string, Json>
}
