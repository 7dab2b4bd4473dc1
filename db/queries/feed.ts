import type {
  DirectoryChanges,
  DirectoryFeed,
  TakenSlot,
  UnreadableProvider,
} from '../../src/domain/ports/directory-feed'
import type { MaybePromise } from '../../src/domain/ports/store'
import type { ChangedNoun } from '../../src/domain/ports/writes'
import type { Provider } from '../../src/domain/provider'
import { providerReader } from '../sealed/providers'
import type { Since } from './changes'
import type { Queries } from './queries'

const chunkSize = 500
/** A read of more changes than this counts as large. */
const fewChanges = 50

type FeedQueries = Pick<Queries, 'changes' | 'partners' | 'directory' | 'slots'>

/** @param isLarge true if the read has many parts, so that other work must run between two parts */
type ReadPart = <T>(work: (queries: FeedQueries) => MaybePromise<T>, isLarge: boolean) => Promise<T>

type Read = <T>(work: (queries: FeedQueries) => MaybePromise<T>) => Promise<T>

/** Each request reads the feed. Without changes, that is a single query. */
export function directoryFeed(readPart: ReadPart): DirectoryFeed {
  return {
    async changesSince(version, after) {
      const since = version && (await readPart(({ changes }) => changes.since(version), false))
      if (since !== null && since.version === version) return null
      const isLarge = since === null || since.changes.length > fewChanges
      return readChanges((work) => readPart(work, isLarge), since, after)
    },
  }
}

async function readChanges(read: Read, since: Since | null, after: number): Promise<DirectoryChanges> {
  // The version is read before the data. The next read thus loads all changes that are committed during this read.
  const version = since?.version ?? (await read(({ changes }) => changes.newestVersion()))
  const isChanged = (noun: ChangedNoun) => since === null || since.changes.some((row) => row.noun === noun)
  const chunksOf = (noun: ChangedNoun) => (since ? chunksIn(idsOf(noun, since)) : chunksOfAll(read))
  return {
    version,
    keys: isChanged('partner') ? await read(({ partners }) => partners.listKeys()) : null,
    regions: isChanged('region') ? await read(({ directory }) => directory.listRegions()) : null,
    ...(await readProviders(read, chunksOf('provider'))),
    taken: await readTaken(read, chunksOf('taken'), after),
    booked: since?.booked,
  }
}

async function readProviders(read: Read, chunks: Chunks) {
  const found = { providers: [] as Provider[], unreadable: [] as UnreadableProvider[] }
  const reader = providerReader()
  for await (const chunk of chunks) {
    const { providers, unreadable } = await read(({ directory }) => directory.findProviders(chunk, reader))
    for (const provider of providers) found.providers.push(provider)
    for (const one of unreadable) found.unreadable.push(one)
  }
  return found
}

async function readTaken(read: Read, chunks: Chunks, after: number) {
  const taken = new Map<number, readonly TakenSlot[]>()
  for await (const chunk of chunks) {
    for (const [id, held] of await read(({ slots }) => slots.takenSlots(chunk, after))) taken.set(id, held)
  }
  return taken
}

function idsOf(noun: ChangedNoun, { changes }: Since): number[] {
  return [...new Set(changes.filter((row) => row.noun === noun).map(({ recordId }) => recordId))]
}

type Chunks = AsyncIterable<readonly number[]> | Iterable<readonly number[]>

function* chunksIn(ids: readonly number[]): Generator<readonly number[]> {
  for (let start = 0; start < ids.length; start += chunkSize) yield ids.slice(start, start + chunkSize)
}

async function* chunksOfAll(read: Read): AsyncGenerator<readonly number[]> {
  const after = (id: number) => read(({ directory }) => directory.listProviderIds(id, chunkSize))
  for (let ids = await after(0); ids.length > 0; ids = await after(ids.at(-1) as number)) yield ids
}
