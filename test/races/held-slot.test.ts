import { expect, setDefaultTimeout, test } from 'bun:test'
import { below, type Random, randomFrom, seed, shuffled } from '../hostile/random'
import { tellFigure, times } from '../support/long'
import { nextTurn, turns } from '../support/turns'
import { BatchWorld, type Day, type Move, type Outcome, startOf } from './batches'
import { openOtherService } from './other'
import { type Done, serialOrder } from './serial-order'

// One slot is held by a request, which is accepted, declined and declined again while others ask for the slot and an intake
// is assigned to it: by this service, and half of the time by a second one on the same database (decisions, States).
setDefaultTimeout(3_600_000)

const slot = { provider: 0, place: 0 }
const unlimited = { openRequests: null, emailConflicts: null }
const roundsOfAWorld = 250

/** A partner's request; each person has an address and a text of their own. */
const submission = (partner: number, person: number, wanted: typeof slot | null): Move => {
  return { act: 'submit', partner, person, email: person, slot: wanted, serial: person }
}

/** The holder of the slot and an intake, one after the other. */
async function fill(world: BatchWorld, day: Day) {
  const booked = await world.do(day, submission(0, 0, slot), false)
  const intake = await world.do(day, submission(2, 1, null), false)
  return [booked, intake] as const
}

function rivals(world: BatchWorld, day: Day, random: Random, [booked, intake]: readonly number[]): Move[] {
  const request = booked as number
  const startsAt = startOf(day, slot)
  const provider = world.providerIds[slot.provider] as number
  const moves: Move[] = [
    { act: 'command', command: { act: 'accept', request } },
    { act: 'command', command: { act: 'decline', request } },
    { act: 'command', command: { act: 'decline', request } },
    { act: 'command', command: { act: 'assign', request: intake as number, provider, startsAt } },
    submission(2, 2, slot),
    submission(0, 3, slot),
  ]
  return shuffled(random, moves)
}

// Which command wins by chance depends on how fast an engine answers. In half of the rounds these are done first, in
// this order, so that every outcome that the test expects occurs on both engines.
const leads = [['accept'], ['assign'], ['decline', 'assign']]

const idOf = ({ told }: Done<Move, Outcome>) => ('status' in told ? (told.body as { id: number }).id : 0)

/** How many hold the slot in what is committed, asked before anything is done and again and again until all is. */
async function mostHolders(world: BatchWorld, day: Day, begin: () => Promise<unknown>) {
  const holders = `SELECT count(*) AS count FROM booking_requests
    WHERE provider_id = ${world.providerIds[slot.provider]} AND starts_at = ${startOf(day, slot)}
      AND state IN ('pending', 'accepted')`
  let [most, polls] = [0, 0]
  const look = async () => {
    const [asked] = await world.onlooker.ask<{ count: number }>(holders)
    most = Math.max(most, asked?.count ?? 0)
    polls++
  }
  await look()
  let isOver = false
  const over = begin().finally(() => {
    isOver = true
  })
  while (!isOver) {
    await look()
    await nextTurn()
  }
  await over
  return { most, polls }
}

const rounds = times(24, 10_000)

test(`in ${rounds} rounds a slot that is accepted, declined, booked and assigned at once has one holder at any time`, async () => {
  const ends = new Map<string, number>()
  let polled = 0
  for (let round = 0; round < rounds; round += roundsOfAWorld) {
    await using world = await BatchWorld.open(unlimited, openOtherService)
    for (let here = round; here < Math.min(rounds, round + roundsOfAWorld); here++) {
      const random = randomFrom(seed + here)
      const day = await world.nextDay()
      const furnished = await fill(world, day)
      const [isElsewhere, isInSteps] = [here % 2 === 1, below(random, 3) > 0]
      const moves = rivals(world, day, random, furnished.map(idOf))
      const done: Done<Move, Outcome>[] = [...furnished]
      const atOnce = async (move: Move) => {
        if (isInSteps) await turns(below(random, 60))
        return world.do(day, move, isElsewhere)
      }
      const first = (leads[(here >> 1) % (2 * leads.length)] ?? []).map((act) => {
        return moves.find((move) => move.act === 'command' && move.command.act === act) as Move
      })
      const { most, polls } = await mostHolders(world, day, async () => {
        for (const move of first) done.push(await world.do(day, move, isElsewhere))
        done.push(...(await Promise.all(moves.filter((move) => !first.includes(move)).map(atOnce))))
      })
      const kept = await world.kept(day)
      const order = serialOrder(world.model(day, kept), day.oracle, done)
      const answers = done.map(({ move, told }) => ({ move, told }))
      expect({ seed, round: here, most, answers, isSerial: order !== null }).toEqual({
        seed,
        round: here,
        most: 1,
        answers,
        isSerial: true,
      })
      polled += polls
      for (const one of done) count(ends, one)
    }
  }
  tellFigure(
    `one held slot: ${rounds} rounds, ${polled} looks at its holders, ${[...ends].map(([end, times]) => `${end} ${times}`).join(', ')}`,
  )
  expect([...ends.keys()].toSorted()).toEqual(
    expect.arrayContaining([
      'accept: done',
      'accept: move_unknown',
      'assign: done',
      'assign: slot_unavailable',
      'decline: done',
      'decline: move_unknown',
      'submit: 201',
      'submit: slot_unavailable',
    ]),
  )
})

function count(ends: Map<string, number>, { move, told }: Done<Move, Outcome>): void {
  const what = move.act === 'command' ? move.command.act : move.act
  const end = `${what}: ${'status' in told ? (told.code ?? told.status) : (told.refusal ?? 'done')}`
  ends.set(end, (ends.get(end) ?? 0) + 1)
}
