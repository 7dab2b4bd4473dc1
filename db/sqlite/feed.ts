import type { DirectoryFeed } from '../../src/domain/directory-feed'
import { directoryFeed as feedOver } from '../queries/feed'
import { toRefusal } from './constraint'
import type { LogIndex } from './file/log-index'
import type { Queries } from './queries'

/** The directory's feed on SQLite. @param noteUnread is called with the error if a reading fails */
export function directoryFeed(
  queries: Queries,
  index: LogIndex,
  noteUnread: (error: unknown) => void,
): DirectoryFeed {
  const feed = feedOver(async (work, isLarge) => {
    const found = await work(queries)
    // So that other requests are answered during a large reading.
    if (isLarge) await new Promise(setImmediate)
    return found
  })
  return {
    stamp: () => index.stamp,
    changesSince: (version, after) =>
      feed.changesSince(version, after).catch((error) => {
        noteUnread(error)
        throw toRefusal(error)
      }),
  }
}
