import { dirname, join, relative, resolve } from 'node:path'
import { below, pick, type Random } from '../hostile/random'
import type { Call } from '../support/trace'

/**
 * A step of a traced program: a file change below one folder, or a sent HTTP response. Times are positions in
 * the trace.
 */
export type Step = { readonly began: number; readonly ended: number } & (
  | { readonly kind: 'write'; readonly file: string; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'copy' | 'link'; readonly from: string; readonly file: string }
  | { readonly kind: 'truncate'; readonly file: string; readonly size: number }
  | { readonly kind: 'sync' | 'create' | 'create folder' | 'remove'; readonly file: string }
  | { readonly kind: 'answer'; readonly text: string }
)

type UntimedStep = Step extends infer S ? (S extends Step ? Omit<S, 'began' | 'ended'> : never) : never

/** The contents of a folder by path: the bytes of a file, null for a folder. Two names of one file share a buffer. */
export type Files = ReadonlyMap<string, Buffer | null>

/**
 * Converts a trace of system calls into the file operations inside one folder.
 *
 * @param before the names that existed before the trace
 * @throws Error if a system call on these files cannot be replayed
 */
export function stepsOf(calls: readonly Call[], folder: string, before: Iterable<string>): Step[] {
  const reader = new TraceReader(folder, before)
  const steps = calls.toSorted(byEffect).flatMap((call) => {
    if (call.result !== null && call.result < 0) return []
    const deed = reader.read(call)
    return deed ? ({ ...deed, began: call.began, ended: call.ended } as Step) : []
  })
  return steps.toSorted((one, other) => one.began - other.began)
}

/** An open call may return a descriptor that another thread closes during the call, so it takes effect when it ends. */
function byEffect(one: Call, other: Call): number {
  const effectOf = ({ name, began, ended }: Call) => (name === 'open' || name === 'openat' ? ended : began)
  return effectOf(one) - effectOf(other)
}

const [opensForCreation, mapsShared, mapsForWriting] = [0o100, 1, 2]

class TraceReader {
  readonly #names: Set<string>
  /** The file of each open descriptor, and the number of bytes that were written to it with `write`. */
  readonly #descriptors = new Map<number, { readonly file: string; written: number }>()

  constructor(
    private readonly folder: string,
    before: Iterable<string>,
  ) {
    this.#names = new Set(before)
  }

  read(call: Call): UntimedStep | null {
    const { name, args, paths } = call
    const [first = '', second = ''] = paths
    switch (name) {
      case 'open':
        return this.#open(this.#place(first), args[1], call.result)
      case 'openat':
        return this.#open(this.#place(first, args[0]), args[2], call.result)
      case 'close':
        this.#descriptors.delete(args[0] as number)
        return null
      case 'mkdir':
        return this.#name('create folder', this.#place(first))
      case 'mkdirat':
        return this.#name('create folder', this.#place(first, args[0]))
      case 'unlink':
      case 'rmdir':
        return this.#name('remove', this.#place(first))
      case 'unlinkat':
        return this.#name('remove', this.#place(first, args[0]))
      case 'link':
        return this.#link(this.#place(first), this.#place(second))
      case 'linkat':
        return this.#link(this.#place(first, args[0]), this.#place(second, args[2]))
    }
    if (paths.some((path) => this.#place(path) !== null))
      throw new Error(`${name} of ${paths} is not followed`)
    return this.#transfer(call)
  }

  /** Returns the path relative to the folder: '' for the folder itself, null for a path outside it. */
  #place(path: string, at = -1): string | null {
    const below = relative(this.folder, resolve(this.folder, this.#descriptors.get(at)?.file ?? '', path))
    return below.startsWith('..') ? null : below
  }

  #open(file: string | null, flags = 0, descriptor: number | null): UntimedStep | null {
    if (descriptor === null) return null
    this.#descriptors.delete(descriptor)
    if (file === null) return null
    this.#descriptors.set(descriptor, { file, written: 0 })
    if ((flags & opensForCreation) === 0 || this.#names.has(file)) return null
    return this.#name('create', file)
  }

  #name(kind: 'create' | 'create folder' | 'remove', file: string | null): UntimedStep | null {
    if (file === null) return null
    if (kind === 'remove') this.#names.delete(file)
    else this.#names.add(file)
    return { kind, file }
  }

  #link(from: string | null, file: string | null): UntimedStep | null {
    if (file === null) return null
    if (from === null) throw new Error('a link to elsewhere is not followed')
    this.#names.add(file)
    return { kind: 'link', from, file }
  }

  #transfer({ name, args, bytes }: Call): UntimedStep | null {
    const [first = -1, second = -1, third = -1] = args
    const open = this.#descriptors.get(name === 'mmap' ? (args[4] as number) : first)
    if (name === 'copy_file_range') return this.#copy(first, third)
    if (name === 'io_uring_setup') throw new Error('what goes through io_uring is not followed')
    if (!open) {
      const text = ['sendto', 'sendmsg', 'write', 'writev'].includes(name) ? bytes.toString('latin1') : ''
      return text.startsWith('HTTP/1.1 ') ? { kind: 'answer', text } : null
    }
    const { file, written } = open
    switch (name) {
      case 'pwrite64':
        return { kind: 'write', file, offset: args[3] as number, bytes }
      case 'write':
        // Assumes that the descriptor started at the beginning of the file.
        open.written += bytes.length
        return { kind: 'write', file, offset: written, bytes }
      case 'ftruncate':
        return { kind: 'truncate', file, size: second }
      case 'fsync':
      case 'fdatasync':
        return { kind: 'sync', file }
      case 'mmap':
        // SQLite rebuilds the memory-mapped -shm file from the log.
        if (file.endsWith('-shm') || (Number(args[3]) & mapsShared) === 0 || (third & mapsForWriting) === 0)
          return null
    }
    throw new Error(`${name} on ${file} is not followed`)
  }

  #copy(from: number, to: number): UntimedStep | null {
    const [source, target] = [this.#descriptors.get(from), this.#descriptors.get(to)]
    // Copying a file ends with a call that copies zero bytes.
    if (!target || target.written > 0) return null
    if (!source) throw new Error('a copy from elsewhere is not followed')
    target.written = Infinity
    return { kind: 'copy', from: source.file, file: target.file }
  }
}

/** A file or folder on the simulated disk: its durable bytes, and the changes since the last sync. */
interface Kept {
  readonly isFolder: boolean
  bytes: Buffer
  unsynced: Change[]
}

type Change = Extract<Step, { kind: 'write' | 'truncate' }>

/** A name that was created or removed. The change is durable after the next sync of its folder. */
interface Naming {
  readonly path: string
  readonly kept: Kept | null
  readonly ended: number
}

/**
 * A power cut keeps nothing of the unsynced changes, or some of their writes, or some of the sectors of these
 * writes.
 */
export const unsyncedRemains = ['nothing', 'writes', 'sectors'] as const

const sectorBytes = 512

/**
 * Returns the files on the disk after a power cut at `moment`. Keeps all synced changes, and a random part of
 * the unsynced changes. To create or remove a name is also a change. A sync of the folder makes this change
 * durable.
 */
export function cutPower(
  steps: readonly Step[],
  before: Files,
  moment: number,
  leaves: (typeof unsyncedRemains)[number],
  random: Random,
): Files {
  const chance = leaves === 'nothing' ? 0 : pick(random, [0.1, 0.5, 0.9])
  const isLeft = () => chance > 0 && random() < chance
  const disk = new Disk(before)
  for (const step of steps) {
    if (step.began >= moment) break
    // A sync that did not return guarantees nothing.
    if (step.kind !== 'sync' || step.ended < moment) disk.take(step)
  }
  return disk.cut(isLeft, leaves === 'sectors')
}

class Disk {
  /** The files as the program sees them. */
  readonly #live = new Map<string, Kept>()
  /** The files whose names are durable. */
  readonly #named: Map<string, Kept>
  #unsynced: Naming[] = []

  constructor(before: Files) {
    for (const [path, bytes] of before) {
      this.#live.set(path, { isFolder: bytes === null, bytes: bytes ?? Buffer.alloc(0), unsynced: [] })
    }
    this.#named = new Map(this.#live)
  }

  take(step: Step): void {
    const { began, ended } = step
    if (step.kind === 'answer') return
    const { file } = step
    const kept = this.#live.get(file)
    switch (step.kind) {
      case 'create':
      case 'create folder':
        this.#name(file, { isFolder: step.kind !== 'create', bytes: Buffer.alloc(0), unsynced: [] }, ended)
        break
      case 'link':
        this.#name(file, this.#live.get(step.from) as Kept, ended)
        break
      case 'remove':
        this.#name(file, null, ended)
        break
      case 'copy': {
        const { bytes, unsynced } = this.#live.get(step.from) as Kept
        const copy = { isFolder: false, bytes, unsynced: [...unsynced] }
        settle(copy, () => true)
        kept?.unsynced.push({ kind: 'write', file, offset: 0, bytes: copy.bytes, began, ended })
        break
      }
      case 'sync':
        if (kept && !kept.isFolder) settle(kept, (change) => change.ended < began)
        else this.#settleNames((naming) => folderOf(naming.path) === file && naming.ended < began)
        break
      default:
        kept?.unsynced.push(step)
    }
  }

  /** Keeps a random part of the unsynced changes and returns the resulting files. */
  cut(isLeft: () => boolean, inSectors: boolean): Files {
    this.#settleNames(isLeft)
    for (const kept of new Set(this.#named.values())) {
      if (inSectors) kept.unsynced = kept.unsynced.flatMap(sectorsOf)
      settle(kept, isLeft)
    }
    const isThere = (path: string): boolean =>
      path === '' || (this.#named.has(path) && isThere(folderOf(path)))
    return new Map(
      [...this.#named].flatMap(([path, { isFolder, bytes }]) =>
        isThere(path) ? [[path, isFolder ? null : bytes] as const] : [],
      ),
    )
  }

  #name(path: string, kept: Kept | null, ended: number): void {
    if (kept) this.#live.set(path, kept)
    else this.#live.delete(path)
    this.#unsynced.push({ path, kept, ended })
  }

  #settleNames(isSettled: (naming: Naming) => boolean): void {
    this.#unsynced = this.#unsynced.filter((naming) => {
      if (!isSettled(naming)) return true
      if (naming.kept) this.#named.set(naming.path, naming.kept)
      else this.#named.delete(naming.path)
      return false
    })
  }
}

/** Returns the parent folder of a path. Returns '' for a path at the top. */
function folderOf(path: string): string {
  return join(dirname(path), '.') === '.' ? '' : dirname(path)
}

/** Applies the unsynced changes for which `isSettled` is true, in order. All other changes stay unsynced. */
function settle(kept: Kept, isSettled: (change: Change) => boolean): void {
  const settled = kept.unsynced.filter(isSettled)
  const done = new Set(settled)
  kept.unsynced = kept.unsynced.filter((step) => !done.has(step))
  if (settled.length === 0) return
  let size = kept.bytes.length
  let most = size
  for (const step of settled) {
    size = step.kind === 'truncate' ? step.size : Math.max(size, step.offset + step.bytes.length)
    most = Math.max(most, size)
  }
  const bytes = Buffer.alloc(most)
  kept.bytes.copy(bytes)
  for (const step of settled) {
    if (step.kind === 'write') step.bytes.copy(bytes, step.offset)
    else bytes.fill(0, step.size)
  }
  kept.bytes = bytes.subarray(0, size)
}

/** Splits a write into sectors, which a disk writes separately. */
function sectorsOf(step: Change): Change[] {
  if (step.kind === 'truncate') return [step]
  const parts: Change[] = []
  for (let from = 0; from < step.bytes.length; ) {
    const room = sectorBytes - ((step.offset + from) % sectorBytes)
    parts.push({ ...step, offset: step.offset + from, bytes: step.bytes.subarray(from, from + room) })
    from += room
  }
  return parts
}

/** Returns a random position in a trace. Half of the returned positions come right after a sent HTTP response. */
export function someMoment(steps: readonly Step[], random: Random): number {
  const answers = steps.filter(({ kind }) => kind === 'answer')
  const step = pick(random, random() < 0.5 && answers.length > 0 ? answers : steps)
  return step.kind === 'answer' ? step.began + 1 : step.began + below(random, 2)
}
