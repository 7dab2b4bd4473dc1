import type { Database } from 'bun:sqlite'
import { chmodSync, copyFileSync, statSync } from 'node:fs'
import { Refusal, splitAction } from '../../../src/domain/errors'
import type { ReportProgress } from '../../../src/domain/measures'
import type { Restoring } from '../../../src/domain/ports/database'
import type { RestoreDiff } from '../../../src/domain/ports/database-copy'
import type { Content, Manifest } from '../../../src/domain/ports/maintenance'
import type { MasterKey } from '../../../src/domain/ports/vault'
import { beginFile, isThere, removeAbandoned } from '../../../src/files/durable'
import { unusable } from '../../findings/findings'
import { generationName, newGeneration } from '../../queries/requests/partner-requests'
import { prove, recognize } from '../open'
import { settingsOf } from '../query-engine'
import { checkCopy, openCopy, stamp, toUnusable } from './copy'
import { isDatabase } from './head'
import { contentOf, readManifest } from './manifest'
import { compareWith, openReplaced } from './replaced'

interface RestoringFile extends Omit<Restoring, 'takeKey'> {
  readonly path: string
  readonly masterKey: MasterKey
  readonly progress: ReportProgress
}

/**
 * Restores a backup. Returns the manifest; null if the backup has none.
 * @throws Refusal database_unusable if a check fails or the path is not free; errors of `decrypt` and `agree`
 */
export async function restoreDatabase(restoring: RestoringFile): Promise<Manifest | null> {
  const { backup, path, decrypt, progress, against, agree } = restoring
  requireNothingAt(path)
  // A pipe is rejected, because it could block forever and can be read only once.
  if (!statSync(backup).isFile()) throw unusable('the backup path is not a file')
  const log = isDatabase(backup) ? [`${backup}-wal`, `${backup}-journal`].find(holdsAnything) : undefined
  if (log)
    throw unusable(
      `${log} contains data that the file lacks`,
      'make a backup of the database with anteroom backup',
    )
  using replaced = against === undefined ? null : openReplaced(against)
  removeAbandoned(path)
  try {
    using file = beginFile(path)
    if (isDatabase(backup)) {
      copyFileSync(backup, file.path)
      // copyFile keeps the mode of the original.
      chmodSync(file.path, 0o600)
    } else await decrypt(backup, file.path, progress)
    const manifest = adopt(file.path, restoring)
    await checkCopy(file.path, progress)
    if (manifest) await compareContent(file.path, manifest, progress)
    await agree?.(manifest, replaced && diffFrom(replaced, file.path))
    forgetCursors(file.path)
    file.publish()
    return manifest
  } catch (error) {
    throw toUnusable(error, path)
  }
}

/** @throws Refusal database_unusable if a file, or the log of a former database, is at the path */
export function requireNothingAt(path: string, taken = 'the file already exists; choose another path'): void {
  const left = [path, `${path}-wal`, `${path}-shm`, `${path}-journal`].find(isThere)
  if (left === path) throw new Refusal('database_unusable', ...splitAction(taken))
  // A running server may still have the former database open, even if the file was deleted.
  const way = 'stop all servers of this path, then move the file away (docs/incident.md)'
  if (left) throw unusable(`${left} belongs to another database`, way)
}

function diffFrom(replaced: Database, path: string): RestoreDiff {
  using copy = openCopy(path)
  return compareWith(replaced, copy)
}

async function compareContent(path: string, manifest: Manifest, progress: ReportProgress): Promise<void> {
  using database = openCopy(path)
  const found = await contentOf(database, progress)
  if (found.sha256 === manifest.sha256) return
  throw unusable(`the backup was altered (${differenceOf(found, manifest)})`, 'use another backup')
}

function differenceOf(found: Content, manifest: Manifest): string {
  const names = Object.keys({ ...manifest.counts, ...found.counts })
  const table = names.find((name) => found.counts[name] !== manifest.counts[name])
  if (table === undefined) return 'its content differs from the hash in its manifest'
  return `${table} has ${found.counts[table] ?? 0} records instead of ${manifest.counts[table] ?? 0}`
}

/** Positions after the backup may be given to other changes, so partners must read the list of changes again. */
function forgetCursors(path: string): void {
  using copy = openCopy(path)
  settingsOf(copy).write(generationName, newGeneration())
}

function holdsAnything(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
}

function adopt(path: string, keyed: RestoringFile): Manifest | null {
  if (!isDatabase(path)) throw unusable('the backup does not contain a database')
  const manifest = proven(path, keyed)
  stamp(path)
  return manifest
}

function proven(path: string, keyed: Pick<RestoringFile, 'purpose' | 'masterKey'>): Manifest | null {
  using database = openCopy(path)
  if (recognize(database) === 0) throw unusable('the database in the backup is empty')
  prove({ ...keyed, database })
  return readManifest(database)
}
