import { expect } from 'bun:test'
import { below, pick, type Random, randomFrom, seed } from '../hostile/random'
import { isOnPostgres } from '../support/engine'
import { printFigure } from '../support/long'
import { nextTurn, turns } from '../support/turns'
import { BatchWorld, type Day, type Kept, type Move, type Outcome } from './batches'
import { openOtherService } from './other'
import { type Done, serialOrder } from './serial-order'

const unlimited = { openRequests: null, emailConflicts: null }
const roundsOfAWorld = 250

interface Prepared {
  readonly done: readonly Done<Move, Outcome>[]
  /** These run one after another, before the other moves. */
  readonly leads: readonly Move[]
  readonly moves: readonly Move[]
}

/**
 * Runs moves concurrently in each round, on PostgreSQL at four nodes. In half of the rounds, a second service runs the commands.
 * No slot may have two holders, and some order of the moves must explain their results and records. Returns the outcomes.
 */
export async function runRounds(
  title: string,
  rounds: number,
  prepare: (world: BatchWorld, day: Day, random: Random, round: number) => Promise<Prepared>,
  check: (world: BatchWorld, kept: Kept) => Promise<void> = async () => {},
): Promise<string[]> {
  const ends = new Map<string, number>()
  let polled = 0
  for (let from = 0; from < rounds; from += roundsOfAWorld) {
    await using world = await BatchWorld.open(unlimited, openOtherService, isOnPostgres ? 4 : 1)
    for (let round = from; round < Math.min(rounds, from + roundsOfAWorld); round++) {
      const random = randomFrom(seed + round)
      const day = await world.nextDay()
      const prepared = await prepare(world, day, random, round)
      const done = [...prepared.done]
      const [isElsewhere, isInSteps] = [round % 2 === 1, below(random, 3) > 0]
      const atOnce = async (move: Move) => {
        if (isInSteps) await turns(below(random, 60))
        return world.do(day, move, isElsewhere, pick(random, world.nodes))
      }
      const { most, polls } = await mostHolders(world, day, async () => {
        for (const move of prepared.leads) done.push(await atOnce(move))
        done.push(...(await Promise.all(prepared.moves.map(atOnce))))
      })
      const kept = await world.kept(day)
      const order = serialOrder(world.model(day, kept), day.oracle, done)
      if (!order) throw new Error(`no order: ${JSON.stringify({ seed, round, done, kept }, shortly)}`)
      expect({ seed, round, most }).toEqual({ seed, round, most: 1 })
      await check(world, kept)
      polled += polls
      for (const one of done) count(ends, one)
    }
  }
  const figures = [...ends].map(([end, times]) => `${end} ${times}`).toSorted()
  printFigure(`${title}: ${rounds} rounds, ${polled} polls of holders, ${figures.join(', ')}`)
  return [...ends.keys()]
}

const shortly = (name: string, value: unknown) =>
  name === 'availability' ? JSON.stringify(value).length : value

/** Counts the committed requests for each slot of a day until all moves have finished. Returns the highest count. */
async function mostHolders(world: BatchWorld, { oracle }: Day, begin: () => Promise<unknown>) {
  const holders = `SELECT count(*) AS count FROM booking_requests
    WHERE starts_at > ${oracle.now} AND state IN ('pending', 'accepted')
    GROUP BY provider_id, starts_at ORDER BY count DESC LIMIT 1`
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

/** The id of the request that a submission stored. */
export const idOf = ({ result }: Done<Move, Outcome>) =>
  'status' in result ? (result.body as { id: number }).id : 0

function count(ends: Map<string, number>, { move, result }: Done<Move, Outcome>): void {
  const act = move.act === 'command' ? move.command.act : move.act
  const end = `${act}: ${'status' in result ? (result.code ?? result.status) : (result.refusal ?? 'done')}`
  ends.set(end, (ends.get(end) ?? 0) + 1)
}
