import { expect, setDefaultTimeout, test } from 'bun:test'
import { below, type Random, randomFrom, seed, shuffled } from '../hostile/random'
import { printFigure, times } from '../support/long'
import { turns } from '../support/turns'
import { BatchWorld, type Day, type Move, type Outcome, startOf } from './batches'
import { mostHolders } from './holders'
import { openOtherService } from './other'
import { type Done, serialOrder } from './serial-order'

// A request holds a slot. Concurrently, commands accept, decline or assign the slot, and two bookings request it. In
// half of the rounds, a second service on the same database runs the commands.
setDefaultTimeout(3_600_000)

const slot = { provider: 0, place: 0 }
const unlimited = { openRequests: null, emailConflicts: null }
const roundsOfAWorld = 250

const submission = (partner: number, person: number, wanted: typeof slot | null): Move => {
  return { act: 'submit', partner, person, email: person, slot: wanted, serial: person }
}

/** Submits the booking that holds the slot, and then an intake. */
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

// Which command wins depends on the speed of the database engine. In half of the rounds, the commands of one of these
// lists run first, so that every outcome occurs.
const leads = [['accept'], ['assign'], ['decline', 'assign']]

const idOf = ({ result }: Done<Move, Outcome>) =>
  'status' in result ? (result.body as { id: number }).id : 0

const rounds = times(24, 10_000)

test(`races: at most one request holds a slot during concurrent accepts, declines, bookings and assignments (${rounds} rounds)`, async () => {
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
      const answers = done.map(({ move, result }) => ({ move, result }))
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
  printFigure(
    `one held slot: ${rounds} rounds, ${polled} polls of its holders, ${[...ends].map(([end, times]) => `${end} ${times}`).join(', ')}`,
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

function count(ends: Map<string, number>, { move, result }: Done<Move, Outcome>): void {
  const act = move.act === 'command' ? move.command.act : move.act
  const end = `${act}: ${'status' in result ? (result.code ?? result.status) : (result.refusal ?? 'done')}`
  ends.set(end, (ends.get(end) ?? 0) + 1)
}
