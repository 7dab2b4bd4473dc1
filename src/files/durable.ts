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

/** A file in the making. Disposing of it leaves nothing but what was published. */
export interface UnfinishedFile extends Disposable {
  /** Where it is made: beside its place. */
  readonly path: string
  /** Gives it its name, for good. @throws Error EEXIST if something has it, unless this was to replace it */
  publish(): void
}

/** How a file is made: whether in another's place, and who can read it, its owner alone unless told otherwise. */
interface Making {
  readonly replace?: boolean
  readonly mode?: number
}

/**
 * Begins a file in the folder where it will stand: whole under its name, or not there.
 *
 * @throws Error EEXIST if there is something at the path, unless it is a file that is to be replaced
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

/**
 * Begins a folder that its owner alone can enter, for what shall be gone afterwards in every case. Those that killed
 * processes have left beside it go first.
 *
 * @param path what its name begins with
 */
export function beginFolder(path: string): Disposable & { readonly path: string } {
  removeAbandoned(path)
  const folder = asidePath(path)
  mkdirSync(folder, { mode: 0o700 })
  begun.add(folder)
  return { path: folder, [Symbol.dispose]: () => giveUp(folder) }
}

/** What this process has begun. It is touched from time to time: processes of other containers see that it is alive. */
const begun = new Set<string>()
const touchMillis = 60_000
setInterval(touchBegun, touchMillis).unref()

function touchBegun(): void {
  const now = new Date(Date.now())
  for (const path of begun) if (isThere(path)) utimesSync(path, now, now)
}

/** What a database in the making may have beside it. */
const companions = ['', '-journal', '-wal', '-shm']

function giveUp(path: string): void {
  for (const end of companions) rmSync(`${path}${end}`, { recursive: true, force: true })
  begun.delete(path)
}

/** Removes what this process has begun and not finished: for an end at which no scope is left. */
export function removeBegun(): void {
  for (const path of begun) giveUp(path)
}

/** Writes a file, whole and synced before it has its name. @throws as beginFile does */
export function writeDurably(path: string, content: string, making: Making = {}): void {
  using file = beginFile(path, making)
  writeFileSync(file.path, content)
  file.publish()
}

/**
 * Gives a finished file its name: its content is synced before, the folder after, so that a power cut leaves it whole
 * or leaves none.
 *
 * @throws Error EEXIST if something has the name, unless it is to be replaced
 */
export function nameFile(made: string, path: string, replace = false): void {
  sync(made)
  if (replace) renameSync(made, path)
  else linkOrRename(made, path)
  sync(dirname(path))
}

/** Linking never takes a name from another, but some file systems, as those of memory sticks, know no links. */
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

/** A new path for something that is made for another path. It names the process, so that others see whether that is gone. */
export function asidePath(path: string): string {
  return `${path}.unfinished-${pidSpace}-${process.pid}-${crypto.randomUUID().slice(0, 8)}`
}

const unknown = '0'
/** Where a process id has a meaning: on this machine since its start, and in this container. Only Linux tells. */
const pidSpace = findPidSpace()

function findPidSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
    return boot + readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
  } catch {
    return unknown
  }
}

/** What was begun for a path and not finished, by this process or any other, dead or alive. */
export function listUnfinished(path: string): string[] {
  const folder = dirname(path)
  const prefix = `${basename(path)}.unfinished-`
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(folder, name))
}

/** A process elsewhere is gone if it has not touched a file for so long. */
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
    // Another user's process may not be asked.
    return (error as { code?: string }).code === 'EPERM'
  }
}

/**
 * Removes what was begun for a path by processes that were killed. A folder only if it belongs to this user: in a folder
 * that all users can write to, another user may have made it. A file that cannot be removed is left.
 */
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
    // Another user's, or gone by now.
  }
}

/** The same of all files in the folder of a path: those that a timer makes have another name each time. */
export function removeAbandonedFiles(path: string): void {
  const folder = dirname(path)
  for (const name of readdirSync(folder)) {
    const [, begun] = /^(.+)\.unfinished-[0-9a-f]+-\d+-[0-9a-f]{8}(?:-journal|-wal|-shm)?$/.exec(name) ?? []
    if (begun === undefined) continue
    const found = lstatSync(join(folder, name), { throwIfNoEntry: false })
    if (found?.isFile() && found.uid === process.getuid?.()) removeAbandoned(join(folder, begun))
  }
}

/** Whether anything has the name: a file, a folder, a link that leads nowhere. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Makes what stands at a path, a file or a folder, survive a power cut (fsync). */
export function sync(path: string): void {
  // Windows syncs only what is open for writing, which a folder cannot be: its file system logs the names itself.
  const isWindows = process.platform === 'win32'
  if (isWindows && statSync(path).isDirectory()) return
  const file = openSync(path, isWindows ? 'r+' : 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
