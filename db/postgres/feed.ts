import type {
  DirectoryChanges,
  DirectoryFeed,
  TakenSlot,
  UnreadableProvider,
  Version,
} from '../../src/domain/directory-feed'
import type { Provider } from '../../src/domain/provider'
import type { ChangedNoun } from '../../src/domain/writes'
import { providerReader } from '../sealed/providers'
import type { Since } from './changes'
import type { Pool } from './client/pool'
import { readOn } from './read'
import type { Session } from './session'

/** How many providers are read at once. */
const chunkSize = 500
/** Changes that are read in a moment. */
const fewChanges = 50
/** How long it may take to read one portion, where much is read: whoever asks waits, and is told in time that it fails. */
const portionMillis = 5_000

/**
 * The directory's feed on PostgreSQL. It is asked for each request, and those who ask while a look is under way share the next
 * one: what was committed before a look began has a version that it sees, on whichever node it was committed.
 */
export function directoryFeed(pool: Pool<Session>): DirectoryFeed {
  return {
    async changesSince(version, after) {
      const since = version && (await readOn(pool, ({ changes }) => changes.since(version)))
      if (since !== null && since.version === version) return null
      const isMuch = since === null || since.changes.length > fewChanges
      return readChanges((work) => readOn(pool, work, isMuch ? portionMillis : undefined), since, after)
    },
  }
}

/** Reads one portion: on any connection, since what is committed meanwhile will be read again. */
type Read = <T>(work: (session: Session) => T | Promise<T>) => Promise<T>

async function readChanges(read: Read, since: Since | null, after: number): Promise<DirectoryChanges> {
  // Read before all the rest: what is committed meanwhile has a later version and will be read again.
  const version: Version = since?.version ?? (await read(({ changes }) => changes.newestVersion()))
  const isTold = (noun: ChangedNoun) => since === null || since.changes.some((row) => row.noun === noun)
  const chunksOf = (noun: ChangedNoun) => (since ? chunksIn(idsOf(noun, since)) : chunksOfAll(read))
  return {
    version,
    keys: isTold('partner') ? await read(({ partners }) => partners.listKeys()) : null,
    regions: isTold('region') ? await read(({ directory }) => directory.listRegions()) : null,
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

/** Ids in portions. */
type Chunks = AsyncIterable<readonly number[]> | Iterable<readonly number[]>

function* chunksIn(ids: readonly number[]): Generator<readonly number[]> {
  for (let start = 0; start < ids.length; start += chunkSize) yield ids.slice(start, start + chunkSize)
}

async function* chunksOfAll(read: Read): AsyncGenerator<readonly number[]> {
  const after = (id: number) => read(({ directory }) => directory.listProviderIds(id, chunkSize))
  for (let ids = await after(0); ids.length > 0; ids = await after(ids.at(-1) as number)) yield ids
}
