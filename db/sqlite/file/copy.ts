import { constants, Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import type { Manifest, TellStep } from '../../../src/domain/upkeep'
import type { Protect } from '../../../src/domain/vault'
import { beginFile, isThere, removeAbandonedBeside, type UnfinishedFile } from '../../../src/files/durable'
import { fileFault, noRoomAt, unusable } from '../../findings/unusable'
import { runAside } from './aside'
import { newUserVersion, readPragma, schemaOf } from './head'
import { addManifest, dropOthersNotes } from './manifest'

/**
 * A sound copy of a database, checked and yet to be published, which its owner alone can read; in place of an earlier one.
 * Nobody else may have the database open.
 *
 * @throws Refusal database_unusable if no sound copy could be made
 */
export function copyDatabase(database: Database, path: string): UnfinishedFile {
  const file = begin(path, true)
  try {
    const line = newestLine(database)
    // SQLite would make the copy readable for all; into an empty file it writes without touching its mode.
    database.query('VACUUM INTO ?').run(file.path)
    stamp(file.path, line)
    using copy = openCopy(file.path)
    holdSound(faultsIn(copy))
    return file
  } catch (error) {
    file[Symbol.dispose]()
    throw toUnusable(error, path)
  }
}

/** What a backup is made of, and where. */
interface Backup {
  readonly database: Database
  readonly path: string
  /** ms */
  readonly madeAt: number
  /** Encrypts it. What is readable on the way lies beside the database: who can read it there could have read that. */
  readonly protect: Protect | null
  readonly tell: TellStep
}

/** A backup that is yet to be published. */
export interface MadeBackup extends Disposable {
  readonly file: UnfinishedFile
  readonly manifest: Manifest
}

/**
 * A backup of a database on which others go on working, checked, with its manifest inside, and yet to be published.
 *
 * @throws Refusal database_unusable if there is something already, or no sound copy could be made; whatever `protect`
 *   throws
 */
export async function makeBackup(backup: Backup): Promise<MadeBackup> {
  const { database, path, protect, tell } = backup
  if (!protect) return making(path, false, (file) => copyAside(backup, file.path))
  return making(path, false, async (file) => {
    const besides = `${database.filename}.copy`
    using plain = await making(besides, true, (copy) => copyAside(backup, copy.path))
    await protect(plain.file.path, file.path, tell)
    return plain.manifest
  })
}

/** Begins a file and has it made; where that fails, nothing is left of it. */
async function making(
  path: string,
  replace: boolean,
  make: (file: UnfinishedFile) => Promise<Manifest>,
): Promise<MadeBackup> {
  const file = begin(path, replace)
  const dispose = () => file[Symbol.dispose]()
  try {
    return { file, manifest: await make(file), [Symbol.dispose]: dispose }
  } catch (error) {
    dispose()
    throw toUnusable(error, path)
  }
}

function begin(path: string, replace: boolean): UnfinishedFile {
  try {
    removeAbandonedBeside(path)
    return beginFile(path, { replace })
  } catch (error) {
    throw toUnusable(error, path)
  }
}

async function copyAside({ database, madeAt, tell }: Backup, path: string): Promise<Manifest> {
  const line = newestLine(database)
  const bytes = readPragma(database, 'page_count') * readPragma(database, 'page_size')
  const telling = setInterval(() => tell('copying', sizeOf(path) / bytes), tellMillis)
  try {
    await runAside(database.filename, 'VACUUM INTO ?', [path])
  } finally {
    clearInterval(telling)
  }
  stamp(path, line)
  await checkCopy(path, tell)
  using copy = openCopy(path)
  return await addManifest(copy, madeAt, tell)
}

const tellMillis = 100

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Gives a copy its name. @throws Refusal database_unusable if something has it by now */
export function publishCopy(copy: UnfinishedFile): void {
  try {
    copy.publish()
  } catch (error) {
    throw toUnusable(error, copy.path)
  }
}

/** What keeps a file or a copy from being written at a path, in the operator's words; any other error is what it was. */
export function toUnusable(error: unknown, path: string): unknown {
  const { code } = error as { code?: string }
  if (code === 'SQLITE_CORRUPT') return unusable('the database file is damaged; anteroom doctor tells more')
  return code?.startsWith('SQLITE_') ? noRoomAt(path) : fileFault(error, path)
}

/**
 * Makes a copy a file of its own, to which no log of the original's and no manifest belongs.
 *
 * @param line the newest audit line that it has at least
 * @throws Refusal database_unusable if it has not
 */
export function stamp(path: string, line = 0): void {
  using copy = openCopy(path)
  const schema = schemaOf(readPragma(copy, 'user_version'))
  copy.run(`PRAGMA user_version = ${newUserVersion(schema)}`)
  dropOthersNotes(copy)
  if (newestLine(copy) < line) throw unsound()
}

/** Sees whether a copy is whole. @throws Refusal database_unusable if it is not */
export async function checkCopy(path: string, tell: TellStep): Promise<void> {
  tell('checking the copy')
  holdSound((await runAside(path, 'PRAGMA integrity_check')).map(([line]) => String(line)))
}

/** What a record holds against a rule it holds in the original too: a copy of it is what it takes to mend it. */
function holdSound(lines: readonly string[]): void {
  const isFault = (line: string) => line !== 'ok' && !/^(CHECK constraint failed|NULL value) in /.test(line)
  if (lines.some(isFault)) throw unsound()
}

function unsound() {
  return unusable('the copy is not sound')
}

/** Opens a copy that nobody else knows of. */
export function openCopy(path: string): Database {
  return new Database(path, { readwrite: true, create: false })
}

/** Opens a database to be read, and makes no file next to it: SQLite would make a log even for a reader. */
export function openUntouched(path: string): Database {
  if (isThere(`${path}-wal`)) return new Database(path, { readonly: true })
  const uri = `${Bun.pathToFileURL(path)}?immutable=1`
  return new Database(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI)
}

/** What an integrity check says against a database; nothing if it is sound. */
export function faultsIn(database: Database): string[] {
  return database
    .query<{ integrity_check: string }, []>('PRAGMA integrity_check')
    .all()
    .map(({ integrity_check }) => integrity_check)
    .filter((line) => line !== 'ok')
}

/** The newest audit line. What is pruned has a newer one that tells of it. */
function newestLine(database: Database): number {
  return database.query<{ id: number }, []>('SELECT coalesce(max(id), 0) AS id FROM audit').get()?.id ?? 0
}
