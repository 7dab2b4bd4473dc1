import type { DirectoryLoad } from '../domain/store'
import type { Context } from './context'
import { readDirectoryFile } from './directory-file'

/**
 * Makes the directory what a file describes: regions are known by their codes and providers by their refs,
 * so loading a file again changes what differs, and what the file leaves out is deactivated.
 *
 * @throws Refusal directory_invalid with every fault of the file; then nothing was changed
 */
export async function loadDirectory(
  { store, directory }: Context,
  document: unknown,
): Promise<DirectoryLoad> {
  const { regions, providers } = readDirectoryFile(document, (name) => directory.knowsZone(name))
  const load = await store.loadDirectory(regions, providers)
  await directory.catchUp()
  return load
}
