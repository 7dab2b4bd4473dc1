import { expect, setDefaultTimeout, test } from 'bun:test'
import { paths } from '../contract/contract'
import { below, pick, type Random, randomFrom, seed, shuffled } from '../hostile/random'
import { isOnPostgres } from '../support/engine'
import { printFigure, times } from '../support/long'
import { turns } from '../support/turns'
import { BatchWorld, type Day, type Move, type Outcome, type Slot, startOf } from './batches'
import { mostHolders } from './holders'
import { openOtherService } from './other'
import { type Done, serialOrder } from './serial-order'

// Partners cancel and reschedule requests while staff accept, decline, move and assign them and others book the slots.
// On PostgreSQL, partners call four nodes.
setDefaultTimeout(7_200_000)

const unlimited = { openRequests: null, emailConflicts: null }
const roundsOfAWorld = 250
const at = (provider: number, place = 0): Slot => ({ provider, place })
/** The slots of two bookings, and two free slots. They overlap only in time, and each member uses one of them. */
const [first, second, third, fourth] = [at(0), at(1), at(2), at(0, 1)] as const

const submission = (partner: number, person: number, slot: Slot | null): Move => {
  return { act: 'submit', partner, person, email: person, slot, serial: person }
}

type Filled = Record<'one' | 'other' | 'intake', number>

/** Submits two bookings of different partners and an intake. Some are accepted. */
async function fill(world: BatchWorld, day: Day, random: Random) {
  const done: Done<Move, Outcome>[] = []
  const moves = [submission(0, 0, first), submission(2, 1, second), submission(0, 2, null)]
  for (const move of moves) done.push(await world.do(day, move, false))
  const [one, other, intake] = done.map(idOf) as [number, number, number]
  for (const request of [one, other]) {
    if (below(random, 2)) done.push(await world.do(day, command('accept', request), false))
  }
  return { done, filled: { one, other, intake } }
}

const idOf = ({ result }: Done<Move, Outcome>) =>
  'status' in result ? (result.body as { id: number }).id : 0
const command = (act: 'accept' | 'decline', request: number): Move => ({
  act: 'command',
  command: { act, request },
})

type Rivals = (filled: Filled, to: (act: 'move' | 'assign', request: number, slot: Slot) => Move) => Move[]

const cancel = (partner: number, request: number): Move => ({ act: 'cancel', partner, request })
const reschedule = (partner: number, request: number, slot: Slot): Move => {
  return { act: 'reschedule', partner, request, slot }
}

const races: Rivals[] = [
  ({ one, intake }, to) => [
    cancel(0, one),
    cancel(0, one),
    command('accept', one),
    command('decline', one),
    to('move', one, third),
    cancel(0, intake),
    to('assign', intake, first),
    submission(2, 3, first),
  ],
  ({ one }) => [
    reschedule(0, one, third),
    reschedule(0, one, third),
    reschedule(0, one, fourth),
    submission(2, 3, third),
    submission(1, 4, first),
    command('decline', one),
    command('accept', one),
    { act: 'read', partner: 0, request: one },
  ],
  ({ one, other }) => [
    reschedule(0, one, second),
    reschedule(2, other, first),
    reschedule(2, other, third),
    reschedule(0, one, third),
    cancel(2, other),
    command('accept', one),
    submission(1, 3, second),
  ],
]

/** Reads a list of changes to its end. Returns the entries and the next URL. */
async function changesSince(world: BatchWorld, from: string, token: string) {
  const results: { id: number }[] = []
  for (let next = from; ; ) {
    const { body } = await world.service.get(next, token)
    results.push(...body.results)
    next = body.next.slice(new URL(body.next).origin.length)
    if (body.results.length === 0) return { results, next }
  }
}

const rounds = times(200, 10_000)

test(`races: partners' cancellations and reschedulings are in some order with staff's acts and bookings (${rounds} rounds)`, async () => {
  const ends = new Map<string, number>()
  let polled = 0
  for (let round = 0; round < rounds; round += roundsOfAWorld) {
    await using world = await BatchWorld.open(unlimited, openOtherService, isOnPostgres ? 4 : 1)
    const cursors = world.partners.map(() => `${paths.changes}?page_size=2`)
    for (let here = round; here < Math.min(rounds, round + roundsOfAWorld); here++) {
      const random = randomFrom(seed + here)
      const day = await world.nextDay()
      const { done, filled } = await fill(world, day, random)
      const [isElsewhere, isInSteps] = [here % 2 === 1, below(random, 3) > 0]
      const rivals = (races[here % races.length] as Rivals)(filled, (act, request, slot) => {
        const [provider, startsAt] = [world.providerIds[slot.provider] as number, startOf(day, slot)]
        return { act: 'command', command: { act, request, provider, startsAt } }
      })
      const atOnce = async (move: Move) => {
        if (isInSteps) await turns(below(random, 60))
        return world.do(day, move, isElsewhere, pick(random, world.nodes))
      }
      const moves = shuffled(random, rivals).slice(0, 4 + below(random, 3))
      const { most, polls } = await mostHolders(world, day, async () => {
        // A move that runs first lets slow commands win too.
        if (below(random, 3) === 0) done.push(await atOnce(moves.pop() as Move))
        done.push(...(await Promise.all(moves.map(atOnce))))
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
      for (const [place, { partner, token }] of world.partners.entries()) {
        const { results, next } = await changesSince(world, cursors[place] as string, token)
        cursors[place] = next
        const theirs = kept.members.filter(({ partnerId }) => partnerId === partner.id).map(({ id }) => id)
        const changed = kept.requests.filter(({ memberId }) => theirs.includes(memberId as number))
        expect(results.map(shown).toSorted(byId)).toEqual(changed.map(shown))
      }
      polled += polls
      for (const one of done) count(ends, one)
    }
  }
  const figures = [...ends].map(([end, times]) => `${end} ${times}`).toSorted()
  printFigure(`partners' changes: ${rounds} rounds, ${polled} polls of holders, ${figures.join(', ')}`)
  expect([...ends.keys()]).toEqual(
    expect.arrayContaining([
      'cancel: 200',
      'cancel: request_closed',
      'reschedule: 200',
      'reschedule: request_closed',
      'reschedule: slot_unavailable',
      'accept: move_unknown',
      'decline: done',
      'decline: move_unknown',
      'move: done',
      'move: move_unknown',
      'assign: done',
      'assign: move_unknown',
      'assign: slot_unavailable',
      'submit: slot_unavailable',
    ]),
  )
})

const byId = (a: { readonly id: number }, b: { readonly id: number }) => a.id - b.id

const shown = ({ id, state, providerId }: { id: number; state?: string; providerId?: number | null }) => {
  return { id, state, providerId }
}

function count(ends: Map<string, number>, { move, result }: Done<Move, Outcome>): void {
  const act = move.act === 'command' ? move.command.act : move.act
  const end = `${act}: ${'status' in result ? (result.code ?? result.status) : (result.refusal ?? 'done')}`
  ends.set(end, (ends.get(end) ?? 0) + 1)
}
