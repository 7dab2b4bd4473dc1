import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, type Stats } from 'node:fs'
import { Refusal } from '../domain/errors'

/** More than any key, passphrase or list of identities takes. */
const mostBytes = 65_536

/** What a secret is read for. */
interface Reading {
  /** In the operator's words, as `master key`. */
  readonly what: string
  /** Whose files are taken beside our own and root's, by uid: a root that works on a service's files has them so. */
  readonly owner?: number | undefined
  /** Whether who may read it is somebody else's to decide. */
  readonly anyMode?: boolean
}

/**
 * Reads a file with a secret in it, which must be its owner's alone, as ssh asks of its keys. Of a link, the file that
 * it leads to counts.
 *
 * @throws Refusal database_unusable if it is not there, no file, too large, or others can read it
 */
export function readSecretFile(path: string, reading: Reading): string {
  const { what } = reading
  const file = openSecret(path, what)
  try {
    const found = fstatSync(file)
    if (!found.isFile()) throw unusable(`what is at the ${what} path is not a file`)
    if (!reading.anyMode) refuseOthers(path, found, reading)
    if (found.size > mostBytes) throw unusable(`the ${what} file is too large to be one`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function openSecret(path: string, what: string): number {
  try {
    // A pipe would be waited for without end.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw unusable(`the ${what} file may not be read`)
    throw unusable(`there is no ${what} file at ${path}`)
  }
}

function refuseOthers(path: string, { mode, uid }: Stats, { what, owner }: Reading): void {
  const self = process.geteuid?.()
  if (self === undefined) return
  if (![self, 0, owner].includes(uid)) {
    throw unusable(`the ${what} file ${path} belongs to another user: make it yours, and chmod 600 ${path}`)
  }
  if ((mode & 0o077) !== 0) throw unusable(`others can read the ${what} file ${path}: chmod 600 ${path}`)
}

// How long whoever is to write to a pipe may take.
const [timeoutMillis, pauseMillis] = [10_000, 10]

/**
 * Reads what is behind a file descriptor to its end: a pipe's is waited for, but not for ever.
 *
 * @throws Refusal database_unusable for one that is not open, a terminal or another device, and what does not end
 */
export function readDescriptor(descriptor: number, what: string): string {
  const found = statDescriptor(descriptor, what)
  if (found.isCharacterDevice() || found.isDirectory()) {
    throw unusable(`the ${what}'s file descriptor is a device or a folder, and no file or pipe`)
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
    throw unusable(`the ${what}'s file descriptor is not open`)
  }
}

/** The same pipe, so that reading it does not wait; null where the system has no such name for it. */
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
      throw unusable(`what the ${what}'s file descriptor gives is too large to be one`)
  }
  throw unusable(`what the ${what}'s file descriptor gives has no end: whoever writes it must close it`)
}

/** Null if there is nothing yet. */
function readSome(descriptor: number, into: Buffer, what: string): number | null {
  try {
    return readSync(descriptor, into)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'EAGAIN') return null
    throw unusable(`the ${what}'s file descriptor may not be read`)
  }
}

function unusable(message: string): Refusal {
  return new Refusal('database_unusable', message)
}
