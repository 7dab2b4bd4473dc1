import type { DirectoryLoad } from '../domain/store'
import type { Fault } from '../domain/validation'
import type { Context } from './context'
import { type CsvFile, readCsvDocument } from './directory-csv'
import { type DirectoryEntries, DirectoryInvalid, readDirectoryFile } from './directory-file'
import { exportDirectory } from './export-directory'

/**
 * Makes the directory what a file describes: regions are known by their codes and providers by their refs,
 * so loading a file again changes what differs, and what the file leaves out is deactivated.
 *
 * @throws Refusal directory_invalid with every fault of the file; then nothing was changed
 */
export async function loadDirectory(context: Context, document: unknown): Promise<DirectoryLoad> {
  return loadEntries(
    context,
    readDirectoryFile(document, (name) => context.directory.knowsZone(name)),
  )
}

/** The same for what has been read already. */
export async function loadEntries(
  { store, directory }: Context,
  { regions, providers }: DirectoryEntries,
): Promise<DirectoryLoad> {
  const load = await store.loadDirectory(regions, providers)
  await directory.catchUp()
  return load
}

/**
 * What CSV files describe, together with what is stored where they say nothing.
 *
 * @throws DirectoryInvalid with every fault and the line of the file that it is on
 */
export function readDirectoryTables(context: Context, files: readonly CsvFile[]): DirectoryEntries {
  const { document, faults, placeOf } = readCsvDocument(files, exportDirectory(context))
  const read = tryToRead(context, document)
  if ('entries' in read && faults.length === 0) return read.entries
  const placed =
    'faults' in read ? read.faults.map(({ path, fault }) => ({ path: placeOf(path), fault })) : []
  throw new DirectoryInvalid([...faults, ...placed].sort(byLine))
}

function tryToRead(
  { directory }: Context,
  document: unknown,
): { entries: DirectoryEntries } | { faults: readonly Fault[] } {
  try {
    return { entries: readDirectoryFile(document, (name) => directory.knowsZone(name)) }
  } catch (error) {
    if (!(error instanceof DirectoryInvalid)) throw error
    return { faults: error.faults }
  }
}

const { compare } = new Intl.Collator('en', { numeric: true })

/** File by file and line by line; the faults of one line as they were found. */
function byLine(a: Fault, b: Fault): number {
  const lineOf = ({ path }: Fault) => path.replace(/,[^,]*$/, '')
  return compare(lineOf(a), lineOf(b))
}
