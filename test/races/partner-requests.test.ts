import { expect, setDefaultTimeout, test } from 'bun:test'
import { paths } from '../contract/contract'
import { below, shuffled } from '../hostile/random'
import { times } from '../support/long'
import { type BatchWorld, type Kept, type Move, type Slot, startOf, submission } from './batches'
import { idOf, runRounds } from './rounds'

// Partners cancel and reschedule requests while staff accept, decline, move and assign them and others book the slots.
setDefaultTimeout(7_200_000)

const at = (provider: number, place = 0): Slot => ({ provider, place })
const [first, second, third, fourth] = [at(0), at(1), at(2), at(0, 1)] as const

const command = (act: 'accept' | 'decline', request: number): Move => {
  return { act: 'command', command: { act, request } }
}
const cancel = (partner: number, request: number): Move => ({ act: 'cancel', partner, request })
const reschedule = (partner: number, request: number, slot: Slot): Move => {
  return { act: 'reschedule', partner, request, slot }
}

type Place = (act: 'move' | 'assign', request: number, slot: Slot) => Move

/** The first booking has the first slot and is of partner 0, like the intake. The other has the second, of partner 2. */
const races: ((one: number, other: number, intake: number, to: Place) => Move[])[] = [
  (one, _, intake, to) => [
    cancel(0, one),
    cancel(0, one),
    command('accept', one),
    command('decline', one),
    to('move', one, third),
    cancel(0, intake),
    to('assign', intake, third),
    submission(2, 3, first),
  ],
  (one) => [
    reschedule(0, one, third),
    reschedule(0, one, third),
    reschedule(0, one, fourth),
    submission(2, 3, third),
    submission(1, 4, first),
    command('decline', one),
    command('accept', one),
    { act: 'read', partner: 0, request: one },
  ],
  (one, other) => [
    reschedule(0, one, second),
    reschedule(2, other, first),
    reschedule(2, other, third),
    reschedule(0, one, third),
    cancel(2, other),
    command('accept', one),
    submission(1, 3, second),
  ],
]

/** By token, because each world has other partners. */
const cursors = new Map<string, string>()

/** Each partner's list of changes must continue with the requests of this round, each once. */
async function expectChangesListed(world: BatchWorld, kept: Kept): Promise<void> {
  for (const { partner, token } of world.partners) {
    const results: Kept['requests'][number][] = []
    for (let isLast = false; !isLast; ) {
      const { body } = await world.service.get(cursors.get(token) ?? `${paths.changes}?page_size=2`, token)
      results.push(...body.results)
      cursors.set(token, body.next.replace(world.service.baseUrl, ''))
      isLast = body.results.length === 0
    }
    const isTheirs = (id: number | null) =>
      kept.members.some((one) => one.id === id && one.partnerId === partner.id)
    const theirs = kept.requests.filter(({ memberId }) => isTheirs(memberId))
    expect(results.map(shown).sort()).toEqual(theirs.map(shown).sort())
  }
}

const shown = ({ id, state, providerId }: Kept['requests'][number]) => `${id} ${state} ${providerId}`

const rounds = times(200, 10_000)

test(`races: partners' cancellations and reschedulings are in some order with staff's acts and bookings (${rounds} rounds)`, async () => {
  const ends = await runRounds(
    "partners' changes",
    rounds,
    async (world, day, random, round) => {
      const done = []
      for (const move of [submission(0, 0, first), submission(2, 1, second), submission(0, 2, null)]) {
        done.push(await world.do(day, move, false))
      }
      const [one, other, intake] = done.map(idOf) as [number, number, number]
      for (const request of [one, other]) {
        if (below(random, 2)) done.push(await world.do(day, command('accept', request), false))
      }
      const place: Place = (act, request, slot) => {
        const [provider, startsAt] = [world.providerIds[slot.provider] as number, startOf(day, slot)]
        return { act: 'command', command: { act, request, provider, startsAt } }
      }
      const race = races[round % races.length] as (typeof races)[number]
      const moves = shuffled(random, race(one, other, intake, place)).slice(0, 4 + below(random, 3))
      // A move that runs first lets slow commands win too.
      return { done, leads: below(random, 3) === 0 ? moves.splice(0, 1) : [], moves }
    },
    expectChangesListed,
  )
  const dones = ['cancel: 200', 'reschedule: 200', 'decline: done', 'move: done', 'assign: done']
  const closed = ['cancel: request_closed', 'reschedule: request_closed']
  const unknown = ['accept', 'decline', 'move', 'assign'].map((act) => `${act}: move_unknown`)
  const taken = ['reschedule', 'submit'].map((act) => `${act}: slot_unavailable`)
  expect(ends).toEqual(expect.arrayContaining([...dones, ...closed, ...unknown, ...taken]))
})
