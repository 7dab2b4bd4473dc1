import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A temporary file, which is deleted at the end of its scope unless it was published. */
export interface UnfinishedFile extends Disposable {
  /** Path of the temporary file, in the target's folder. */
  readonly path: string
  /** Moves the file to its final name. @throws Error EEXIST if the name is taken and `replace` was not set */
  publish(): void
}

/** `replace` allows overwriting a file; `mode` defaults to 600. */
interface Making {
  readonly replace?: boolean
  readonly mode?: number
}

/**
 * Creates a temporary file in the target's folder, so that the target is either complete or absent.
 *
 * @throws Error EEXIST if the path exists. With `replace`, only if the path is not a file.
 */
export function beginFile(path: string, { replace = false, mode = 0o600 }: Making = {}): UnfinishedFile {
  if (isThere(path) && !(replace && statSync(path).isFile())) throw taken()
  const target = isThere(path) ? realpathSync(path) : path
  const aside = asidePath(target)
  closeSync(openSync(aside, 'wx', mode))
  begun.add(aside)
  return {
    path: aside,
    publish: () => nameFile(aside, target, replace),
    [Symbol.dispose]: () => giveUp(aside),
  }
}

/** Creates a temporary folder (mode 700) whose path begins with `path`. Deletes the folders of killed processes. */
export function beginFolder(path: string): Disposable & { readonly path: string } {
  removeAbandoned(path)
  const folder = asidePath(path)
  mkdirSync(folder, { mode: 0o700 })
  begun.add(folder)
  return { path: folder, [Symbol.dispose]: () => giveUp(folder) }
}

/** Unfinished files. Touched every minute, so that processes in other containers see that this process still runs. */
const begun = new Set<string>()
const touchMillis = 60_000
setInterval(touchBegun, touchMillis).unref()

function touchBegun(): void {
  const now = new Date(Date.now())
  for (const path of begun) if (isThere(path)) utimesSync(path, now, now)
}

const companions = ['', '-journal', '-wal', '-shm']

function giveUp(path: string): void {
  for (const end of companions) rmSync(`${path}${end}`, { recursive: true, force: true })
  begun.delete(path)
}

/** Deletes the unfinished files of this process. Call this before an exit by a signal, which ends no scope. */
export function removeBegun(): void {
  for (const path of begun) giveUp(path)
}

/** Writes atomically and syncs to disk. @throws Error EEXIST, see beginFile */
export function writeDurably(path: string, content: string, making: Making = {}): void {
  using file = beginFile(path, making)
  writeFileSync(file.path, content)
  file.publish()
}

/** Moves a file to its final name, and syncs content and folder. @throws Error EEXIST, see beginFile */
export function nameFile(made: string, path: string, replace = false): void {
  sync(made)
  if (replace) renameSync(made, path)
  else linkOrRename(made, path)
  sync(dirname(path))
}

/** Links the file, because a link never overwrites a file. Renames the file on file systems without links, such as FAT. */
function linkOrRename(made: string, path: string): void {
  try {
    linkSync(made, path)
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes((error as { code?: string }).code ?? '')) throw error
    if (isThere(path)) throw taken()
    renameSync(made, path)
  }
}

function taken(): Error {
  return Object.assign(new Error('the name is taken'), { code: 'EEXIST' })
}

/** Returns a temporary path in the same folder. The process id in the path shows if the process still runs. */
export function asidePath(path: string): string {
  return `${path}.unfinished-${pidSpace}-${process.pid}-${crypto.randomUUID().slice(0, 8)}`
}

const unknown = '0'
/** Identifies the boot and the PID namespace in which a process id is valid. Known only on Linux. */
const pidSpace = findPidSpace()

function findPidSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
    return boot + readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
  } catch {
    return unknown
  }
}

export function listUnfinished(path: string): string[] {
  const folder = dirname(path)
  const prefix = `${basename(path)}.unfinished-`
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(folder, name))
}

/** In ms. A file not touched for this long is abandoned. Process ids of other containers cannot be checked. */
const abandonedMillis = 10 * 60_000

function isAbandoned(path: string, touchedAt: number): boolean {
  const [, space, pid] = /\.unfinished-([0-9a-f]+)-(\d+)-/.exec(basename(path)) ?? []
  const isOurs = space === pidSpace && space !== unknown
  return (isOurs && !isRunning(Number(pid))) || Date.now() - touchedAt > abandonedMillis
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM means that the process exists but belongs to another user.
    return (error as { code?: string }).code === 'EPERM'
  }
}

/** Deletes the unfinished files of killed processes. In a shared folder, skips folders of other users. */
export function removeAbandoned(path: string): void {
  for (const left of listUnfinished(path)) {
    const found = lstatSync(left, { throwIfNoEntry: false })
    const isOther = found?.isDirectory() && found.uid !== process.getuid?.()
    if (found && !isOther && isAbandoned(left, found.mtimeMs)) tryToRemove(left)
  }
}

function tryToRemove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // The file belongs to another user, or is already deleted.
  }
}

/** Like removeAbandoned, but for all names in the folder. Each scheduled backup has a new name. */
export function removeAbandonedFiles(path: string): void {
  const folder = dirname(path)
  for (const name of readdirSync(folder)) {
    const [, begun] = /^(.+)\.unfinished-[0-9a-f]+-\d+-[0-9a-f]{8}(?:-journal|-wal|-shm)?$/.exec(name) ?? []
    if (begun === undefined) continue
    const found = lstatSync(join(folder, name), { throwIfNoEntry: false })
    if (found?.isFile() && found.uid === process.getuid?.()) removeAbandoned(join(folder, begun))
  }
}

/** Also true for a broken symbolic link. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

export function sync(path: string): void {
  // On Windows, fsync needs write access, and folders cannot be opened for writing. Windows logs new names itself.
  const isWindows = process.platform === 'win32'
  if (isWindows && statSync(path).isDirectory()) return
  const file = openSync(path, isWindows ? 'r+' : 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
