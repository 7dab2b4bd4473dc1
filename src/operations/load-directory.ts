import { describeDirectory } from '../directory-files/describe'
import { type DirectoryEntries, type DirectoryFile, readDirectoryFile } from '../directory-files/document'
import { type CsvFile, readTables } from '../directory-files/tables'
import type { Act } from '../domain/audit'
import type { DirectoryLoad } from '../domain/store'
import type { Context } from './context'

/**
 * Makes the directory what a file describes: regions are known by their codes and providers by their refs,
 * so loading a file again changes what differs, and what the file leaves out is deactivated.
 *
 * @throws Refusal directory_invalid with every fault of the file; then nothing was changed
 */
export async function loadDirectory(context: Context, document: unknown, act: Act): Promise<DirectoryLoad> {
  return loadEntries(
    context,
    readDirectoryFile(document, (name) => context.directory.knowsZone(name)),
    act,
  )
}

/** The same for what has been read already. */
export async function loadEntries(
  { store, directory }: Context,
  { regions, providers }: DirectoryEntries,
  _act: Act,
): Promise<DirectoryLoad> {
  const load = await store.loadDirectory(regions, providers)
  await directory.catchUp()
  return load
}

/** What loadEntries would do, without doing it. @throws Refusal directory_invalid for faults that storing finds */
export function previewEntries(
  { store }: Context,
  { regions, providers }: DirectoryEntries,
): Promise<DirectoryLoad> {
  return store.previewDirectory(regions, providers)
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
  return readTables(files, exportDirectory(context), (name) => context.directory.knowsZone(name))
}
