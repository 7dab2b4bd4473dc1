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

/** Returns the error responses by status. They are built from the responses that the service really sends. */
export async function errorResponsesOf(endpoint: Endpoint): Promise<Record<string, Json>> {
  const words = Object.entries(refusalsOf(endpoint)) as [ErrorCode, string][]
  const documented: Record<string, Json> = {}
  for (const [status, same] of Map.groupBy(words, ([code]) => errorCodes[code].status)) {
    documented[status] = await toResponse(status, same)
  }
  return documented
}

async function toResponse(status: number, words: readonly [ErrorCode, string][]): Promise<Json> {
  const added = [...(status === 405 ? ['Allow'] : []), ...(status === 401 ? [] : Object.keys(rateHeaders))]
  const sent = new Set(['X-Error-Code', ...Object.keys(requestIdHeader), ...added])
  const examples: Json = {}
  for (const [code, message] of words) {
    const response = errorResponse(code, message)
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

/** Moves shared responses of several operations to `components`. The name of a response contains its error codes. */
export function shareResponses(operations: readonly Operation[]): Record<string, Json> {
  const uses = operations.flatMap(({ responses }) =>
    Object.entries(responses).map(([status, response]) => ({ responses, status, response })),
  )
  const shared: Record<string, Json> = {}
  for (const same of Map.groupBy(uses, ({ response }) => JSON.stringify(response)).values()) {
    if (same.length === 1) continue
    for (const { responses, status, response } of same) {
      const name = nameOf(status, response)
      shared[name] = response
      responses[status] = { $ref: `#/components/responses/${name}` }
    }
  }
  return shared
}

function nameOf(status: string, response: Json): string {
  if (status === '401') return 'Unauthenticated'
  const { examples } = (response.content as Record<string, Json>)['application/json'] as Json
  return Object.keys(examples as Json)
    .join('_or_')
    .replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
}

export interface Json {
  [name: string]: unknown
}

export interface Operation extends Json {
  parameters?: Json[]
  requestBody?: Json
  responses: Record<string, Json>
}
