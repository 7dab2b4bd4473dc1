import type { Context } from './context'

/** What is removed in one transaction, so that nobody waits long for it. */
const mostAtOnce = 100

/** Removes the answers that were kept for retries for as long as they may be: they tell of people. */
export async function forgetReplays({ store, clock }: Pick<Context, 'store' | 'clock'>): Promise<void> {
  const now = clock.now()
  while ((await store.forgetReplays(now, mostAtOnce)) === mostAtOnce);
}
