import { expect, setDefaultTimeout, test } from 'bun:test'
import { below, type Random, randomFrom, seed, shuffled } from '../hostile/random'
import { tellFigure, times } from '../support/long'
import { BatchWorld, type Day, type Move, type Outcome, startOf } from './batches'
import { OtherProcess } from './other-process'
import { type Done, serialOrder } from './serial-order'

// One slot, which somebody holds and gives back, and one idempotency key under which two partners ask for it again and
// again, and once each with another body, while an intake is assigned to it (decisions, Idempotency-Key).
setDefaultTimeout(3_600_000)

const slot = { provider: 0, place: 0 }
const unlimited = { openRequests: null, emailConflicts: null }

/** Whoever asks for the slot; each person has an address and a text of their own. */
const submission = (partner: number, person: number, key: string | null, wanted = true): Move => {
  return { act: 'submit', partner, person, email: person, slot: wanted ? slot : null, serial: person, key }
}

/** What is asked for by whom under the key, and how often. */
const keyed = [
  ...Array.from({ length: 3 }, () => submission(0, 2, 'same')),
  ...Array.from({ length: 3 }, () => submission(2, 3, 'same')),
  submission(0, 4, 'same'),
  submission(2, 5, 'same'),
]

const idOf = ({ told }: Done<Move, Outcome>) => ('status' in told ? (told.body as { id: number }).id : 0)

function rivals(world: BatchWorld, day: Day, random: Random, [held, intake]: readonly number[]): Move[] {
  const request = held as number
  const provider = world.providerIds[slot.provider] as number
  const moves: Move[] = [
    ...keyed,
    { act: 'command', command: { act: 'accept', request } },
    { act: 'command', command: { act: 'decline', request } },
    {
      act: 'command',
      command: { act: 'assign', request: intake as number, provider, startsAt: startOf(day, slot) },
    },
  ]
  return shuffled(random, moves)
}

/** The ids of what was stored under the key of a partner: of the first answers, and of those that came again. */
function storedOf(partner: number, done: readonly Done<Move, Outcome>[]) {
  const theirs = done.filter(({ move }) => move.act === 'submit' && move.partner === partner && move.key)
  const answers = theirs.flatMap(({ told }) => ('status' in told && told.status === 201 ? [told] : []))
  return {
    first: answers.filter(({ replayed }) => replayed === null).length,
    different: new Set(answers.map(({ body }) => JSON.stringify(body))).size,
    again: answers.filter(({ replayed }) => replayed === 'true').length,
  }
}

const rounds = times(20, 2_000)

test(`in ${rounds} rounds of retries by two partners beside who gives the slot back, each key comes to one request at most`, async () => {
  const ends = new Map<string, number>()
  for (let first = 0; first < rounds; first += 200) {
    await using world = await BatchWorld.open(unlimited, OtherProcess.on)
    for (let round = first; round < Math.min(rounds, first + 200); round++) {
      const random = randomFrom(seed + round)
      const day = await world.nextDay()
      const furnished = [
        await world.do(day, submission(0, 0, null), false),
        await world.do(day, submission(2, 1, null, false), false),
      ]
      const [isElsewhere, isInSteps] = [round % 2 === 1, below(random, 3) > 0]
      const atOnce = rivals(world, day, random, furnished.map(idOf)).map(async (move) => {
        if (isInSteps) await Bun.sleep(random() * 4)
        return world.do(day, move, isElsewhere)
      })
      const done = [...furnished, ...(await Promise.all(atOnce))]
      // And once more, when all is over: what was stored is answered again.
      for (const move of keyed) done.push(await world.do(day, move, false))
      for (const partner of [0, 2]) {
        const { first, different, again } = storedOf(partner, done)
        expect({ seed, round, first: first <= 1, different }).toEqual({
          seed,
          round,
          first: true,
          different: first,
        })
        count(ends, first ? `stored for partner ${partner}` : 'not stored', 1)
        count(ends, 'answered again', again)
      }
      const kept = await world.kept(day)
      const order = serialOrder(world.model(day, kept), day.oracle, done)
      if (!order) throw new Error(`no order: ${JSON.stringify({ seed, round, done })}`)
      for (const { told } of done) if ('status' in told && told.code) count(ends, told.code, 1)
    }
  }
  tellFigure(`retries of one key: ${rounds} rounds, ${[...ends].map((end) => end.join(' ')).join(', ')}`)
  expect([...ends.keys()]).toEqual(
    expect.arrayContaining(['not stored', 'answered again', 'slot_unavailable', 'idempotency_key_reused']),
  )
})

function count(ends: Map<string, number>, end: string, times: number): void {
  ends.set(end, (ends.get(end) ?? 0) + times)
}
