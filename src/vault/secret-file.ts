import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, type Stats } from 'node:fs'
import { Refusal } from '../domain/errors'

/** Maximum size of a secret: enough for any key, passphrase or list of identities. */
const mostBytes = 65_536

interface Reading {
  /** Name for messages, for example `master key`. */
  readonly what: string
  /** Another uid that may own the file, for example the user of the service if root runs a command. */
  readonly owner?: number | undefined
  /** True to skip the checks of owner and mode. Something else must then control access to the file. */
  readonly anyMode?: boolean
}

/**
 * Reads a secret from a file. Like ssh, rejects a file that other users can access. Follows links.
 *
 * @throws Refusal database_unusable if the file is missing, not a regular file, too large, or accessible to other users
 */
export function readSecretFile(path: string, reading: Reading): string {
  const { what } = reading
  const file = openSecret(path, what)
  try {
    const found = fstatSync(file)
    if (!found.isFile()) throw unusableFile(`the ${what} path is not a file`)
    if (!reading.anyMode) refuseOthers(path, found, reading)
    if (found.size > mostBytes) throw unusableFile(`the ${what} file is too large`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function openSecret(path: string, what: string): number {
  try {
    // O_NONBLOCK, because opening a named pipe would block forever.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT')
      throw unusableFile(`the ${what} file cannot be read`, 'check its permissions')
    throw unusableFile(`there is no ${what} file at ${path}`)
  }
}

function refuseOthers(path: string, { mode, uid }: Stats, { what, owner }: Reading): void {
  const self = process.geteuid?.()
  if (self === undefined) return
  if (![self, 0, owner].includes(uid)) {
    throw unusableFile(
      `the ${what} file ${path} belongs to another user`,
      `change its owner, then run chmod 600 ${path}`,
    )
  }
  if ((mode & 0o077) !== 0)
    throw unusableFile(`other users can access the ${what} file ${path}`, `run chmod 600 ${path}`)
}

// In ms: the maximum wait for the writer of a pipe, and the pause between two attempts to read.
const [timeoutMillis, pauseMillis] = [10_000, 10]

/** Waits up to 10 s for a pipe. @throws Refusal database_unusable for a device, a folder or a secret that is too large */
export function readDescriptor(descriptor: number, what: string): string {
  const found = statDescriptor(descriptor, what)
  if (found.isCharacterDevice() || found.isDirectory()) {
    throw unusableFile(`the ${what}'s file descriptor is a device or folder`, 'use a file or a pipe')
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

/** Opens the pipe again for non-blocking reads; null if the system does not support that. */
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
    if (length === mostBytes) throw unusableFile(`the ${what} from the file descriptor is too large`)
  }
  throw unusableFile(
    `the ${what}'s file descriptor did not end within 10 s`,
    'close the pipe in the program that writes to it',
  )
}

/** Null if there is no data yet. */
function readSome(descriptor: number, into: Buffer, what: string): number | null {
  try {
    return readSync(descriptor, into)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'EAGAIN') return null
    throw unusableFile(`the ${what}'s file descriptor cannot be read`)
  }
}

function unusableFile(fault: string, action?: string): Refusal {
  return new Refusal('database_unusable', fault, { action })
}
