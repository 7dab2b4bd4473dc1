import type {
  DirectoryChanges,
  DirectoryFeed,
  TakenSlot,
  UnreadableProvider,
  Version,
} from '../../src/domain/directory-feed'
import type { Provider } from '../../src/domain/provider'
import type { Change, ChangedNoun } from '../../src/domain/writes'
import { providerReader } from '../sealed/providers'
import { toRefusal } from './constraint'
import type { LogIndex } from './file/log-index'
import type { Queries } from './queries'

/** How much of a large reading is done before other requests get their turn of the event loop. */
const chunkSize = 500

/**
 * The directory's feed on SQLite: it is asked for each request, and reads what the record of changes names.
 *
 * @param noteUnread is told what made a reading fail
 */
export function directoryFeed(
  queries: Queries,
  index: LogIndex,
  noteUnread: (error: unknown) => void,
): DirectoryFeed {
  const { changes, partners, directory, slots } = queries
  return {
    stamp: () => index.stamp,
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
    const isTold = (noun: ChangedNoun) => rows === null || rows.some((row) => row.noun === noun)
    const chunksOf = (noun: ChangedNoun) => (rows ? chunksIn(idsOf(noun, rows)) : chunksOfAll())
    const found = await readProviders(chunksOf('provider'))
    return {
      version,
      keys: isTold('partner') ? partners.listKeys() : null,
      regions: isTold('region') ? directory.listRegions() : null,
      ...found,
      taken: await readTaken(chunksOf('taken'), after),
    }
  }

  async function* chunksOfAll(): Chunks {
    const after = (id: number) => directory.listProviderIds(id, chunkSize)
    for (let ids = after(0); ids.length > 0; ids = after(ids.at(-1) as number)) {
      yield ids
      await nextTurn()
    }
  }

  async function readProviders(chunks: Chunks) {
    const found = { providers: [] as Provider[], unreadable: [] as UnreadableProvider[] }
    const reader = providerReader()
    for await (const chunk of chunks) {
      const { providers, unreadable } = directory.findProviders(chunk, reader)
      for (const provider of providers) found.providers.push(provider)
      for (const one of unreadable) found.unreadable.push(one)
    }
    return found
  }

  async function readTaken(chunks: Chunks, after: number) {
    const taken = new Map<number, readonly TakenSlot[]>()
    for await (const chunk of chunks) {
      for (const [id, held] of slots.takenSlots(chunk, after)) taken.set(id, held)
    }
    return taken
  }
}

function idsOf(noun: ChangedNoun, rows: readonly Change[]): number[] {
  return [...new Set(rows.filter((row) => row.noun === noun).map(({ recordId }) => recordId))]
}

/** Ids in portions, between which others get their turn. */
type Chunks = AsyncGenerator<readonly number[]>

async function* chunksIn(ids: readonly number[]): Chunks {
  for (let start = 0; start < ids.length; start += chunkSize) {
    if (start > 0) await nextTurn()
    yield ids.slice(start, start + chunkSize)
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
