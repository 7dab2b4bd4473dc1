import type { Database } from 'bun:sqlite'
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { unusable } from '../../findings/findings'

// Reads a file's header (sqlite.org/fileformat.html §1.3) without SQLite, because SQLite changes a file when it opens
// the file.

/** "Ante" in ASCII. Marks a file as a database of this program. */
export const applicationId = 0x416e7465

export const headBytes = 100
const [writeFormatAt, schemaCookieAt, userVersionAt, applicationIdAt] = [18, 40, 60, 68]
const writeAheadLog = 2

// The low byte of user_version is the schema number. The other bits are a transaction counter with a random start. The
// counter shows which log belongs to a file.
const schemaBits = 8
const countMask = 0x7fffff

export function schemaOf(userVersion: number): number {
  return userVersion & ((1 << schemaBits) - 1)
}

export function countOf(userVersion: number): number {
  return (userVersion >>> schemaBits) & countMask
}

/** Returns a user_version with a random transaction counter. The file must not have a log. */
export function newUserVersion(schema: number): number {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1))
  return ((random & countMask) << schemaBits) | schema
}

/** Increases the counter in the open transaction, so that the log contains the header. @param schema new number */
export function countTransaction(database: Database, schema?: number): void {
  const version = readPragma(database, 'user_version')
  const count = (countOf(version) + 1) & countMask
  database.run(`PRAGMA user_version = ${(count << schemaBits) | (schema ?? schemaOf(version))}`)
}

/** Returns the number of transactions between two counters. The counter wraps around. */
export function transactionsBetween(earlier: number, later: number): number {
  return (later - earlier) & countMask
}

export function readPragma(database: Database, name: string): number {
  const row = database.query<Record<string, number>, []>(`PRAGMA ${name}`).get()
  return Object.values(row ?? {})[0] ?? 0
}

/** True for a missing or empty file. @throws Refusal database_unusable if the path is not a file */
export function isVacant(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && !found.isFile()) throw unusable('the database path is not a file')
  return (found?.size ?? 0) === 0
}

export function isDatabase(path: string): boolean {
  const head = readStart(path)
  return head.length === headBytes && head.toString('latin1', 0, 16) === 'SQLite format 3\0'
}

/** @throws Refusal database_unusable if the file is not empty and has another application id */
export function requireOurs(id: number, isEmpty: boolean): void {
  if (id === applicationId || (id === 0 && isEmpty)) return
  throw unusable('the database file belongs to another application', 'choose another path')
}

export function headIn(bytes: Buffer) {
  return {
    applicationId: bytes.readUInt32BE(applicationIdAt),
    isEmpty: bytes.readUInt32BE(schemaCookieAt) === 0,
    isWal: bytes[writeFormatAt] === writeAheadLog,
    userVersion: bytes.readUInt32BE(userVersionAt),
  }
}

/** Reads the header as of the last checkpoint. */
export function readHead(path: string) {
  return headIn(readStart(path))
}

/** Reads user_version as of the last checkpoint; 0 for a missing or empty file. */
export function readUserVersion(path: string): number {
  return isVacant(path) ? 0 : readHead(path).userVersion
}

/** Returns null if the file has another application id. @param file an open descriptor */
export function userVersionIn(file: number): number | null {
  const bytes = readBytes(file, 0, headBytes)
  const head = bytes.length === headBytes ? headIn(bytes) : null
  return head?.applicationId === applicationId ? head.userVersion : null
}

/** Reads bytes at a position. Returns fewer bytes if the file ends before. */
export function readBytes(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, readSync(file, bytes, 0, length, position))
}

function readStart(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    return readBytes(file, 0, headBytes)
  } finally {
    closeSync(file)
  }
}
