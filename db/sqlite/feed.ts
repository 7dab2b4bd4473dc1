import type { DirectoryFeed } from '../../src/domain/directory-feed'
import { directoryFeed as feedOver } from '../queries/feed'
import { toRefusal } from './constraint'
import type { Queries } from './query-engine'

/**
 * The directory's feed on SQLite.
 *
 * @param stamp returns a number that changes after each commit
 * @param noteUnread is called with the error if a reading fails
 */
export function directoryFeed(
  queries: Queries,
  stamp: () => number | null,
  noteUnread: (error: unknown) => void,
): DirectoryFeed {
  const feed = feedOver(async (work, isLarge) => {
    const found = await work(queries)
    // So that other requests are answered during a large reading.
    if (isLarge) await new Promise(setImmediate)
    return found
  })
  return {
    stamp,
    changesSince: (version, after) =>
      feed.changesSince(version, after).catch((error) => {
        noteUnread(error)
        throw toRefusal(error)
      }),
  }
}
