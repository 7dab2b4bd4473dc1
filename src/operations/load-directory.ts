import { describeDirectory } from '../directory-files/describe'
import { type DirectoryFile, readDirectoryFile } from '../directory-files/document'
import type { CsvFile } from '../directory-files/table-rows'
import { readTables } from '../directory-files/tables'
import type { Act } from '../domain/audit'
import {
  compareDirectory,
  type DirectoryComparison,
  type DirectoryEntries,
  type DirectoryLoad,
  decideLoad,
} from '../domain/decisions/compare-directory'
import { describeLoad, type LoadDescription } from '../domain/decisions/describe-load'
import { firstDayAt } from '../domain/decisions/directory-losses'
import { listFallenBookings, type StrandedBooking } from './check-bookings'
import { type Context, thenShow } from './context'

/**
 * Makes the directory what a file describes: regions are known by their codes and providers by their refs,
 * so loading a file again changes what differs, and what the file leaves out is deactivated.
 *
 * @throws Refusal directory_invalid with every fault of the file; then nothing was changed
 */
export async function loadDirectory(context: Context, document: unknown, act: Act): Promise<DirectoryLoad> {
  const entries = readDirectoryFile(document, (name) => context.directory.knowsZone(name))
  return loadCompared(context, compareWithDirectory(context, entries), act)
}

/**
 * What a description would change, and on which version of the directory that is so. It takes no lock.
 *
 * @throws Refusal directory_invalid for a region that brings an id which is not its own
 */
export function compareWithDirectory({ directory }: Context, entries: DirectoryEntries): DirectoryComparison {
  return compareDirectory(entries, {
    version: directory.version,
    regions: directory.listAllRegions(),
    providers: directory.listProviders(),
    unreadable: directory.listUnreadable(),
  })
}

/** What a load does to records, and to sessions that are booked. */
export type LoadForetold = LoadDescription & { readonly fallen: readonly StrandedBooking[] }

/** Tells what carrying out a comparison does, before it is done. */
export function foretellLoad(context: Context, comparison: DirectoryComparison, now: number): LoadForetold {
  const description = describeLoad(comparison, context.directory.listProviders(), firstDayAt(now))
  return { ...description, fallen: listFallenBookings(context, comparison, now) }
}

/** Carries out what was compared. @throws Refusal directory_changed if somebody has changed the directory since */
export async function loadCompared(context: Context, comparison: DirectoryComparison, act: Act) {
  const loaded = context.store.change(
    act,
    ({ changes }) => [changes.sinceButTaken(comparison.version)],
    (since) => decideLoad(comparison, since),
    { isLarge: true },
  )
  await thenShow(context, loaded)
  return comparison.load
}

/** The directory as a directory file tells it: loaded again, it changes nothing. */
export function exportDirectory({ directory }: Context): DirectoryFile {
  return describeDirectory(directory.listAllRegions(), directory.listProviders())
}

/**
 * What CSV files describe, together with what is stored where they say nothing.
 *
 * @throws DirectoryInvalid with every fault and the line of the file that it is on
 */
export function readDirectoryTables(context: Context, files: readonly CsvFile[]): DirectoryEntries {
  const { directory } = context
  const unreadable = new Set<unknown>(directory.listUnreadable().map(({ ref }) => ref))
  return readTables(files, { ...exportDirectory(context), unreadable }, (name) => directory.knowsZone(name))
}
