import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { authenticationRefusals } from '../../auth/token'
import type { RequestedSlot } from '../../domain/booking-request'
import type { Caller } from '../../domain/partner'
import { type Validator, validator } from '../../domain/validation'
import type { Context, Turn } from '../../operations/context'
import type { Authenticated } from '../../operations/requests'
import { bodyRefusals } from '../body'
import { refusalsEverywhere, transportRefusals, type Words } from '../errors'
import type { Counted } from '../log'
import { type BudgetName, type IntakeBudget, rateRefusals } from '../rate-limits'
import type { Representation } from '../representation'

type Members = TObject<TProperties>

/** A validated request of an authenticated caller. */
export interface Call<Params, Headers, Query, Body> {
  readonly method: string
  readonly caller: Caller
  /** Time of the request in ms. All checks of a request use the same time. */
  readonly now: number
  readonly params: Params
  readonly headers: Headers
  readonly query: Query
  readonly body: Body
  /** The body as sent; empty if the endpoint has none. */
  readonly bytes: Uint8Array
  readonly authenticated: Authenticated
  readonly turn: Turn
  readonly intake: () => IntakeBudget
}

export interface Reply<Answer> {
  readonly body: Answer | Representation
  /** Ignored if the body is a Representation, because a Representation has its own headers. */
  readonly headers?: Record<string, string>
  readonly counted?: Counted
}

type Examples<Value> = Record<string, { readonly summary: string; readonly value: Value }>

/** An OpenAPI Link Object. The parameters are expressions. */
export interface Link {
  readonly to: Endpoint
  readonly description: string
  readonly parameters?: Record<string, string>
}

/** Groups of endpoints in the OpenAPI document, in the order in which partners use them. */
export const tags = {
  Directory: 'Regions, their licensed providers and the free slots of these providers',
  Bookings: 'Booking requests for a slot, and intakes without a provider',
  Members: 'People seeking care, created by booking requests and intakes',
}

interface Definition<
  Params extends Members,
  Headers extends Members,
  Query extends Members,
  Body extends Members,
  Answer extends TSchema,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Ends with a slash. Path parameters are names in braces. */
  readonly path: string
  readonly operationId: string
  readonly tag: keyof typeof tags
  readonly summary: string
  readonly description: string
  readonly params?: Params
  readonly headers?: Headers
  readonly query?: Query
  readonly body?: Body
  /** Prefix of the fields in errors.ts that the body of this endpoint lacks. */
  readonly within?: string
  readonly budget: BudgetName
  /** Cost of a request, charged to the budget. The default is 1, which is also the cost of an invalid query. */
  costOf?(query: Static<Query>): number
  readonly answer: {
    readonly status: 200 | 201
    readonly description: string
    readonly schema: Answer
    readonly headers?: Record<string, { readonly description: string; readonly schema: object }>
    readonly links?: Record<string, Link>
    /** True if clients may cache the response. They revalidate it with If-None-Match. */
    readonly isRevalidated?: boolean
  }
  /** Errors specific to this endpoint, in order of the checks. */
  readonly refusals: Words
  examples(
    slot: RequestedSlot,
    baseUrl: string,
  ): { readonly request?: Examples<Static<Body>>; readonly answer: Examples<Static<Answer>> }
  /** Creates the request handler and its caches. Called once per app. */
  handler(
    context: Context,
    baseUrl: string,
  ): (
    call: Call<Static<Params>, Static<Headers>, Static<Query>, Static<Body>>,
  ) => Reply<Static<Answer>> | Promise<Reply<Static<Answer>>>
}

/** A definition with compiled validators. All endpoints have this type, regardless of their schemas. */
export interface Endpoint extends Definition<Members, Members, Members, Members, TSchema> {
  readonly checks: Record<Part, Validator<Members>>
}

type Part = 'params' | 'headers' | 'query' | 'body'

const nothing = Type.Object({})

/** Compiles a definition. The app, the OpenAPI document and the tests are derived from it. */
export function endpoint<
  Params extends Members = typeof nothing,
  Headers extends Members = typeof nothing,
  Query extends Members = typeof nothing,
  Body extends Members = typeof nothing,
  Answer extends TSchema = TSchema,
>(definition: Definition<Params, Headers, Query, Body, Answer>): Endpoint {
  const { params, headers, query, body } = definition
  const checks = {
    params: validator(params ?? nothing),
    headers: validator(headers ?? nothing),
    query: validator(query ?? nothing),
    body: validator(body ?? nothing),
  }
  return { ...(definition as unknown as Definition<Members, Members, Members, Members, TSchema>), checks }
}

export const organizationRefusals = {
  organization_not_configured: 'the partner has no organization configured',
  organization_deactivated: "the partner's organization is deactivated",
} as const satisfies Words

export function refusalsOf({ body, refusals }: Pick<Endpoint, 'body' | 'refusals'>): Words {
  return {
    ...transportRefusals,
    ...authenticationRefusals,
    ...rateRefusals,
    ...organizationRefusals,
    ...(body && bodyRefusals),
    ...refusals,
    ...refusalsEverywhere,
  }
}
