import type { Directory } from '../directory/directory'
import { Refusal } from '../domain/errors'
import type { Limits } from '../domain/limits'
import type { Maintenance } from '../domain/ports/maintenance'
import type { RandomSource } from '../domain/ports/random'
import type { Store } from '../domain/ports/store'
import type { Clock } from '../domain/ports/time'
import type { Keyring } from '../domain/ports/vault'
import type { Notebook } from './notebook'

export interface Records {
  readonly store: Store
  readonly maintenance: Maintenance
  readonly clock: Clock
  readonly keyring: Keyring
  /** Set only in a sandbox with a seed. */
  readonly random?: RandomSource | undefined
  /** The read model; null if the command does not need it. */
  readonly directory: Directory | null
}

/** Called between the steps of long work. Returns a promise if other work must run first. */
export type Turn = () => Promise<void> | undefined

export interface Context extends Records {
  readonly directory: Directory
  readonly notebook: Notebook
  /** The current limits. Read them each time, because an operator may change them at run time. */
  readonly limits: Limits
}

/** Waits for a write, then updates the directory, so that the next read contains the write. */
export async function thenShow<T>({ directory }: Records, write: Promise<T>): Promise<T> {
  const answer = await write
  // The write is committed, even if the directory cannot be updated now.
  await directory?.catchUp()?.catch(() => {})
  return answer
}

// Another round is needed only if the directory changed between the decision and the write.
const maxRounds = 10

/**
 * Optimistic concurrency: repeats a stale attempt on a newer snapshot of the directory.
 * @param attempt gets the number of earlier attempts
 * @throws Refusal storage_busy after 10 attempts, and errors of the attempt
 */
export async function decideOnFreshSnapshot<T>(
  { directory }: Context,
  attempt: (round: number) => Promise<T | 'stale'>,
): Promise<T> {
  for (let round = 0; round < maxRounds; round++) {
    const answer = await attempt(round)
    // The write is committed, even if the directory cannot be updated now. The next request tries again.
    await directory.catchUp()?.catch(() => {})
    if (answer !== 'stale') return answer
  }
  throw new Refusal('storage_busy', 'the provider is being changed', { action: 'try again' })
}
