import { type Kind, Refusal } from '../domain/errors'
import { answerTo, MethodNotAllowed } from './errors'

/** What a 401 can say, as the contract lists it. */
export const authenticationKinds = [
  'token_invalid',
  'missing_claim',
  'partner_not_found',
  'partner_inactive',
] as const satisfies readonly Kind[]

/** Kinds of refusal, each with the words of an example. */
type Words = Partial<Record<Kind, string>>

const ofEveryOperation: Words = {
  token_invalid: 'the token is missing, malformed or not valid',
  missing_claim: 'the token lacks a required claim',
  partner_not_found: 'the token does not belong to a known partner',
  partner_inactive: 'the partner is deactivated',
  organization_deactivated: "the partner's organization is deactivated",
  organization_not_configured: 'the partner has no organization configured',
}

/** What else each operation refuses, by operationId, in the order in which it is decided. */
const ofOperation: Record<string, Words> = {
  listProviderRegions: {
    field_invalid: 'country_code: is required',
    page_out_of_range: 'past the last page',
  },
  searchProviders: {
    field_invalid: 'page_size: must be at most 100',
    region_unknown: 'names no active region',
    region_outside_country: 'lies in another country',
    region_required: 'is required in a country with several regions',
    page_out_of_range: 'past the last page',
  },
  submitBookingRequest: {
    media_type_unsupported: 'Content-Type: must be application/json in UTF-8',
    body_too_large: 'body: larger than 262144 bytes',
    body_malformed: 'body: not JSON in UTF-8',
    field_invalid: 'memberData.email: not an e-mail address',
    member_deactivated: 'the member is deactivated',
    email_taken: 'already belongs to a different member',
    provider_unknown: 'names no provider who can be booked',
    slot_unavailable: 'the slot is not available',
    slot_already_yours: 'the member already holds this slot',
    storage_busy: 'the service is busy; try again',
  },
  lookUpMember: {
    field_invalid: 'external_user_id: is required',
    member_deactivated: 'the member is deactivated',
    member_not_found: 'no member has this id',
  },
}

const meanings: Record<number, string> = {
  400: 'The request is not valid, or what it asks for cannot be had.',
  401: 'The caller could not be authenticated.',
  403: "The partner's organization is deactivated, or the member whom the request is about.",
  404: 'No member of the partner has this id.',
  405: 'The path does not take this method.',
  409: "The partner has no organization configured, or a booking's e-mail address is another member's.",
  413: 'The body is too large.',
  415: 'The body is not plain JSON.',
  500: 'The service failed.',
  503: 'The service is busy. Nothing was changed; the same request may be sent again.',
}

const headerMeanings: Record<string, string> = {
  'X-Error-Code': 'What went wrong, for programs to act on',
  'WWW-Authenticate': 'The scheme to authenticate with (RFC 6750)',
  Allow: 'The method that the path takes',
  'Retry-After': 'Seconds to wait before the request is sent again',
}

function internalError(): Response {
  const message = 'the service failed; nothing is known to be wrong with the request'
  return Response.json(
    { message, status: 500 },
    { status: 500, headers: { 'X-Error-Code': 'internal_error' } },
  )
}

/**
 * The answers to all that an operation refuses, by status, as OpenAPI documents them. Status, headers and body
 * are those of the answers that the service itself gives.
 */
export async function refusalsOf(operationId: string, method: string): Promise<Record<string, unknown>> {
  const words = Object.entries({ ...ofEveryOperation, ...ofOperation[operationId] })
  const refusals = [
    ...words.map(([kind, message]) => new Refusal(kind as Kind, message)),
    new MethodNotAllowed(method),
  ]
  const answers = [...refusals.map((refusal) => answerTo(refusal, 'UNKNOWN')), internalError()]
  const documented: Record<string, unknown> = {}
  for (const [status, same] of Map.groupBy(answers, (answer) => answer.status)) {
    documented[status] = await responseOf(status, same)
  }
  return documented
}

async function responseOf(status: number, answers: readonly Response[]) {
  const codes = answers.map(codeOf)
  const schema = status === 401 ? 'AuthenticationError' : 'Error'
  const examples: Record<string, unknown> = {}
  for (const answer of answers) examples[codeOf(answer)] = { value: await answer.json() }
  return {
    description: meanings[status],
    headers: Object.fromEntries(
      Object.entries(headerMeanings)
        .filter(([name]) => answers[0]?.headers.has(name))
        .map(([name, description]) => [name, { description, schema: headerSchema(name, codes) }]),
    ),
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, examples } },
  }
}

function headerSchema(name: string, codes: readonly string[]) {
  if (name === 'Retry-After') return { type: 'integer' }
  return name === 'X-Error-Code' ? { type: 'string', enum: codes } : { type: 'string' }
}

function codeOf(answer: Response): string {
  return answer.headers.get('X-Error-Code') ?? ''
}
