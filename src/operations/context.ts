import type { Directory } from '../directory/directory'
import type { Clock } from '../domain/clock'
import type { Store } from '../domain/store'
import type { Upkeep } from '../domain/upkeep'
import type { Notebook } from './notebook'

/** What operations work on. */
export interface Context {
  readonly directory: Directory
  readonly store: Store
  readonly upkeep: Upkeep
  readonly clock: Clock
  readonly notebook: Notebook
}
