import { swagger } from '@elysiajs/swagger'
import { type AnyElysia, Elysia } from 'elysia'
import { examplesOf, type OperationExamples } from './openapi-examples'
import { authenticationKinds, refusalsOf } from './openapi-refusals'

// The document is JSON, so nothing of its shape is certain but that members have names.
interface Json {
  [name: string]: unknown
}

/** The contract's version, which is not the program's. */
const contractVersion = '1.0.0'

const description = `Search providers, read their availability, submit booking requests and intakes, and look up
members, from server to server.

Every call carries the token that the operator issued, as \`Authorization: Bearer TOKEN\`. A token belongs on
trusted servers alone: it must not reach a browser, an app or a log. Try out only with a sandbox's token here.

A search tells slots in UTC. Send a slot's times back exactly as they are.

Errors have a \`message\` for people; the header \`X-Error-Code\` tells programs what went wrong. Query parameters
and members of a body that are not described here are ignored.`

const head = {
  info: {
    title: 'Partner Intake and Scheduling API',
    version: contractVersion,
    description,
    license: { name: 'MIT', identifier: 'MIT' },
  },
  tags: [
    { name: 'Directory', description: 'Where providers are licensed, who they are and when they are free' },
    { name: 'Bookings', description: 'Booking requests, and intakes that a provider is assigned to later' },
    { name: 'Members', description: 'The people whom a partner has sent' },
  ],
  security: [{ bearer: [] }],
}

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The token that the operator issued; opaque to the partner',
  },
}

const errorSchemas = {
  AuthenticationError: {
    type: 'object',
    description: 'Why the caller could not be authenticated',
    properties: {
      code: { type: 'string', enum: authenticationKinds },
      message: { type: 'string', description: 'For people; it may change' },
    },
    required: ['code', 'message'],
  },
  Error: {
    type: 'object',
    description: 'What is wrong, in every error but a 401',
    properties: {
      message: { type: 'string', description: 'For people; it names the field where there is one' },
      status: { type: 'integer', description: 'The HTTP status' },
    },
    required: ['message', 'status'],
  },
}

/** Headers of the answers to what went well, by operationId. */
const answerHeaders: Record<string, Json> = {
  listProviderRegions: {
    Link: {
      description: 'Full URLs of the first, prev, next and last page (RFC 8288)',
      schema: { type: 'string' },
    },
    'X-Total-Count': { description: 'Regions on all pages', schema: { type: 'integer' } },
  },
}

/**
 * The OpenAPI document of some routes, as JSON text: the same text for the same routes and address.
 *
 * @param api the routes, which nothing else may use
 * @param baseUrl the public address of the service
 */
export async function openApiDocument(api: AnyElysia, baseUrl: string): Promise<string> {
  // The plugin tells what it found at a path of its own. It gets an app that never listens, since its document
  // is not fit to be shown and its page loads scripts from elsewhere.
  const described = new Elysia().use(swagger({ path: '/page', specPath: '/document' })).use(api)
  const answer = await described.handle(new Request('http://localhost/document'))
  const { paths } = (await answer.json()) as { paths: Paths }
  return `${JSON.stringify(await toOpenApi(paths, baseUrl), null, 2)}\n`
}

/** The named schemas, gathered on the way. */
type Schemas = Map<string, unknown>

type Paths = Record<string, Record<string, Operation>>

/** An operation as the plugin writes it. */
interface Operation extends Json {
  operationId: string
  parameters: Json[]
  requestBody?: Json
  responses: Record<string, Json>
}

/** OpenAPI 3.1 from the plugin's paths, which are 3.0 and know neither errors nor examples. */
async function toOpenApi(paths: Paths, baseUrl: string): Promise<Json> {
  const schemas: Schemas = new Map(Object.entries(errorSchemas))
  const examples = examplesOf(baseUrl)
  const described: Record<string, Json> = {}
  for (const [path, operations] of Object.entries(paths)) {
    const item: Json = {}
    for (const [method, operation] of Object.entries(operations)) {
      const refusals = await refusalsOf(operation.operationId, method.toUpperCase())
      item[method] = toOperation(operation, examples[operation.operationId], refusals, schemas)
    }
    described[path] = item
  }
  const byName = [...schemas].sort(([one], [other]) => (one < other ? -1 : 1))
  return {
    openapi: '3.1.0',
    ...head,
    servers: [{ url: baseUrl }],
    paths: described,
    components: { securitySchemes, schemas: Object.fromEntries(byName) },
  }
}

function toOperation(
  { parameters, requestBody, responses, ...texts }: Operation,
  examples: OperationExamples | undefined,
  refusals: Json,
  schemas: Schemas,
): Json {
  const headers = answerHeaders[texts.operationId]
  const body = requestBody && {
    required: true,
    content: toContent(requestBody, schemas, examples?.request),
  }
  const answers = mapValues(responses, (response) => ({
    description: response.description,
    ...(headers && { headers }),
    content: toContent(response, schemas, examples?.answer),
  }))
  return {
    ...texts,
    parameters: parameters.map((parameter) => toParameter(parameter, schemas)),
    ...(body && { requestBody: body }),
    responses: { ...answers, ...refusals },
  }
}

/** The plugin takes the examples out of a parameter's schema, where JSON Schema has them. */
function toParameter({ name, in: place, description, required, schema, examples }: Json, schemas: Schemas) {
  const whole = { ...(schema as Json), ...(examples !== undefined && { examples }) }
  return {
    name,
    in: place,
    description,
    required,
    // What has to be filled in is filled in for those who try it out; an optional filter would surprise them.
    ...(required === true && Array.isArray(examples) && { example: examples[0] }),
    schema: toSchema(whole, schemas),
  }
}

/** One media type, where the plugin names all that Elysia could parse. */
function toContent({ content, title, description }: Json, schemas: Schemas, examples: Json | undefined) {
  const { schema } = (content as Record<string, Json>)['application/json'] as Json
  // The plugin takes them out of the schema of an answer, too.
  const whole = title === undefined ? (schema as Json) : { title, description, ...(schema as Json) }
  return { 'application/json': { schema: toSchema(whole, schemas), ...(examples && { examples }) } }
}

/** A schema as 3.1 writes it; those with a title go among the named schemas and leave a reference. */
function toSchema({ title, ...keywords }: Json, schemas: Schemas): Json {
  const inner = (one: unknown) => toSchema(one as Json, schemas)
  const { anyOf, ...others } = mapValues(keywords, (value, keyword) => {
    if (keyword === 'properties') return mapValues(value as Json, inner)
    if (keyword === 'anyOf') return (value as Json[]).map(inner)
    return keyword === 'items' ? inner(value) : value
  })
  const schema = inOrder(anyOf ? { ...toUnion(anyOf as Json[]), ...others } : others)
  if (typeof title !== 'string') return schema
  schemas.set(title, schema)
  return { $ref: `#/components/schemas/${title}` }
}

/** A type or null, as 3.1 says it in one schema; any other union as it is. */
function toUnion(anyOf: readonly Json[]): Json {
  const [schema, other] = anyOf
  const isNullable = anyOf.length === 2 && schema?.type !== undefined && other?.type === 'null'
  return isNullable ? { ...schema, type: [schema.type, 'null'] } : { anyOf }
}

const firstKeywords = ['type', 'format', 'enum', 'description', 'required', 'properties', 'items']

/** A schema's keywords in one order, whatever made them. */
function inOrder(schema: Json): Json {
  const names = Object.keys(schema)
  const known = firstKeywords.filter((name) => names.includes(name))
  const others = names.filter((name) => !known.includes(name)).sort()
  return Object.fromEntries([...known, ...others].map((name) => [name, schema[name]]))
}

function mapValues<Value, Mapped>(
  record: Record<string, Value>,
  map: (value: Value, name: string) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]))
}
