import type { Directory } from '../directory/directory'
import type { Clock } from '../domain/clock'
import type { Limits } from '../domain/limits'
import type { Store } from '../domain/store'
import type { Upkeep } from '../domain/upkeep'
import type { Custody } from '../domain/vault'
import type { Notebook } from './notebook'

/** What operations on records work on. */
export interface Records {
  readonly store: Store
  readonly upkeep: Upkeep
  readonly clock: Clock
  readonly custody: Custody
  /** The read model that follows the Store; null where none was loaded, since nothing asks it. */
  readonly directory: Directory | null
}

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
