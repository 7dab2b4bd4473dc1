import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, type Stats } from 'node:fs'
import { Refusal } from '../domain/errors'

/** More than any key, passphrase or list of identities needs. */
const mostBytes = 65_536

interface Reading {
  /** Name in messages, for example `master key`. */
  readonly what: string
  /** Additional uid that may own the file, such as a service's user if root runs a command. */
  readonly owner?: number | undefined
  /** Skips the check of owner and mode, if access is controlled elsewhere. */
  readonly anyMode?: boolean
}

/**
 * Reads a secret from a file that others cannot access, as ssh requires of keys. Follows links.
 *
 * @throws Refusal database_unusable if it is missing, not a file, too large, or accessible to others
 */
export function readSecretFile(path: string, reading: Reading): string {
  const { what } = reading
  const file = openSecret(path, what)
  try {
    const found = fstatSync(file)
    if (!found.isFile()) throw unusableFile(`what is at the ${what} path is not a file`)
    if (!reading.anyMode) refuseOthers(path, found, reading)
    if (found.size > mostBytes) throw unusableFile(`the ${what} file is too large to be one`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function openSecret(path: string, what: string): number {
  try {
    // O_NONBLOCK: opening a named pipe would block forever.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw unusableFile(`the ${what} file may not be read`)
    throw unusableFile(`there is no ${what} file at ${path}`)
  }
}

function refuseOthers(path: string, { mode, uid }: Stats, { what, owner }: Reading): void {
  const self = process.geteuid?.()
  if (self === undefined) return
  if (![self, 0, owner].includes(uid)) {
    throw unusableFile(
      `the ${what} file ${path} belongs to another user: make it yours, and chmod 600 ${path}`,
    )
  }
  if ((mode & 0o077) !== 0) throw unusableFile(`others can read the ${what} file ${path}: chmod 600 ${path}`)
}

// Timeout for the writer of a pipe and polling interval, in ms.
const [timeoutMillis, pauseMillis] = [10_000, 10]

/**
 * Reads a file descriptor to its end. Waits for a pipe, up to 10 s.
 *
 * @throws Refusal database_unusable if it is not open, a device or folder, too large, or has no end
 */
export function readDescriptor(descriptor: number, what: string): string {
  const found = statDescriptor(descriptor, what)
  if (found.isCharacterDevice() || found.isDirectory()) {
    throw unusableFile(`the ${what}'s file descriptor is a device or a folder, and no file or pipe`)
  }
  const pipe = found.isFIFO() ? openPatiently(descriptor) : null
  try {
    return readToEnd(pipe ?? descriptor, what)
  } finally {
    if (pipe !== null) closeSync(pipe)
  }
}

function statDescriptor(descriptor: number, what: string): Stats {
  try {
    return fstatSync(descriptor)
  } catch {
    throw unusableFile(`the ${what}'s file descriptor is not open`)
  }
}

/** Opens the pipe again for non-blocking reads; null if the system cannot. */
function openPatiently(descriptor: number): number | null {
  try {
    return openSync(`/dev/fd/${descriptor}`, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return null
  }
}

function readToEnd(descriptor: number, what: string): string {
  const bytes = Buffer.alloc(mostBytes)
  let length = 0
  for (let waited = 0; waited < timeoutMillis; ) {
    const read = readSome(descriptor, bytes.subarray(length), what)
    if (read === 0) return bytes.toString('utf8', 0, length)
    if (read === null) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMillis)
      waited += pauseMillis
    } else length += read
    if (length === mostBytes)
      throw unusableFile(`what the ${what}'s file descriptor gives is too large to be one`)
  }
  throw unusableFile(`what the ${what}'s file descriptor gives has no end: whoever writes it must close it`)
}

/** Null if there is no data yet. */
function readSome(descriptor: number, into: Buffer, what: string): number | null {
  try {
    return readSync(descriptor, into)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'EAGAIN') return null
    throw unusableFile(`the ${what}'s file descriptor may not be read`)
  }
}

function unusableFile(message: string): Refusal {
  return new Refusal('database_unusable', message)
}
