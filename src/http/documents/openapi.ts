import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import { authenticationRefusals } from '../../auth/token'
import type { RequestedSlot } from '../../domain/booking-request'
import { type Endpoint, tags } from '../endpoints/endpoint'
import { exampleSlot } from '../endpoints/fields'
import { errorCodes } from '../errors'
import { routeOf } from '../gate'
import { requestIdHeader } from '../log'
import { rateHeaders } from '../rate-limits'
import { RevalidationHeaders, revalidationHeaders } from '../respond'
import {
  codesTable,
  errorResponsesOf,
  type Json,
  mapValues,
  type Operation,
  sharedResponses,
} from './openapi-responses'

const description = `Search providers, read their availability, submit booking requests and intakes, and look up
members. Only servers may call this API, with the token that the operator issued: \`Authorization: Bearer TOKEN\`. It must
not reach a browser, an app or a log. The guide is at \`/docs\`.

Errors have a \`message\` for people and an \`X-Error-Code\` header for programs. Query parameters and body fields that
are not described here are ignored. The sandbox reports those that look misspelled in \`X-Sandbox-Warning\`.

${codesTable}`

const head = {
  info: {
    title: 'Partner Intake and Scheduling API',
    // The contract's version, not the program's.
    version: '1.0.0',
    description,
    license: { name: 'MIT', identifier: 'MIT' },
  },
  tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
  security: [{ bearer: [] }],
}

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The token that the operator issued. Treat it as opaque',
  },
}

const errorSchemas = {
  ErrorCode: {
    type: 'string',
    description: 'Error code, for programs. Values may be added',
    enum: Object.keys(errorCodes),
  },
  AuthenticationErrorCode: {
    type: 'string',
    description: 'Reason for the failed authentication, for programs. Values may be added',
    enum: Object.keys(authenticationRefusals),
  },
  AuthenticationError: {
    type: 'object',
    description: 'Error body of a 401 response',
    properties: {
      code: { $ref: '#/components/schemas/AuthenticationErrorCode' },
      message: { type: 'string', description: 'Message for people; its wording may change' },
    },
    required: ['code', 'message'],
  },
  ApiError: {
    type: 'object',
    description: 'Error body of every error response except 401',
    properties: {
      message: {
        type: 'string',
        description:
          'Message for people. For invalid fields it is `field: fault; field: fault`, for example ' +
          '`memberData.dob: must not be in the future`',
      },
      status: { type: 'integer', description: 'HTTP status code' },
    },
    required: ['message', 'status'],
  },
}

/** Returns the document as JSON. The same input gives the same text. @param slot the slot that examples book */
export async function openApiDocument(
  endpoints: readonly Endpoint[],
  baseUrl: string,
  slot: RequestedSlot = exampleSlot,
): Promise<string> {
  const paths = await pathsOf(endpoints)
  const schemas: Schemas = new Map(Object.entries(errorSchemas))
  for (const endpoint of endpoints) {
    const operations = paths[endpoint.path] as Record<string, Operation>
    const method = endpoint.method.toLowerCase()
    const examples = endpoint.examples(slot, baseUrl)
    operations[method] = await toOperation(endpoint, operations[method] as Operation, examples, schemas)
  }
  const document = {
    openapi: '3.1.0',
    ...head,
    servers: [{ url: baseUrl }],
    paths,
    components: {
      ...{ securitySchemes, responses: await sharedResponses(endpoints) },
      schemas: Object.fromEntries([...schemas].sort(([one], [other]) => (one < other ? -1 : 1))),
    },
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/** Returns the plugin's description, which is OpenAPI 3.0 without errors and examples. */
async function pathsOf(endpoints: readonly Endpoint[]): Promise<Record<string, Record<string, Operation>>> {
  // A separate app that never listens, because the plugin also serves a page with scripts from other hosts.
  const app = new Elysia().use(swagger({ path: '/page', specPath: '/document' }))
  for (const { method, path, params, headers, query, body, answer, ...texts } of endpoints) {
    const { operationId, tag, summary, description } = texts
    app.route(method, routeOf(path), () => '', {
      ...(params && { params }),
      ...(headers && { headers }),
      ...(isConditional({ method, answer }) && { headers: RevalidationHeaders }),
      ...(query && { query }),
      ...(body && { body }),
      response: { [answer.status]: answer.schema },
      detail: { operationId, tags: [tag], summary, description },
    })
  }
  const described = await app.handle(new Request('http://localhost/document'))
  return ((await described.json()) as { paths: Record<string, Record<string, Operation>> }).paths
}

/** True if the response is 304 for a known entity tag. */
function isConditional({ method, answer }: Pick<Endpoint, 'method' | 'answer'>): boolean {
  return answer.isRevalidated === true || (method === 'GET' && answer.headers?.ETag !== undefined)
}

type Schemas = Map<string, unknown>

async function toOperation(
  endpoint: Endpoint,
  { parameters = [], requestBody, responses, ...texts }: Operation,
  examples: ReturnType<Endpoint['examples']>,
  schemas: Schemas,
): Promise<Operation> {
  const { status, description, headers, links, isRevalidated } = endpoint.answer
  const answered = responses[status] as Json
  return {
    ...texts,
    parameters: parameters
      // Optional headers come last, because generated clients have their arguments in this order.
      .toSorted((one, other) => Number(one.in === 'header') - Number(other.in === 'header'))
      .map((parameter) => toParameter(parameter, schemas)),
    ...(requestBody && {
      requestBody: { required: true, content: toContent(requestBody, schemas, examples.request) },
    }),
    responses: {
      [status]: {
        description,
        headers: {
          ...headers,
          ...(isRevalidated && revalidationHeaders),
          ...rateHeaders,
          ...requestIdHeader,
        },
        content: toContent(answered, schemas, examples.answer),
        ...(links && {
          links: mapValues(links, ({ to, ...link }) => ({ operationId: to.operationId, ...link })),
        }),
      },
      ...(isConditional(endpoint) && {
        304: {
          description: 'Not modified',
          headers: {
            ...headers,
            ...(isRevalidated && revalidationHeaders),
            ...rateHeaders,
            ...requestIdHeader,
          },
        },
      }),
      ...(await errorResponsesOf(endpoint)),
    },
  }
}

/** Moves examples back into the schema of the parameter, because the plugin moved them out. */
function toParameter({ name, in: place, description, required, schema, examples }: Json, schemas: Schemas) {
  const { example, ...keywords } = schema as Json
  // Swagger UI fills in `example` as a value. An optional parameter therefore gets an example only from its schema.
  const shown = example ?? (required === true && Array.isArray(examples) ? examples[0] : undefined)
  const whole = { ...keywords, ...(examples !== undefined && { examples }) }
  return {
    name,
    in: place,
    description,
    required,
    ...(shown !== undefined && { example: shown }),
    schema: toSchema(whole, schemas),
  }
}

/** Keeps only application/json, because the plugin lists all types that Elysia can parse. */
function toContent({ content, title, description }: Json, schemas: Schemas, examples: Json | undefined) {
  const { schema } = (content as Record<string, Json>)['application/json'] as Json
  // Moves title and description back into the schema of the response, because the plugin moved them out.
  const whole = title === undefined ? (schema as Json) : { title, description, ...(schema as Json) }
  return { 'application/json': { schema: toSchema(whole, schemas), ...(examples && { examples }) } }
}

/** Converts a schema to OpenAPI 3.1. Moves a schema with a title to `schemas`, and returns a reference. */
function toSchema({ title, ...keywords }: Json, schemas: Schemas): Json {
  const inner = (one: unknown) => toSchema(one as Json, schemas)
  const { anyOf, ...others } = mapValues(keywords, (value, keyword) => {
    if (keyword === 'properties') return mapValues(value as Json, inner)
    if (keyword === 'anyOf') return (value as Json[]).map(inner)
    return keyword === 'items' ? inner(value) : value
  })
  // If there is a pattern, drops the format: client generators do not know some formats, or would change date-times.
  if (others.pattern !== undefined) delete others.format
  const schema = orderedSchema(anyOf ? { ...toUnion(anyOf as Json[]), ...others } : others)
  if (typeof title !== 'string') return schema
  schemas.set(title, schema)
  return { $ref: `#/components/schemas/${title}` }
}

/** Converts a union of a type and null to one schema with two types, as in OpenAPI 3.1. Keeps other unions. */
function toUnion(anyOf: readonly Json[]): Json {
  const [schema, other] = anyOf
  const isNullable = anyOf.length === 2 && schema?.type !== undefined && other?.type === 'null'
  return isNullable ? { ...schema, type: [schema.type, 'null'] } : { anyOf }
}

const firstKeywords = ['type', 'format', 'enum', 'description', 'required', 'properties', 'items']

function orderedSchema(schema: Json): Json {
  const names = Object.keys(schema)
  const known = firstKeywords.filter((name) => names.includes(name))
  const others = names.filter((name) => !known.includes(name)).sort()
  return Object.fromEntries([...known, ...others].map((name) => [name, schema[name]]))
}
