import { expect, setDefaultTimeout, test } from 'bun:test'
import { shuffled } from '../hostile/random'
import { times } from '../support/long'
import { type BatchWorld, type Day, type Move, startOf, submission } from './batches'
import { idOf, runRounds } from './rounds'

// A request holds a slot. Concurrently, commands accept, decline or assign the slot, and two bookings request it.
setDefaultTimeout(3_600_000)

const slot = { provider: 0, place: 0 }

function rivals(world: BatchWorld, day: Day, [booked, intake]: readonly number[]): Move[] {
  const request = booked as number
  const startsAt = startOf(day, slot)
  const provider = world.providerIds[slot.provider] as number
  return [
    { act: 'command', command: { act: 'accept', request } },
    { act: 'command', command: { act: 'decline', request } },
    { act: 'command', command: { act: 'decline', request } },
    { act: 'command', command: { act: 'assign', request: intake as number, provider, startsAt } },
    submission(2, 2, slot),
    submission(0, 3, slot),
  ]
}

// Which command wins depends on the speed of the database engine. In half of the rounds, the commands of one of these
// lists run first, so that every outcome occurs.
const leads = [['accept'], ['assign'], ['decline', 'assign']]

const rounds = times(24, 10_000)

test(`races: at most one request holds a slot during concurrent accepts, declines, bookings and assignments (${rounds} rounds)`, async () => {
  const ends = await runRounds('one held slot', rounds, async (world, day, random, round) => {
    // The booking that holds the slot, and an intake.
    const booked = await world.do(day, submission(0, 0, slot), false)
    const done = [booked, await world.do(day, submission(2, 1, null), false)]
    const moves = shuffled(random, rivals(world, day, done.map(idOf)))
    const first = (leads[(round >> 1) % (2 * leads.length)] ?? []).map((act) => {
      return moves.find((move) => move.act === 'command' && move.command.act === act) as Move
    })
    return { done, leads: first, moves: moves.filter((move) => !first.includes(move)) }
  })
  expect(ends).toEqual(
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
