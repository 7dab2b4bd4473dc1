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

/** A page that a partner keeps. */
export interface KnownPage {
  readonly query: Searched['query']
  readonly tag: string
  readonly text: string
}

/** A service with partners, and the oracle of all that is done there. */
export interface World extends AsyncDisposable {
  readonly site: Site
  readonly oracle: Oracle
  /** The last line of the audit log that tells how the world was made. */
  readonly madeBy: number
  /** The ids of the requests that moves can name, by their places. */
  readonly requests: number[]
  /** What was sent under keys, in order. */
  readonly sent: Sent[]
  /** What the last request was answered, as it came. */
  last: Answer | null
  /** The page that the last search of each partner was answered with, by the partner's place. */
  readonly pages: Map<number, KnownPage>
}

/** Starts a world of its own at an instant (ms). @param directory what the oracle is to know of providers: nobody yet */
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

/** What changes are done in the name of. */
export const actOf = ({ oracle }: World) => ({ actor: 'test', at: oracle.now })

/** Carries a move out, and tells what came of it and what had to. */
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
      return { told: null, foretold: null }
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
      return { told: null, foretold: null }
    case 'flush': {
      const context = contextOf(world.site.via(0))
      await context.notebook.flush(context.store)
      await forgetReplays(context, new AbortController().signal)
      return { told: countReplays(world.site.path), foretold: world.oracle.keptAnswers().length }
    }
    case 'census':
      return compareWith(world)
    default:
      return carryOutForStaff(world, move)
  }
}

/** The next moment of a kind, in ms; now if there is none. */
function momentOf({ oracle }: World, kind: Extract<Move, { act: 'tick' }>['to']): number {
  const { now, directory, requests, partners } = oracle
  const date = new Date(now)
  const moments = {
    now: () => [],
    slot: () => directory.providers.flatMap((provider) => oracle.offered(provider, 'any').slice(0, 2)),
    held: () => requests.map(({ startsAt }) => startsAt ?? 0),
    // Dates begin when they do for providers: that is when licenses begin and end.
    date: () => zoneNames.map((zone) => instantAt(zone, dayAt(zone, now) + 1, 0)),
    month: () => [Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)],
    // Those of next year are too far: nobody would be licensed.
    'clock change': () =>
      zoneNames.map((zone) => nextChange(zone, now)).filter((at) => at < now + 40 * dayMillis),
    expiry: () => oracle.keptAnswers().map(({ at }) => at + dayMillis),
    cutover: () => partners.flatMap(({ keys }) => keys.map(({ from }) => from)),
  }
  const toCome = moments[kind]().filter((at) => at > now)
  return toCome.length > 0 ? Math.min(...toCome) : now
}

/**
 * Several are submitted at once, and the files are copied when some of them were answered. All of these must be in the
 * copy; of the others each is there as a whole or not at all, which the census tells. Those that have a key are sent again
 * then, as one does who got no answer.
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
      // Not all in one turn of the event loop: some belong to a later group of writes.
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
  // What was refused has changed nothing: the census would tell.
  const inOrder = calls
    .map((call, place) => ({ call, chosen: stored[place] as Chosen | null }))
    .filter(({ chosen }) => Number.isInteger(chosen?.id))
    .sort((a, b) => Number(a.chosen?.id) - Number(b.chosen?.id))
  for (const { call, chosen } of inOrder) {
    if (chosen && call.foretell(chosen).status === 201) remember(world, call, Number(chosen.id))
  }
  const { told, foretold } = await compareWith(world)
  const again: Outcome[] = []
  for (const call of calls) if (call.sent) again.push(await submit(world, call))
  return {
    told: [told, ...again.map((one) => one.told)],
    foretold: [foretold, ...again.map((one) => one.foretold)],
  }
}

/** What became of a submission that nobody has the answer to; null if nothing. */
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

/** What an operator's move has come to: what it tells, or the kind of refusal that it met with. */
export async function comingTo<T>(move: Promise<T>): Promise<T | string> {
  try {
    return await move
  } catch (error) {
    if (error instanceof Refusal) return error.kind
    throw error
  }
}
