import { Refusal } from '../domain/errors'
import type { Context } from './context'

// Each round means that the operator changed the provider between the decision and the write.
const mostRounds = 10

/**
 * Optimistic concurrency: what was decided on a snapshot of the directory is decided again, on a newer one, for as long
 * as the Store finds it stale. The directory shows what was written before anybody is answered; where the attempt failed,
 * nothing was, and nobody waits.
 *
 * @param attempt is told how often it was tried before
 * @throws Refusal storage_busy, or what the attempt throws
 */
export async function decideOnFreshSnapshot<T>(
  { directory }: Context,
  attempt: (round: number) => Promise<T | 'stale'>,
): Promise<T> {
  for (let round = 0; round < mostRounds; round++) {
    const answer = await attempt(round)
    // What was written is written, even if it cannot be shown at once: whoever asks next has it shown or is told.
    await directory.catchUp()?.catch(() => {})
    if (answer !== 'stale') return answer
  }
  throw new Refusal('storage_busy', 'the provider is being changed; try again')
}
