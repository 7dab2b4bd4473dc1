import { Refusal } from '../../src/domain/errors'
import type { Context } from '../../src/operations/context'
import { forgetReplays } from '../../src/operations/maintenance'
import { actsOf } from '../support/acts'
import type { Answer } from '../support/service'
import { compareWith, countReplays } from './census'
import { type Caps, type Move, type Outcome, organizationOf, type Searched } from './moves'
import { type Chosen, Oracle } from './oracle'
import { OracleDirectory } from './oracle-directory'
import { callPartner, type Prepared, prepare, remember, submit } from './partner-moves'
import type { Sent } from './retries'
import { baseUrl, madeAt, type Running, Site, template } from './running'
import { carryOutForStaff } from './staff-moves'
import { dayAt, dayMillis, instantAt, nextChange, zoneNames } from './wall-clock'

export interface KnownPage {
  readonly query: Searched['query']
  readonly tag: string
  readonly text: string
}

export interface World extends AsyncDisposable {
  readonly site: Site
  readonly oracle: Oracle
  /** The id of the last audit line of the set-up. */
  readonly madeBy: number
  readonly requests: number[]
  readonly sent: Sent[]
  last: Answer | null
  /** The last search page of each partner. The key is the index of the partner. */
  readonly pages: Map<number, KnownPage>
}

/** Starts a separate world at an instant (ms). @param directory the oracle's directory, empty by default */
export async function openWorld(
  startsAt: number,
  caps: Caps,
  directory = new OracleDirectory(),
): Promise<World> {
  const { organizations, partners } = await template()
  const oracle = new Oracle(
    startsAt,
    partners.map(({ id, token }, place) => ({
      id,
      organization: organizationOf[place] ?? null,
      active: true,
      keys: [{ token, from: madeAt, until: Number.POSITIVE_INFINITY }],
    })),
    organizations.map((id) => ({ id, active: true })),
    caps,
    directory,
  )
  const site = await Site.open({ now: () => oracle.now }, caps)
  const { id: madeBy } = await actsOf(contextOf(site.via(0))).auditHead()
  return {
    site,
    oracle,
    madeBy,
    requests: [],
    sent: [],
    last: null,
    pages: new Map(),
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  }
}

export const contextOf = ({ service }: Running): Context => service.context

export const actOf = ({ oracle }: World) => ({ actor: 'test', at: oracle.now })

export async function carryOut(world: World, move: Move): Promise<Outcome> {
  world.last = null
  switch (move.act) {
    case 'submit':
    case 'retry':
    case 'look up':
    case 'search':
    case 'regions':
      return callPartner(world, move)
    case 'tick':
      world.oracle.now = Math.max(world.oracle.now, momentOf(world, move.to) + move.millis)
      return { actual: null, expected: null }
    case 'crash':
      await world.site.crash(move.keeps === 'copy' ? world.site.copy() : null)
      return compareWith(world)
    case 'crash amid':
      return crashAmid(world, move)
    case 'restart':
      await world.site.restart()
      return compareWith(world)
    case 'second':
      if (world.site.running.length < 2) await world.site.start()
      return { actual: null, expected: null }
    case 'flush': {
      const context = contextOf(world.site.via(0))
      await context.notebook.flush(context.store)
      await forgetReplays(context, new AbortController().signal)
      return { actual: countReplays(world.site.path), expected: world.oracle.keptAnswers().length }
    }
    case 'census':
      return compareWith(world)
    default:
      return carryOutForStaff(world, move)
  }
}

/** The instant (ms) of the next event of a kind; now if there is no such event. */
function momentOf({ oracle }: World, kind: Extract<Move, { act: 'tick' }>['to']): number {
  const { now, directory, requests, partners } = oracle
  const date = new Date(now)
  const moments = {
    now: () => [],
    slot: () => directory.providers.flatMap((provider) => oracle.offered(provider, 'any').slice(0, 2)),
    held: () => requests.map(({ startsAt }) => startsAt ?? 0),
    date: () => zoneNames.map((zone) => instantAt(zone, dayAt(zone, now) + 1, 0)),
    month: () => [Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)],
    // Ignores clock changes that are far away, because all licenses would have ended by then.
    'clock change': () =>
      zoneNames.map((zone) => nextChange(zone, now)).filter((at) => at < now + 40 * dayMillis),
    expiry: () => oracle.keptAnswers().map(({ at }) => at + dayMillis),
    cutover: () => partners.flatMap(({ keys }) => keys.map(({ from }) => from)),
  }
  const toCome = moments[kind]().filter((at) => at > now)
  return toCome.length > 0 ? Math.min(...toCome) : now
}

/**
 * Sends concurrent submissions, and copies the database files after some responses. The copy must contain every
 * answered submission, and no incomplete submission. Then repeats the submissions with an idempotency key, like a client
 * that got no response.
 */
async function crashAmid(
  world: World,
  { asked, answered }: Extract<Move, { act: 'crash amid' }>,
): Promise<Outcome> {
  const { site } = world
  const calls = asked.map((move) => prepare(world, move))
  let copy: string | null = null
  const answers: Answer[] = []
  await Promise.all(
    calls.map(async ({ send }, place) => {
      // Spreads the submissions over turns of the event loop, so that some are in a later group commit.
      for (let turns = place % 3; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve))
      const answer = await send()
      if (copy === null) answers[place] = answer
      if (Object.keys(answers).length > answered) copy ??= site.copy()
    }),
  )
  await site.crash(copy ?? site.copy())
  const stored = await Promise.all(
    calls.map((call, place) => answers[place]?.body ?? findStored(world, call)),
  )
  const inOrder = calls
    .map((call, place) => ({ call, chosen: stored[place] as Chosen | null }))
    .filter(({ chosen }) => Number.isInteger(chosen?.id))
    .sort((a, b) => Number(a.chosen?.id) - Number(b.chosen?.id))
  for (const { call, chosen } of inOrder) {
    if (chosen && call.expectedAnswer(chosen).status === 201) remember(world, call, Number(chosen.id))
  }
  const { actual, expected } = await compareWith(world)
  const again: Outcome[] = []
  for (const call of calls) if (call.sent) again.push(await submit(world, call))
  return {
    actual: [actual, ...again.map((one) => one.actual)],
    expected: [expected, ...again.map((one) => one.expected)],
  }
}

async function findStored({ site }: World, { partnerId, externalUserId }: Prepared): Promise<Chosen | null> {
  const store = actsOf(contextOf(site.via(0)))
  const member = await store.findMember(partnerId, externalUserId)
  const requests = await store.listRequests({})
  const request = requests.find((one) => member && one.member?.id === member.id)
  return member && { id: request?.id, authorizationNumber: request?.authorizationNumber, member }
}

export function urlOf(path: string): string {
  return `${baseUrl}${path}`
}

export async function resultOf<T>(move: Promise<T>): Promise<T | string> {
  try {
    return await move
  } catch (error) {
    if (error instanceof Refusal) return error.kind
    throw error
  }
}
