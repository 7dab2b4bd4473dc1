import { decideForgetting, expiredBy } from '../domain/decide-replay'
import type { Facts } from '../domain/facts'
import type { Context } from './context'

/** What is removed in one transaction, and how long others may write before the next. */
const [mostAtOnce, pauseMillis] = [100, 100]

/**
 * Removes the answers that were kept for retries for as long as they may be: they tell of people. Where many have expired,
 * some at a time, so that nobody waits long for it, and the next of them no more once it is to stop: what is left is nobody's
 * answer any more, and goes after the next start.
 */
export async function forgetReplays(
  { store, upkeep, clock }: Pick<Context, 'store' | 'upkeep' | 'clock'>,
  stopping: AbortSignal,
): Promise<void> {
  const expired = ({ replays }: Facts) => replays.submittedBy(expiredBy(now), mostAtOnce)
  const now = clock.now()
  // Without a lock first: mostly there is nothing to do.
  while (!stopping.aborted && (await store.read(expired)).length > 0) {
    const count = await store.change(null, (facts) => [expired(facts)], decideForgetting)
    if (count < mostAtOnce) break
    await new Promise((resolve) => setTimeout(resolve, pauseMillis))
  }
  await upkeep.forgetChanges()
}
