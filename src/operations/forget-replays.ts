import type { Context } from './context'

/** What is removed in one transaction, and how long others may write before the next. */
const [mostAtOnce, pauseMillis] = [100, 100]

/**
 * Removes the answers that were kept for retries for as long as they may be: they tell of people. Where many have expired,
 * some at a time, so that nobody waits long for it, and the next of them no more once it is to stop: what is left is nobody's
 * answer any more, and goes after the next start.
 */
export async function forgetReplays(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  stopping: AbortSignal,
): Promise<void> {
  const now = clock.now()
  while (!stopping.aborted && (await store.forgetReplays(now, mostAtOnce)) === mostAtOnce) {
    await new Promise((resolve) => setTimeout(resolve, pauseMillis))
  }
}
