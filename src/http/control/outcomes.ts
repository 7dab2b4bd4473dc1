import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { PartnerKind } from '../../domain/errors'
import { perMinute } from '../../domain/limits'
import type { Partner } from '../../domain/partner'
import { Choice, Text } from '../../domain/validation'
import type { Context } from '../../operations/context'
import { type Endpoint, refusalsOf } from '../endpoints/endpoint'
import { endpoints } from '../endpoints/endpoints'
import { type ErrorCode, errorCodes, RefusalWithHeaders } from '../errors'
import { rateOf, setRateHeaders } from '../rate-limits'

export const OutcomeMembers = {
  operation: Choice(endpoints.map(({ operationId }) => operationId)),
  partner: Type.Optional(Text()),
  times: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  code: Type.Optional(Choice(Object.keys(errorCodes) as ErrorCode[])),
  delayMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000 })),
  drop: Type.Optional(Choice(['before', 'after'])),
}
type Outcome = Static<TObject<typeof OutcomeMembers>> & { times: number }
type Answered = Awaited<ReturnType<ReturnType<Endpoint['handler']>>>

export const dropHeader = 'X-Sandbox-Drop'

export class Outcomes {
  #left: Outcome[] = []
  #ending = Promise.withResolvers<void>()

  list(): readonly Outcome[] {
    return this.#left
  }

  add(outcome: Outcome): void {
    this.#left.push(outcome)
  }

  clear(): void {
    this.#left = []
    this.#ending.resolve()
    this.#ending = Promise.withResolvers()
  }

  applyTo({ handler, ...endpoint }: Endpoint): Endpoint {
    return {
      ...endpoint,
      handler: (context, baseUrl) => {
        const handle = handler(context, baseUrl)
        return (call) => {
          const { partner } = call.caller
          const outcome = this.#take(endpoint.operationId, partner.name, call.method)
          if (!outcome) return handle(call)
          if (outcome.code) throw refusalFor(outcome.code, endpoint, context, partner)
          return this.#disturb(outcome, async () => handle(call))
        }
      },
    }
  }

  #take(operationId: string, name: string, method: string): Outcome | undefined {
    const isMeant = ({ operation, partner = name, drop }: Outcome) =>
      operation === operationId && partner === name && !(drop && method === 'HEAD')
    const outcome = this.#left.find(isMeant)
    if (outcome) outcome.times--
    this.#left = this.#left.filter(({ times }) => times > 0)
    return outcome
  }

  async #disturb({ delayMs, drop }: Outcome, answer: () => Promise<Answered>): Promise<Answered> {
    if (drop) {
      if (drop === 'after') await answer().catch(() => {})
      return { body: null, headers: { [dropHeader]: 'true' } }
    }
    await Promise.race([new Promise((go) => setTimeout(go, delayMs).unref()), this.#ending.promise])
    return answer()
  }
}

function refusalFor(
  code: ErrorCode,
  endpoint: Pick<Endpoint, 'budget' | 'body' | 'refusals'>,
  { limits }: Context,
  partner: Partner,
) {
  const { budget } = endpoint
  const headers: Record<string, string> = {}
  const limited = {
    rate_limited: [budget, rateOf(limits, budget, partner)] as const,
    authentication_limited: ['failed-authentications', limits.failedAuthentications] as const,
  }
  if (code === 'rate_limited' || code === 'authentication_limited') {
    const [name, rate] = limited[code]
    setRateHeaders(name, rate ?? perMinute(60), { remaining: 0, secondsToNext: 1 }, headers)
  }
  return new RefusalWithHeaders(code as PartnerKind, refusalsOf(endpoint)[code] ?? '', headers)
}

/** Resets the connection: Bun does so if a body fails before its first byte. */
export function dropped(): Response {
  return new Response(new ReadableStream({ start: (controller) => controller.error() }), { status: 500 })
}
