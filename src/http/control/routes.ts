import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox'
import type { Act } from '../../domain/audit'
import type { RequestEnd } from '../../domain/decisions/transitions'
import { Refusal } from '../../domain/errors'
import { isSupported, type SettableClock, type ZoneData } from '../../domain/ports/time'
import { Text, validator } from '../../domain/validation'
import type { Context } from '../../operations/context'
import { requireMember, requirePartner, requireProvider, requireRequest } from '../../operations/find-records'
import { eraseMember, setMemberActive } from '../../operations/members'
import { setPartnerActive } from '../../operations/partners'
import { acceptRequest, endRequest } from '../../operations/requests'
import { suggestProviders } from '../../operations/suggest-providers'
import { rotateToken } from '../../operations/tokens'
import { placeRequest } from '../../operations/transitions'
import { formatInstant, parseInstant } from '../../scheduling/calendar'
import { refusalsOf } from '../endpoints/endpoint'
import { endpoints } from '../endpoints/endpoints'
import { presentChange } from '../endpoints/request-changes'
import { OutcomeMembers, type Outcomes } from './outcomes'

export interface Sandbox {
  readonly token: string
  readonly clock: SettableClock
  readonly isResettable: boolean
  readonly stopping: Promise<void>
  readonly service: () => { readonly context: Context; readonly zones: ZoneData }
  describe(): Promise<object>
  runTasks(): Promise<void>
  copyStart(): Start
  reset(now: number | null, start: Start): Promise<void>
}

type Start = Disposable & { publish(): void }
type Shared = Omit<Sandbox, 'service' | 'copyStart' | 'reset'> & ReturnType<Sandbox['service']>

interface Call<Body> extends Shared {
  reset(now: number | null): Promise<void>
  readonly outcomes: Outcomes
  readonly params: Readonly<Record<string, string>>
  readonly body: Body
  readonly act: Act
}

export type Route = ReturnType<typeof route>

function route<Members extends TProperties>(
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  members: Members,
  handle: (call: Call<Static<TObject<Members>>>) => object | Promise<object>,
) {
  const full = path && `/${path}`
  const parts = full.replace('{id}', '(?<id>[1-9]\\d{0,14})').replace(/\{(\w+):(.+?)\}/, '(?<$1>$2)')
  return {
    ...{ method, path },
    pattern: new RegExp(`^/sandbox/v1${parts.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}/?$`),
    check: validator(Type.Object(members, { additionalProperties: false })),
    handle: handle as (call: Call<unknown>) => object | Promise<object>,
  }
}

const [Instant, Id] = [Text({ format: 'date-time', maxLength: 30 }), Type.Integer({ minimum: 1 })]

export const routes: readonly Route[] = [
  route('GET', '', {}, showCard),
  route(
    'POST',
    'clock',
    { advance: Type.Optional(Text()), to: Type.Optional(Instant), frozen: Type.Optional(Type.Boolean()) },
    async ({ body: { advance, to, frozen }, clock, runTasks }) => {
      const now = clock.now()
      if ((advance ?? to ?? frozen) === undefined) throw invalid('body: needs advance, to or frozen')
      if (advance !== undefined && to !== undefined) throw invalid('to: must not be sent with advance')
      const until = to === undefined ? now + lengthOf(advance ?? 'PT0S') : instant('to', to)
      // The time in a response has no fraction of a second, and may be sent back.
      if (until < now - (now % 1000)) throw invalid('to: must not be before the present time of the clock')
      if (!isSupported(until)) throw invalid(`advance: ${range}`)
      clock.set(Math.max(now, until), frozen ?? clock.isFrozen)
      await runTasks()
      return { now: formatInstant(clock.now()), frozen: clock.isFrozen }
    },
  ),
  route('POST', 'reset', { now: Type.Optional(Instant) }, async (call) => {
    const { now } = call.body
    const at = now === undefined ? null : instant('now', now)
    const why = 'the database of this sandbox is kept; start it with --resettable'
    if (!call.isResettable) throw new Refusal('move_unknown', why)
    await call.reset(at)
    return showCard(call)
  }),
  route('POST', 'outcomes', OutcomeMembers, async ({ body, context, outcomes }) => {
    const { operation, partner, times = 1, ...effect } = body
    const [first, second] = Object.keys(effect)
    if (!first) throw invalid('code: is required, or delayMs or drop')
    if (second) throw invalid(`${second}: must not be sent with ${first}`)
    const { code } = effect
    const endpoint = endpoints.find(({ operationId }) => operationId === operation)
    // A call of an operation always has its method.
    const isReturned = endpoint && code && code !== 'method_not_allowed' && refusalsOf(endpoint)[code]
    if (code && !isReturned) throw invalid(`code: ${operation} does not return ${code}`)
    const named = partner === undefined ? {} : { partner: (await requirePartner(context, partner)).name }
    outcomes.add({ operation, ...named, times, ...effect })
    return { outcomes: outcomes.list() }
  }),
  route('DELETE', 'outcomes', {}, ({ outcomes }) => {
    outcomes.clear()
    return { outcomes: outcomes.list() }
  }),
  route(
    'POST',
    'requests/{id}/{action:accept|decline|close|cancel}',
    {},
    async ({ context, params, act }) => {
      const [id, action] = [Number(params.id), params.action as 'accept' | RequestEnd]
      await (action === 'accept' ? acceptRequest(context, id, act) : endRequest(context, action, id, act))
      return showRequest(context, id)
    },
  ),
  route(
    'POST',
    'requests/{id}/assign',
    { providerId: Type.Optional(Id), utcStartTime: Type.Optional(Instant) },
    async ({ context, zones, params, body: { providerId, utcStartTime: start }, act }) => {
      const id = Number(params.id)
      if (providerId === undefined && start !== undefined) throw invalid('providerId: is required')
      const named = providerId === undefined ? null : requireProvider(context, String(providerId))
      const [best] = named ? [] : (await suggestProviders(context, zones, id)).suggestions
      const provider = named ?? best?.provider
      if (!provider) throw new Refusal('move_unknown', "no provider is licensed in the member's region")
      const slot = start === undefined ? (best?.slots[0]?.startsAt ?? null) : instant('utcStartTime', start)
      await placeRequest(context, 'assign', id, provider, slot, act)
      return showRequest(context, id)
    },
  ),
  route(
    'POST',
    'requests/{id}/move',
    { utcStartTime: Instant, providerId: Type.Optional(Id) },
    async ({ context, params, body: { providerId, utcStartTime }, act }) => {
      const request = await requireRequest(context, Number(params.id))
      // A request without a provider cannot be moved to any.
      const provider = requireProvider(context, String(providerId ?? request.providerId ?? 1))
      await placeRequest(context, 'move', request.id, provider, instant('utcStartTime', utcStartTime), act)
      return showRequest(context, request.id)
    },
  ),
  route('POST', 'partners/{name}/{action:deactivate|reactivate}', {}, async ({ context, params, act }) => {
    const partner = await requirePartner(context, params.name ?? '')
    const active = params.action === 'reactivate'
    await setPartnerActive(context, partner, active, act)
    return { name: partner.name, active }
  }),
  route('POST', 'partners/{name}/rotate', { at: Type.Optional(Instant) }, async ({ context, ...call }) => {
    const partner = await requirePartner(context, call.params.name ?? '')
    const { at } = call.body
    const startsAt = at === undefined ? call.act.at : instant('at', at)
    if (startsAt < call.act.at) throw invalid('at: must not be in the past')
    const token = await rotateToken(context, partner, startsAt, call.act)
    return { name: partner.name, token, startsAt: formatInstant(startsAt) }
  }),
  route(
    'POST',
    'partners/{name}/members/{externalId}/{action:deactivate|reactivate|erase}',
    {},
    async ({ context, params: { name: partner = '', externalId: externalUserId = '', action }, act }) => {
      const member = await requireMember(context, { partner, externalUserId })
      const active = action === 'reactivate'
      if (action !== 'erase') await setMemberActive(context, member, active, act)
      else await eraseMember(context, member, act)
      return { externalUserId, ...(action === 'erase' ? { erased: true } : { active }) }
    },
  ),
]

async function showCard({ describe, outcomes }: Pick<Call<unknown>, 'describe' | 'outcomes'>) {
  return { ...(await describe()), outcomes: outcomes.list() }
}

async function showRequest(context: Context, id: number) {
  return presentChange({ ...(await requireRequest(context, id)), isErased: false })
}

function invalid(fault: string): Refusal {
  return new Refusal('field_invalid', fault)
}

const range = 'must lead to a time from 2000 to 2498'

function instant(field: string, text: string): number {
  const at = parseInstant(text) as number
  if (!isSupported(at)) throw invalid(`${field}: ${range}`)
  return at
}

const durationForm =
  /^P(?!$)(?:(\d{1,6})W)?(?:(\d{1,7})D)?(?:T(?=\d)(?:(\d{1,8})H)?(?:(\d{1,9})M)?(?:(\d{1,11})S)?)?$/
const unitMillis = [604_800_000, 86_400_000, 3_600_000, 60_000, 1_000]

function lengthOf(text: string): number {
  const counts = durationForm.exec(text)?.slice(1)
  if (!counts) throw invalid('advance: must be a duration from weeks to seconds, such as P3D or PT90M')
  return counts.reduce((sum, count, at) => sum + Number(count ?? 0) * (unitMillis[at] as number), 0)
}
