import type { Directory } from '../directory/directory'
import { Refusal } from '../domain/errors'
import type { Limits } from '../domain/limits'
import type { Maintenance } from '../domain/ports/maintenance'
import type { Store } from '../domain/ports/store'
import type { Clock } from '../domain/ports/time'
import type { Keyring } from '../domain/ports/vault'
import type { Notebook } from './notebook'

/** What operations on records work on. */
export interface Records {
  readonly store: Store
  readonly maintenance: Maintenance
  readonly clock: Clock
  readonly keyring: Keyring
  /** The read model that follows the Store; null where none was loaded, since nothing asks it. */
  readonly directory: Directory | null
}

/**
 * Called between the steps of long work. Returns a promise if others must have their turn first: resolves when the work may
 * go on.
 */
export type Turn = () => Promise<void> | undefined

/** What operations work on that ask the read model too. */
export interface Context extends Records {
  readonly directory: Directory
  readonly notebook: Notebook
  /** As they are at this moment: to be asked each time, since an operator may set others while it runs. */
  readonly limits: Limits
}

/** Has the directory show what was written before anybody is answered. */
export async function thenShow<T>({ directory }: Records, write: Promise<T>): Promise<T> {
  const answer = await write
  // What was written is written, even if it cannot be shown at once.
  await directory?.catchUp()?.catch(() => {})
  return answer
}

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
