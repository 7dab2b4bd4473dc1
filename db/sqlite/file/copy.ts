import { constants, Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import type { ReportProgress } from '../../../src/domain/measures'
import type { Manifest } from '../../../src/domain/ports/maintenance'
import type { Protect } from '../../../src/domain/ports/vault'
import { beginFile, isThere, removeAbandonedFiles, type UnfinishedFile } from '../../../src/files/durable'
import { fileFault, noRoomAt, unusable } from '../../findings/findings'
import { isPageFault, runAside } from './aside'
import { newUserVersion, readPragma, schemaOf } from './head'
import { addManifest, dropOthersNotes } from './manifest'

/** Copies a database. No other program may have it open. @throws Refusal database_unusable if no sound copy can be made */
export function copyDatabase(database: Database, path: string): UnfinishedFile {
  const file = begin(path, true)
  try {
    const line = newestLine(database)
    // SQLite keeps the private mode of this empty file. A file that SQLite creates would be readable for all users.
    database.query('VACUUM INTO ?').run(file.path)
    stamp(file.path, line)
    using copy = openCopy(file.path)
    requireSound(faultsIn(copy))
    return file
  } catch (error) {
    file[Symbol.dispose]()
    throw toUnusable(error, path)
  }
}

interface Backup {
  readonly database: Database
  readonly path: string
  /** In ms. */
  readonly madeAt: number
  /** Encrypts the copy; null for a plain backup. */
  readonly protect: Protect | null
  readonly progress: ReportProgress
}

interface MadeBackup extends Disposable {
  readonly file: UnfinishedFile
  readonly manifest: Manifest
}

/**
 * Makes a checked backup with a manifest while servers use the database. The caller publishes the backup.
 * @throws Refusal database_unusable if the file exists or no sound copy could be made; errors of `protect`
 */
export async function makeBackup(backup: Backup): Promise<MadeBackup> {
  const { database, path, protect, progress } = backup
  if (!protect) return making(path, false, (file) => copyAside(backup, file.path))
  return making(path, false, async (file) => {
    const besides = `${database.filename}.copy`
    using plain = await making(besides, true, (copy) => copyAside(backup, copy.path))
    await protect(plain.file.path, file.path, progress)
    return plain.manifest
  })
}

async function making(path: string, replace: boolean, make: (file: UnfinishedFile) => Promise<Manifest>) {
  const file = begin(path, replace)
  try {
    return { file, manifest: await make(file), [Symbol.dispose]: () => file[Symbol.dispose]() }
  } catch (error) {
    file[Symbol.dispose]()
    throw toUnusable(error, path)
  }
}

function begin(path: string, replace: boolean): UnfinishedFile {
  return at(path, () => {
    removeAbandonedFiles(path)
    return beginFile(path, { replace })
  })
}

async function copyAside({ database, madeAt, progress }: Backup, path: string): Promise<Manifest> {
  const line = newestLine(database)
  const bytes = readPragma(database, 'page_count') * readPragma(database, 'page_size')
  const size = () => statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const timer = setInterval(() => progress('copying', size() / bytes), progressMillis)
  try {
    await runAside(database.filename, 'VACUUM INTO ?', [path])
  } finally {
    clearInterval(timer)
  }
  stamp(path, line)
  await checkCopy(path, progress)
  using copy = openCopy(path)
  return await addManifest(copy, madeAt, progress)
}

const progressMillis = 100

/** @throws Refusal database_unusable if a file with this name was created meanwhile */
export function publishCopy(copy: UnfinishedFile): void {
  at(copy.path, () => copy.publish())
}

function at<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw toUnusable(error, path)
  }
}

/** Returns the refusal for a copy that cannot be made, and any other error unchanged. */
export function toUnusable(error: unknown, path: string): unknown {
  const { code } = error as { code?: string }
  if (code === 'SQLITE_CORRUPT') return unusable('the database file is damaged', 'run anteroom doctor')
  return code?.startsWith('SQLITE_') ? noRoomAt(path) : fileFault(error, path)
}

/**
 * Makes a copy independent of the original's log, and removes its manifest.
 * @param line the copy must contain the audit line with this id, or a newer line
 * @throws Refusal database_unusable if that line is missing
 */
export function stamp(path: string, line = 0): void {
  using copy = openCopy(path)
  const schema = schemaOf(readPragma(copy, 'user_version'))
  copy.run(`PRAGMA user_version = ${newUserVersion(schema)}`)
  dropOthersNotes(copy)
  if (newestLine(copy) < line) throw unsound()
}

/** @throws Refusal database_unusable if the copy is not sound */
export async function checkCopy(path: string, progress: ReportProgress): Promise<void> {
  progress('checking the copy')
  requireSound((await runAside(path, 'PRAGMA integrity_check')).flat())
}

/** Accepts records that violate a constraint, because the original has the same records. */
function requireSound(lines: readonly unknown[]): void {
  if (lines.some(isPageFault)) throw unsound()
}

function unsound() {
  return unusable('the copy is damaged', 'check the disk, then try again')
}

/** Opens a copy. No other program may have the copy open. */
export function openCopy(path: string): Database {
  return new Database(path, { readwrite: true, create: false })
}

/** Opens a database for reading. Unlike SQLite by default, creates no files next to the database. */
export function openUntouched(path: string): Database {
  if (isThere(`${path}-wal`)) return new Database(path, { readonly: true })
  const uri = `${Bun.pathToFileURL(path)}?immutable=1`
  return new Database(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI)
}

export function faultsIn(database: Database): string[] {
  return database
    .query<{ integrity_check: string }, []>('PRAGMA integrity_check')
    .all()
    .map(({ integrity_check }) => integrity_check)
    .filter((line) => line !== 'ok')
}

/** Returns the id of the newest audit line. The id never decreases, because a prune also appends a line. */
function newestLine(database: Database): number {
  return database.query<{ id: number }, []>('SELECT coalesce(max(id), 0) AS id FROM audit').get()?.id ?? 0
}
