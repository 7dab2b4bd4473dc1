import type { DirectoryFeed } from '../../src/domain/directory-feed'
import { directoryFeed as feedOver } from '../queries/feed'
import type { Pool } from './client/pool'
import { readOn } from './read'
import type { Session } from './session'

/** Timeout for one part of a large reading, in ms. */
const partMillis = 5_000

/** The directory's feed on PostgreSQL. Each part is read on any connection: later changes have a later version. */
export function directoryFeed(pool: Pool<Session>): DirectoryFeed {
  return feedOver((work, isLarge) => readOn(pool, work, isLarge ? partMillis : undefined))
}
