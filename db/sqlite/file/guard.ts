import { closeSync, copyFileSync, openSync, realpathSync, statSync } from 'node:fs'
import { Refusal } from '../../../src/domain/errors'
import { whyNoAccess } from '../../../src/files/access'
import { beginFile } from '../../../src/files/durable'
import { unusable } from '../../findings/findings'
import {
  countOf,
  headBytes,
  headIn,
  isDatabase,
  isVacant,
  readBytes,
  readHead,
  requireOurs,
  transactionsBetween,
  userVersionIn,
} from './head'
import { requireOneName } from './lock'

/**
 * Checks a file before SQLite opens it. Must not be called for an open file: closing a descriptor releases SQLite's
 * locks.
 * @param mayBeVacant true if the file may be missing or empty
 * @throws Refusal database_unusable if the file belongs to another program, or the log to another file
 */
export function recognizeFile(path: string, mayBeVacant: boolean): void {
  try {
    recognize(path, mayBeVacant)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    throw unusable(`the database ${path} cannot be read: ${whyNoAccess(path)}`)
  }
}

function recognize(path: string, mayBeVacant: boolean): void {
  if (isVacant(path)) {
    if (mayBeVacant) return
    throw unusable(`there is no database at ${path}`, 'check --database, or run anteroom init')
  }
  if (!isDatabase(path))
    throw unusable('the file is not a readable database', 'check its path, or restore a backup')
  const head = readHead(path)
  requireOurs(head.applicationId, head.isEmpty)
  requireOneName(path)
  const log = `${path}-wal`
  if (ownsItsLog(path, log)) return
  throw unusable(
    `${log} belongs to another database, for example because a backup was copied over a running database`,
    `move ${log} and ${path}-shm away, then start again`,
  )
}

const [logHeadBytes, frameHeadBytes] = [32, 24]
/** Maximum readings of a changing log. A log that still changes then is in use together with this file. */
const readings = 50

function ownsItsLog(path: string, log: string): boolean {
  let before: string | null = null
  for (let reading = 0; reading < readings; reading++) {
    const [own, counts] = [readHead(path), countsIn(log)]
    if (counts === null || fits(own, counts)) return true
    const seen = `${own.userVersion} ${counts}`
    if (seen === before) return false
    before = seen
  }
  return true
}

/** True if the log belongs to the file: the log contains or directly continues the file's last transaction. */
function fits({ isWal, userVersion }: ReturnType<typeof readHead>, counts: readonly number[]): boolean {
  const [first, last] = [counts[0], counts.at(-1)]
  if (first === undefined || last === undefined) return isWal
  return isWal && transactionsBetween(first - 1, countOf(userVersion)) <= transactionsBetween(first - 1, last)
}

/** Returns the transaction counters of all commits in a log (sqlite.org/fileformat.html §4); null without a log. */
function countsIn(log: string): number[] | null {
  const file = openIfThere(log)
  if (file === null) return null
  try {
    const head = readBytes(file, 0, logHeadBytes)
    if (head.length < logHeadBytes) return null
    const frameBytes = frameHeadBytes + head.readUInt32BE(8)
    const counts: number[] = []
    let committed = 0
    for (let at = logHeadBytes; ; at += frameBytes) {
      const frame = readBytes(file, at, frameHeadBytes + headBytes)
      // Frames with other salts remain from an earlier use of the log file.
      const isCurrent = frame.subarray(8, 16).equals(head.subarray(16, 24))
      if (frame.length < frameHeadBytes + headBytes || !isCurrent) return counts.slice(0, committed)
      if (frame.readUInt32BE(0) === 1)
        counts.push(countOf(headIn(frame.subarray(frameHeadBytes)).userVersion))
      if (frame.readUInt32BE(4) !== 0) committed = counts.length
    }
  } finally {
    closeSync(file)
  }
}

/** Returns null if there is no file. A log may vanish, because the last program that closes a database deletes it. */
function openIfThere(path: string): number | null {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return null
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return null
    throw error
  }
}

/** Detects that the database file was deleted or replaced. New writes would be lost at the next start. */
export class FileGuard {
  readonly #opened: readonly (readonly [path: string, id: string | null])[]
  #file: number | null = null
  #seen = 0

  /** @param newest returns the database's user_version, including the log */
  constructor(
    private readonly path: string,
    private readonly newest: () => number,
  ) {
    // Uses the given path. It may be a link, which may later lead to another file.
    this.#opened = [path, `${realpathSync(path)}-wal`].map((one) => [one, idOf(one)])
  }

  /** Also detects, from now on, that the file was overwritten in place, for example by `cp`. For servers only. */
  watchContent(): void {
    if (this.#file !== null) return
    this.#file = openSync(this.path, 'r')
    this.#seen = userVersionIn(this.#file) ?? 0
  }

  /** @throws Refusal storage_failed if the file or the log was replaced, or the file was overwritten */
  require(): void {
    if (this.#opened.some(([path, id]) => id === null || idOf(path) !== id)) {
      // The server must not stop, because only this process can still read a removed file.
      const way =
        'do not stop the server; first move the file and its -wal back, or rescue the data (docs/incident.md)'
      throw new Refusal('storage_failed', 'the database file was removed or replaced', { action: way })
    }
    if (this.#isOverwritten) {
      const way = 'stop the server, then start with the new file or restore a backup'
      throw new Refusal('storage_failed', 'the database file was overwritten and its data is lost', {
        action: way,
      })
    }
  }

  /** Replaces an overwritten file by a copy. SQLite then writes its log into the old file, not into the copy. */
  saveOverwritten(): void {
    if (!this.#isOverwritten) return
    using file = beginFile(this.path, { replace: true })
    copyFileSync(this.path, file.path)
    file.publish()
  }

  /** A checkpoint raises the transaction counter. After an overwrite, the counter is lower or random. */
  get #isOverwritten(): boolean {
    if (this.#file === null) return false
    const found = userVersionIn(this.#file)
    if (found === this.#seen) return false
    if (found === null) return true
    const [seen, count] = [countOf(this.#seen), countOf(found)]
    if (transactionsBetween(seen, count) > transactionsBetween(seen, countOf(this.newest()))) return true
    this.#seen = found
    return false
  }
}

function idOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
