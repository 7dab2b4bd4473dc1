import type { Context } from './context'

/** What is removed in one transaction, so that nobody waits long for it. */
const mostAtOnce = 100

/**
 * Removes the answers that were kept for retries for as long as they may be: they tell of people. Whoever was stopped for a
 * day has a day's to remove, which is left to the next start where a stop is asked for meanwhile.
 */
export async function forgetReplays(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  stop: AbortSignal,
): Promise<void> {
  const now = clock.now()
  while (!stop.aborted && (await store.forgetReplays(now, mostAtOnce)) === mostAtOnce);
}
