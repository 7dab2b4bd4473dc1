import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { authenticationRefusals } from '../../auth/token'
import type { RequestedSlot } from '../../domain/booking-request'
import type { Caller } from '../../domain/partner'
import { type Validator, validator } from '../../domain/validation'
import type { Context, Turn } from '../../operations/context'
import type { Authenticated } from '../../operations/submit-booking-request'
import { bodyRefusals } from '../body'
import { refusalsEverywhere, transportRefusals, type Words } from '../errors'
import type { Counted } from '../log'
import { type BudgetName, rateRefusals } from '../rate-limits'
import type { Representation } from '../representation'

type Members = TObject<TProperties>

/** A call that was found in order: who makes it, when, and what was sent. */
export interface Call<Params, Headers, Query, Body> {
  readonly caller: Caller
  /** ms; the one instant at which everything about the request is judged. */
  readonly now: number
  readonly params: Params
  readonly headers: Headers
  readonly query: Query
  readonly body: Body
  /** The body as it was sent; empty where none is taken. */
  readonly bytes: Uint8Array
  /** The snapshot on which the caller was let in, and how to ask for them again. */
  readonly authenticated: Authenticated
  /** Between the steps of long work. */
  readonly turn: Turn
}

/** What is answered when all is well: a value, or its JSON where that was made to be sent many times. */
export interface Reply<Answer> {
  readonly body: Answer | Representation
  /** Of a value, beside those that go with every answer; what is sent many times has its own. */
  readonly headers?: Record<string, string>
  /** What measures count of it. */
  readonly counted?: Counted
}

/** Examples by name, as OpenAPI has them. */
export type Examples<Value> = Record<string, { readonly summary: string; readonly value: Value }>

/** The endpoint that a part of an answer leads to, and which of its parameters are where (OpenAPI, Link Object). */
export interface Link {
  readonly to: Endpoint
  readonly description: string
  readonly parameters?: Record<string, string>
}

/** The groups of endpoints, in the order in which an integration meets them. */
export const tags = {
  Directory: 'Where providers are licensed, who they are and when they are free',
  Bookings: 'Booking requests, and intakes that a provider is assigned to later',
  Members: 'The people whom a partner has sent',
}

/** All that is to be known of an endpoint. */
interface Definition<
  Params extends Members,
  Headers extends Members,
  Query extends Members,
  Body extends Members,
  Answer extends TSchema,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With a slash at its end, and {names} for what differs from call to call. */
  readonly path: string
  readonly operationId: string
  readonly tag: keyof typeof tags
  readonly summary: string
  readonly description: string
  readonly params?: Params
  /** Beside those that every endpoint reads. */
  readonly headers?: Headers
  readonly query?: Query
  readonly body?: Body
  /** The partner's budget that calls are taken from. */
  readonly budget: BudgetName
  /** What a call takes from it, 1 unless told; a query that is not in order costs 1. */
  costOf?(query: Static<Query>): number
  readonly answer: {
    readonly status: 200 | 201
    readonly description: string
    readonly schema: Answer
    readonly headers?: Record<string, { readonly description: string; readonly schema: object }>
    readonly links?: Record<string, Link>
    /** Whether it is a representation, which clients may keep and ask for with If-None-Match. */
    readonly isRevalidated?: boolean
  }
  /** What it refuses beyond what every endpoint does, in the order in which it is judged. */
  readonly refusals: Words
  /** @param slot what they are about */
  examples(
    slot: RequestedSlot,
    baseUrl: string,
  ): { readonly request?: Examples<Static<Body>>; readonly answer: Examples<Static<Answer>> }
  /** Makes the function that answers its calls, with the caches of one app. */
  handler(
    context: Context,
    baseUrl: string,
  ): (
    call: Call<Static<Params>, Static<Headers>, Static<Query>, Static<Body>>,
  ) => Reply<Static<Answer>> | Promise<Reply<Static<Answer>>>
}

/** An endpoint among others: what it takes was left to its own schemas, which stand compiled beside them. */
export interface Endpoint extends Definition<Members, Members, Members, Members, TSchema> {
  readonly checks: Record<Part, Validator<Members>>
}

type Part = 'params' | 'headers' | 'query' | 'body'

const nothing = Type.Object({})

/** An endpoint as one value: the app, the document and the tests read from it all that they know. */
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

/** What a caller whose organization is not in order is told. */
export const organizationRefusals = {
  organization_not_configured: 'the partner has no organization configured',
  organization_deactivated: "the partner's organization is deactivated",
} as const satisfies Words

/** All that an endpoint can refuse, each with the words of an example. */
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
