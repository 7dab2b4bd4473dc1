import { nextTurn } from '../support/turns'
import type { BatchWorld, Day } from './batches'

/** Counts the committed requests for each slot of a day until all moves have finished. Returns the highest count. */
export async function mostHolders(world: BatchWorld, { oracle }: Day, begin: () => Promise<unknown>) {
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
