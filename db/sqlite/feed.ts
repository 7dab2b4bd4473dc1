import type { Database } from 'bun:sqlite'
import type { DirectoryChanges, DirectoryFeed, TakenSlot, Version } from '../../src/domain/directory-feed'
import type { Change, ChangedNoun } from '../../src/domain/writes'
import { toRefusal } from './constraint'
import type { Queries } from './queries'

/** How much of a large reading is done before other requests get their turn of the event loop. */
const chunkSize = 500

/**
 * The directory's feed on SQLite: it is asked for each request, and reads what the record of changes names.
 *
 * @param noteUnread is told what made a reading fail
 */
export function directoryFeed(
  database: Database,
  queries: Queries,
  noteUnread: (error: unknown) => void,
): DirectoryFeed {
  const { changes, partners, directory, slots } = queries
  /** In transactions, so that a provider's parts are of one moment while another process writes, and locks are few. */
  const inTransactions = <Item>(
    ids: readonly number[],
    read: (chunk: readonly number[]) => readonly Item[],
  ) => inChunks(ids, database.transaction(read))
  const readProviders = (ids: readonly number[]) =>
    inTransactions(ids, (chunk) => [directory.findProviders(chunk)])
  const readTaken = (ids: readonly number[], after: number) =>
    inTransactions(ids, (chunk) =>
      chunk.map((id): [number, TakenSlot[]] => [id, slots.takenSlots(id, after)]),
    )

  return {
    changesSince: (since, after) =>
      read(since, after).catch((error) => {
        noteUnread(error)
        throw toRefusal(error)
      }),
  }

  async function read(since: Version | null, after: number): Promise<DirectoryChanges | null> {
    // Read before all the rest: what is committed meanwhile has a later version and will be read again.
    const version = changes.newestVersion()
    if (version === since) return null
    const rows = since === null ? null : changes.since(since)
    const providerIds = rows ? idsOf('provider', rows) : directory.listProviderIds()
    const found = await readProviders(providerIds)
    const taken = new Map(await readTaken(rows ? idsOf('taken', rows) : providerIds, after))
    const isTold = (noun: ChangedNoun) => rows === null || rows.some((row) => row.noun === noun)
    return {
      version,
      keys: isTold('partner') ? partners.listKeys() : null,
      regions: isTold('region') ? directory.listRegions() : null,
      providers: found.flatMap(({ providers }) => providers),
      unreadable: found.flatMap(({ unreadable }) => unreadable),
      taken,
    }
  }
}

function idsOf(noun: ChangedNoun, rows: readonly Change[]): number[] {
  return [...new Set(rows.filter((row) => row.noun === noun).map(({ recordId }) => recordId))]
}

async function inChunks<Item>(ids: readonly number[], read: (chunk: readonly number[]) => readonly Item[]) {
  const items: Item[] = []
  for (let start = 0; start < ids.length; start += chunkSize) {
    items.push(...read(ids.slice(start, start + chunkSize)))
    await new Promise((resolve) => setImmediate(resolve))
  }
  return items
}
