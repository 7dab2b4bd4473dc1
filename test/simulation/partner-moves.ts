import { endOf, paths } from '../contract/contract'
import {
  bodyOf,
  externalUserIdOf,
  type Move,
  type Outcome,
  type Retried,
  type Searched,
  type SlotChoice,
  type Submitted,
  type TokenChoice,
} from './moves'
import type { Body, Chosen, Oracle, OraclePartner, OracleRequest } from './oracle'
import { answerOf, type PartnerAnswer, refused, urlWith } from './oracle-answers'
import { slotMillis } from './oracle-directory'
import { listRegions, search } from './oracle-search'
import { keyFor, type Sent, sinceThen, whatIsRetried } from './retries'
import type { WholeAnswer } from './running'
import { dayMillis, hourMillis, instant, minuteMillis } from './wall-clock'
import { urlOf, type World } from './world'

export const unknownId = 4_711_000

type Call = Extract<Move, { act: 'submit' | 'retry' | 'look up' | 'search' | 'regions' }>

export interface Prepared {
  readonly partnerId: number
  readonly externalUserId: string
  send(): Promise<WholeAnswer>
  expectedAnswer(chosen: Chosen): PartnerAnswer
  readonly sent: Sent | null
}

export async function callPartner(world: World, move: Call): Promise<Outcome> {
  if (move.act !== 'submit' && move.act !== 'retry') return read(world, move)
  const retried = move.act === 'retry' ? whatIsRetried(world, move) : null
  if (move.act === 'submit') return submit(world, prepare(world, move))
  if (!retried) return { actual: null, expected: null }
  const since = move.of === 'another' ? ['of another partner'] : sinceThen(world, retried)
  return { ...(await submit(world, prepareAgain(world, move, retried))), since }
}

/** Sends a submission and compares the response byte by byte. */
export async function submit(world: World, prepared: Prepared): Promise<Outcome> {
  const answer = await prepared.send()
  world.last = answer
  const expected = prepared.expectedAnswer(answer.body as Chosen)
  if (expected.status === 201 && expected.replayed === null) remember(world, prepared, answer.body.id)
  const isToTheByte = answer.text === JSON.stringify(expected.body)
  return { actual: { ...answerOf(answer), isToTheByte }, expected: { ...expected, isToTheByte: true } }
}

export function remember(world: World, { sent }: Prepared, id: number): void {
  world.requests.push(id)
  if (sent) sent.requestId = id
}

export function prepare(world: World, move: Submitted): Prepared {
  const { oracle, site } = world
  const member = oracle.find(move.partner, externalUserIdOf(move.partner, move.person))
  const slot = move.slot && slotOf(oracle, move.slot, member?.id)
  const bookingData = slot && bookingDataOf(slot)
  const key = keyFor(world, move)
  const sent = key === null ? null : { key, move, bookingData, via: site.via(move.via), requestId: null }
  if (sent) world.sent.push(sent)
  return prepareWith(world, move, bodyOf(move, bookingData), sent)
}

function prepareAgain(world: World, move: Retried, sent: Sent): Prepared {
  const body = bodyOf({ ...sent.move, partner: move.partner }, sent.bookingData)
  return prepareWith(world, move, body, sent, move.isSpaced ? ' ' : '')
}

function prepareWith(
  world: World,
  move: Submitted | Retried,
  body: Body,
  sent: Sent | null,
  behind = '',
): Prepared {
  const { oracle, site } = world
  const { token, refusal } = callerOf(oracle, move)
  const text = `${JSON.stringify(body)}${behind}`
  const keyed = sent && { key: sent.key, text }
  const headers = {
    'Content-Type': 'application/json',
    ...bearer(token),
    ...(sent && { 'Idempotency-Key': sent.key }),
  }
  return {
    partnerId: oracle.partners[move.partner]?.id ?? 0,
    externalUserId: body.user.external_user_id,
    send: () => site.via(move.via).ask(paths.booking, { method: 'POST', headers, body: text }),
    expectedAnswer: (chosen) => refusal ?? oracle.submit(move.partner, body, chosen, keyed),
    sent: sent?.move.partner === move.partner ? sent : null,
  }
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

async function read(world: World, move: Exclude<Call, Submitted | Retried>): Promise<Outcome> {
  const { oracle, site } = world
  const { token, refusal } = callerOf(oracle, move)
  const get = async (path: string, query: Searched['query']) => {
    const answer = await site.via(move.via).ask(urlWith(path, query), { headers: bearer(token) })
    world.last = answer
    return answerOf(answer)
  }
  if (move.act === 'search') {
    const since = refusal ? [] : await revalidate(world, move, token)
    const actual = await get(paths.providers, move.query)
    const [tag, text] = [world.last?.headers.get('etag'), JSON.stringify(actual.body)]
    if (tag) world.pages.set(move.partner, { query: move.query, tag, text })
    return { actual, expected: refusal ?? search(oracle, move.query, urlOf(paths.providers)), since }
  }
  if (move.act === 'regions') {
    const actual = await get(paths.regions, move.query)
    return { actual, expected: refusal ?? listRegions(oracle, move.query, urlOf(paths.regions)) }
  }
  const externalUserId = externalUserIdOf(move.partner, move.person)
  const actual = await get(paths.user, { external_user_id: externalUserId })
  return { actual, expected: refusal ?? oracle.lookUp(move.partner, externalUserId) }
}

/** Repeats the partner's last search with its ETag. A 304 is correct only if the oracle expects the same page as before. */
async function revalidate(world: World, { partner, via }: Searched, token: string): Promise<string[]> {
  const page = world.pages.get(partner)
  if (!page) return []
  const headers = { ...bearer(token), 'If-None-Match': page.tag, 'Accept-Encoding': 'gzip' }
  const url = urlWith(paths.providers, page.query)
  const { status, headers: answered, bytes } = await world.site.via(via).ask(url, { headers })
  const isCompressed = answered.get('content-encoding') === 'gzip'
  const sent = Buffer.from(isCompressed ? Bun.gunzipSync(bytes) : bytes).toString()
  const text = status === 304 ? page.text : sent
  const { body } = search(world.oracle, page.query, urlOf(paths.providers))
  if (!Bun.deepEquals(JSON.parse(text), body)) throw new Error(`stale: ${status} to ${url}\n${text}`)
  return [`again ${status}${isCompressed ? ' compressed' : ''}`]
}

export function callerOf(
  oracle: Oracle,
  { partner: place, token: choice }: { partner: number; token: TokenChoice },
) {
  const partner = oracle.partners[place] as OraclePartner
  const inForce = partner.keys.find((key) => oracle.isInForce(key)) ?? partner.keys.at(-1)
  const token = inForce?.token ?? ''
  if (choice === 'in force') return { token, refusal: oracle.admit(partner, token) }
  if (typeof choice === 'object') {
    const { token: old = '' } = partner.keys[choice.old % partner.keys.length] ?? {}
    return { token: old, refusal: oracle.admit(partner, old) }
  }
  const [head = '', payload = '', signature = ''] = token.split('.')
  if (choice === 'forged') {
    const other = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
    return { token: `${head}.${payload}.${other}`, refusal: refused('token_invalid') }
  }
  const header = choice === 'of nobody' ? { alg: 'HS256', kid: 'nobody' } : { alg: 'HS256' }
  const made = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.${signature}`
  const code = choice === 'of nobody' ? 'partner_not_found' : 'missing_claim'
  return { token: made, refusal: refused(code) }
}

interface Slot {
  readonly providerId: number
  readonly startsAt: number
}

function bookingDataOf({ providerId, startsAt }: Slot) {
  const utcStartTime = instant(startsAt)
  return { selfSchedulingProviderId: providerId, utcStartTime, utcEndTime: endOf(utcStartTime) }
}

export function slotOf(oracle: Oracle, choice: SlotChoice, memberId: number | undefined): Slot {
  const { now, directory, requests } = oracle
  const nextHour = now - (now % hourMillis) + hourMillis
  const provider = directory.providerAt(choice.provider)
  if (!provider) return { providerId: unknownId, startsAt: nextHour }
  const held = requests.filter((one): one is OracleRequest & { startsAt: number } => one.startsAt !== null)
  const offered = () => oracle.offered(provider, 'any')
  const mine = held.filter((one) => one.memberId === memberId)
  const own = mine[choice.pick % mine.length]
  if (choice.of === 'mine' && own) return { providerId: own.providerId ?? unknownId, startsAt: own.startsAt }
  const found = {
    mine: () => [],
    soon: () => offered().slice(0, 4),
    offered,
    held: () => held.filter((one) => one.providerId === provider.id).map(({ startsAt }) => startsAt),
    'overlapping mine': () =>
      offered().filter((at) => mine.some(({ startsAt }) => Math.abs(startsAt - at) < slotMillis)),
    grid: () => directory.gridOf(provider, now - dayMillis, now + 32 * dayMillis),
  }[choice.of]()
  const startsAt = found[choice.pick % found.length] ?? offered()[0] ?? nextHour
  return { providerId: provider.id, startsAt: startsAt + choice.aside * minuteMillis }
}
