import { expect, setDefaultTimeout, test } from 'bun:test'
import { below, pick, type Random, randomFrom, seed } from '../hostile/random'
import { printFigure, times } from '../support/long'
import { BatchWorld, type Day, type Move, type Outcome, startOf } from './batches'
import type { Command } from './commands'
import { OtherProcess } from './other-process'
import { type Done, serialOrder } from './serial-order'

// Linearizability: three partners, an operator and another process make moves concurrently. The test searches for a
// sequential order in which the model has the same responses and records. The few slots, persons and addresses cause
// many conflicts.
// A failure prints the seed and the batch. HOSTILE_SEED=<seed> repeats the moves, but not their timing.
setDefaultTimeout(3_600_000)

const [persons, addresses] = [3, 4]
const daysOfAWorld = 120
const capsTried = [
  { openRequests: null, emailConflicts: null },
  { openRequests: 1, emailConflicts: 1 },
]
const unknownId = 4_711_000

type Known = ReturnType<typeof knownBy>

function moveIn(random: Random, world: BatchWorld, day: Day, known: Known, serial: number): Move {
  const partner = () => pick(random, [0, 0, 0, 2, 2, 1])
  const slot = () => ({ provider: below(random, 2), place: below(random, 2) })
  const command = (asked: Command): Move => ({ act: 'command', command: asked })
  const request = () => pick(random, [...known.requests, unknownId])
  const member = () => pick(random, [...known.members, unknownId])
  const switching = (noun: 'member' | 'provider' | 'partner' | 'organization', id: number) =>
    command({ act: random() < 0.7 ? 'deactivate' : 'reactivate', noun, id })
  const assign = () => {
    const chosen = slot()
    const provider = world.providerIds[chosen.provider] as number
    const startsAt = random() < 0.8 ? startOf(day, chosen) : null
    return command({ act: 'assign', request: request(), provider, startsAt })
  }
  const moveTo = () => {
    const chosen = slot()
    const provider = world.providerIds[chosen.provider] as number
    return command({ act: 'move', request: request(), provider, startsAt: startOf(day, chosen) })
  }
  const partnerId = () => world.partners[partner()]?.partner.id as number
  const organizationId = () => world.partners[partner()]?.organization?.id as number
  const kinds: readonly [share: number, make: () => Move][] = [
    [
      45,
      () => ({
        act: 'submit',
        partner: partner(),
        person: below(random, persons),
        email: below(random, addresses),
        slot: random() < 0.75 ? slot() : null,
        serial,
      }),
    ],
    [4, () => ({ act: 'look up', partner: partner(), person: below(random, persons) })],
    [4, () => ({ act: 'search', partner: partner() })],
    [8, () => command({ act: 'accept', request: request() })],
    [10, () => command({ act: 'decline', request: request() })],
    [10, assign],
    [8, moveTo],
    [3, () => command({ act: 'close', request: request() })],
    [6, () => switching('member', member())],
    [2, () => command({ act: 'release', member: member() })],
    [2, () => command({ act: 'erase', member: member() })],
    [3, () => switching('provider', pick(random, world.providerIds))],
    [2, () => switching('partner', partnerId())],
    [5, () => switching('organization', organizationId())],
    [1, () => command({ act: 'revoke', partner: partnerId() })],
  ]
  let place = random() * kinds.reduce((sum, [share]) => sum + share, 0)
  const [, make] = kinds.find(([share]) => {
    place -= share
    return place < 0
  }) as (typeof kinds)[number]
  return make()
}

/**
 * Runs some moves one after another, then some concurrently. On half of the days, concurrent moves start with delays.
 */
async function live(world: BatchWorld, random: Random) {
  const day = await world.nextDay()
  const done: Done<Move, Outcome>[] = []
  let serial = 0
  const next = (aim: Random) => moveIn(aim, world, day, knownBy(done), serial++)
  for (let count = 2 + below(random, 4); done.length < count; ) {
    // The first two moves are submissions, so that later moves have requests to accept, decline or assign.
    const aim = done.length < 2 ? first(random) : random
    done.push(await world.do(day, next(aim), false))
  }
  const moves = Array.from({ length: 4 + below(random, 3) }, () => next(random))
  const isInSteps = random() < 0.5
  const isElsewhere = random() < 0.5
  const atOnce = moves.map(async (move) => {
    if (isInSteps) await Bun.sleep(random() * 4)
    return world.do(day, move, isElsewhere)
  })
  done.push(...(await Promise.all(atOnce)))
  return { day, done, kept: await world.kept(day) }
}

/** Random numbers for moveIn. The first number makes moveIn choose a submission. */
function first(random: Random): Random {
  let isFirst = true
  return () => {
    const number = random() * (isFirst ? 0.4 : 1)
    isFirst = false
    return number
  }
}

function knownBy(done: readonly Done<Move, Outcome>[]) {
  const stored = done.flatMap(({ result }) =>
    'status' in result && result.status === 201 ? [result.body] : [],
  )
  const bodies = stored as { id: number; member: { id: number } }[]
  return { requests: bodies.map(({ id }) => id), members: bodies.map(({ member }) => member.id) }
}

const batches = times(240, 20_000)
const seen = new Map<string, number>()

test(`races: the results of concurrent moves are those of some sequential order (${batches} batches)`, async () => {
  for (let batch = 0; batch < batches; batch += daysOfAWorld) {
    const caps = capsTried[(batch / daysOfAWorld) % 2] as (typeof capsTried)[number]
    await using world = await BatchWorld.open(caps, OtherProcess.on)
    for (let here = batch; here < Math.min(batches, batch + daysOfAWorld); here++) {
      const { day, done, kept } = await live(world, randomFrom(seed + here))
      const model = world.model(day, kept)
      const order = serialOrder(model, day.oracle, done)
      if (!order) throw new Error(`no order: ${JSON.stringify({ seed, batch: here, done, kept }, shortly)}`)
      await world.endDay(order.reduce((state, one) => model.next(state, one).state, day.oracle))
      for (const { move, result } of done) count(move, result)
    }
  }
  const moves = [...seen.values()].reduce((sum, times) => sum + times, 0)
  printFigure(`serial order: ${batches} batches, ${moves} moves, ${seen.size} different outcomes`)
})

const shortly = (name: string, value: unknown) => (name === 'availability' ? '...' : value)

function count({ act, ...move }: Move, result: Outcome): void {
  const name = 'command' in move ? move.command.act : act
  const how = 'status' in result ? (result.code ?? result.status) : (result.refusal ?? 'done')
  seen.set(`${name}: ${how}`, (seen.get(`${name}: ${how}`) ?? 0) + 1)
}

test('races: the batches of concurrent moves cover every outcome of a booking and of a transition', () => {
  const met = (act: string) =>
    [...seen.keys()].filter((kind) => kind.startsWith(`${act}: `)).map((kind) => kind.slice(act.length + 2))
  expect(met('submit')).toEqual(
    expect.arrayContaining([
      '201',
      'email_conflicts_limited',
      'email_taken',
      'member_deactivated',
      'organization_deactivated',
      'partner_inactive',
      'provider_unknown',
      'slot_already_yours',
      'slot_conflicts_with_yours',
      'slot_unavailable',
      'token_invalid',
      'too_many_open_requests',
    ]),
  )
  for (const act of ['accept', 'decline', 'close'])
    expect(met(act)).toEqual(expect.arrayContaining(['done', 'move_unknown']))
  for (const act of ['assign', 'move'])
    expect(met(act)).toEqual(expect.arrayContaining(['done', 'move_unknown', 'slot_unavailable']))
})
