import type { Database } from 'bun:sqlite'
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { whyNoAccess } from '../../../src/files/access'
import { unusable } from '../../findings/unusable'

// The head of a SQLite file and of its write-ahead log, read without opening either (sqlite.org/fileformat.html): what
// SQLite would make of a file that is not ours, or of a log that is not the file's, must not happen.

/** Marks a SQLite file as ours: "Ante" in ASCII. */
export const applicationId = 0x416e7465

const headBytes = 100
const [writeFormatAt, schemaCookieAt, userVersionAt, applicationIdAt] = [18, 40, 60, 68]
const writeAheadLog = 2
const logHeadBytes = 32
const frameHeadBytes = 24

// user_version holds the schema's number below, and above it the number of the last transaction, from a random one on
// in each file that is made: so a log tells which file it goes on from.
const schemaBits = 8
const countMask = 0x7fffff

/** The number of migrations that a database has had, from its user_version. */
export function schemaOf(userVersion: number): number {
  return userVersion & ((1 << schemaBits) - 1)
}

/** A user_version for a file that no log belongs to yet. */
export function newUserVersion(schema: number): number {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1))
  return ((random & countMask) << schemaBits) | schema
}

/** Counts the transaction that is open, which puts the file's head into the log; `schema` where it brings another. */
export function countTransaction(database: Database, schema?: number): void {
  const version = readPragma(database, 'user_version')
  const count = ((version >>> schemaBits) + 1) & countMask
  database.run(`PRAGMA user_version = ${(count << schemaBits) | (schema ?? schemaOf(version))}`)
}

/** How many transactions one head of a file is after another, going round once there were too many to count. */
export function transactionsBetween(earlier: number, later: number): number {
  return ((later >>> schemaBits) - (earlier >>> schemaBits)) & countMask
}

/** The user_version of a file that is open; null where it has no head of ours. */
export function userVersionIn(file: number): number | null {
  const head = readAt(file, 0, headBytes)
  const isOurs = head.length === headBytes && head.readUInt32BE(applicationIdAt) === applicationId
  return isOurs ? head.readUInt32BE(userVersionAt) : null
}

export function readPragma(database: Database, name: string): number {
  const row = database.query<Record<string, number>, []>(`PRAGMA ${name}`).get()
  return Object.values(row ?? {})[0] ?? 0
}

/** Whether there is nothing at a path, or an empty file. @throws Refusal database_unusable for what is no file */
export function isVacant(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && !found.isFile()) throw unusable('what is at the database path is not a file')
  return (found?.size ?? 0) === 0
}

/**
 * Holds a file to be a database of ours, or none yet, beside no log but its own. Nothing is changed or waited for. Only
 * for a file that this process has not opened: closing it here would give up the locks that SQLite holds on it.
 *
 * @param mayBeVacant whether there may be nothing yet
 * @throws Refusal database_unusable for what is no file, no database, another application's, or beside a log that was
 *   left by another database
 */
export function recognizeFile(path: string, mayBeVacant: boolean): void {
  try {
    recognize(path, mayBeVacant)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    throw unusable(`the database ${path} may not be read: ${whyNoAccess(path)}`)
  }
}

function recognize(path: string, mayBeVacant: boolean): void {
  if (isVacant(path)) {
    if (mayBeVacant) return
    throw unusable(`there is no database at ${path}; anteroom init makes one`)
  }
  if (!isDatabase(path)) throw unusable('the file is not a database that can be read')
  const head = readStart(path, headBytes)
  const id = head.readUInt32BE(applicationIdAt)
  const isEmpty = head.readUInt32BE(schemaCookieAt) === 0
  requireOurs(id, isEmpty)
  const left = !ownsItsLog(path) ? `${path}-wal` : !ownsItsJournal(path, head) ? `${path}-journal` : null
  if (left === null) return
  throw unusable(
    `${left} was left by another database, as when a backup is copied over one that was not stopped: ` +
      `move ${left} and ${path}-shm away, then start again`,
  )
}

/** Whether a file begins as SQLite's do. */
export function isDatabase(path: string): boolean {
  const head = readStart(path, headBytes)
  return head.length === headBytes && head.toString('latin1', 0, 16) === 'SQLite format 3\0'
}

/** Holds a file to be marked as ours, or to be an empty database. @throws Refusal database_unusable */
export function requireOurs(id: number, isEmpty: boolean): void {
  if (id === applicationId || (id === 0 && isEmpty)) return
  throw unusable('the file belongs to another application')
}

/** How often a log that changes while it is read is read anew: then somebody works with both, and they fit. */
const readings = 50

function ownsItsLog(path: string): boolean {
  const log = `${path}-wal`
  for (let reading = 0; reading < readings; reading++) {
    const before = headsOf(path, log)
    if (before.log.length < logHeadBytes) return true
    const owns = fits(before.file, log, before.log)
    const after = headsOf(path, log)
    if (owns || (before.file.equals(after.file) && before.log.equals(after.log))) return owns
  }
  return true
}

const journalMagic = 'd9d505f920a163d7'
// What turning a file to its log and back leaves as it is, which is all that we do with a journal.
const [keptFrom, keptTo] = [28, 92]

/** A journal holds the file's head as it was before. */
function ownsItsJournal(path: string, head: Buffer): boolean {
  const owns = withFile(`${path}-journal`, (file) => {
    const start = readAt(file, 0, 28)
    if (start.length < 28 || start.toString('hex', 0, 8) !== journalMagic) return true
    const record = readAt(file, start.readUInt32BE(20), 4 + headBytes)
    if (record.length < 4 + headBytes || record.readUInt32BE(0) !== 1) return true
    return record.subarray(4).subarray(keptFrom, keptTo).equals(head.subarray(keptFrom, keptTo))
  })
  return owns ?? true
}

function headsOf(path: string, log: string) {
  return { file: readStart(path, headBytes), log: readStart(log, logHeadBytes) }
}

/**
 * A file has its log's mode while it has a log, and its last transaction is one of the log's or the one before them. A
 * log that tells of none was begun by the first release.
 */
function fits(head: Buffer, log: string, logHead: Buffer): boolean {
  if (head[writeFormatAt] !== writeAheadLog) return false
  const counts = withFile(log, (file) => transactionsIn(file, logHead)) ?? []
  const [first, last] = [counts[0], counts.at(-1)]
  if (first === undefined || last === undefined) return true
  const own = head.readUInt32BE(userVersionAt) >>> schemaBits
  return ((own - first + 1) & countMask) <= ((last - first + 1) & countMask)
}

/** The numbers of the transactions of which a log has the file's head, in order. */
function transactionsIn(file: number, logHead: Buffer): number[] {
  const pageBytes = logHead.readUInt32BE(8)
  const salts = logHead.subarray(16, 24)
  const frameBytes = frameHeadBytes + pageBytes
  const counts: number[] = []
  let committed = 0
  for (let at = logHeadBytes; ; at += frameBytes) {
    const frame = readAt(file, at, frameHeadBytes + headBytes)
    // What an earlier use of the log has left behind has other salts.
    if (frame.length < frameHeadBytes + headBytes || !frame.subarray(8, 16).equals(salts)) break
    const version = frame.readUInt32BE(frameHeadBytes + userVersionAt)
    if (frame.readUInt32BE(0) === 1) counts.push(version >>> schemaBits)
    if (frame.readUInt32BE(4) !== 0) committed = counts.length
  }
  return counts.slice(0, committed)
}

/** The user_version of the file at a path, as of its last checkpoint. */
export function readUserVersion(path: string): number {
  return isVacant(path) ? 0 : readStart(path, headBytes).readUInt32BE(userVersionAt)
}

/** The first bytes of a file; fewer if it is shorter, or gone. */
function readStart(path: string, length: number): Buffer {
  return withFile(path, (file) => readAt(file, 0, length)) ?? Buffer.alloc(0)
}

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, readSync(file, bytes, 0, length, position))
}

/** Undefined if there is no such file: whoever closes a database last removes its log. */
function withFile<T>(path: string, work: (file: number) => T): T | undefined {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return work(file)
  } finally {
    closeSync(file)
  }
}
