import { basename, dirname, resolve } from 'node:path'
import { below, pick, type Random } from '../hostile/random'
import type { Call } from '../support/trace'

/** What a program did to the files of one folder, and what it answered. Moments are those of the trace. */
export type Step = { readonly began: number; readonly ended: number } & (
  | { readonly kind: 'write'; readonly file: string; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly file: string; readonly size: number }
  | { readonly kind: 'sync' | 'create' | 'remove'; readonly file: string }
  | { readonly kind: 'sync folder' }
  | { readonly kind: 'answer'; readonly text: string }
)

const [opensForCreation, mapsShared, mapsForWriting] = [0o100, 1, 2]

/** A folder by its files' names and what is in them. */
export type Files = ReadonlyMap<string, Buffer>

/**
 * The steps of a trace that concern one folder. It throws for a call on one of its files that it does not know, since
 * a disk that is put together without it would be another.
 *
 * @param before the names that were there before
 */
export function stepsOf(calls: readonly Call[], folder: string, before: Iterable<string>): Step[] {
  const names = new Set(before)
  const descriptors = new Map<number, string>()
  const steps: Step[] = []
  for (const call of calls) {
    if (call.result !== null && call.result < 0) continue
    const open = openedBy(call, folder)
    if (open !== null) {
      const { began, ended } = call
      if (open.creates && !names.has(open.path)) steps.push({ kind: 'create', file: open.path, began, ended })
      if (open.creates) names.add(open.path)
      if (call.result !== null) descriptors.set(call.result, open.path)
      continue
    }
    if (call.name === 'open' || call.name === 'openat') descriptors.delete(call.result ?? -1)
    else if (call.name === 'close') descriptors.delete(call.args[0] as number)
    else steps.push(...stepOf(call, folder, descriptors))
    const last = steps.at(-1)
    if (last?.kind === 'remove') names.delete(last.file)
  }
  return steps
}

/** The file of the folder, or the folder itself as '.', that a call opens. */
function openedBy({ name, paths, args }: Call, folder: string) {
  if (name !== 'open' && name !== 'openat') return null
  const path = nameIn(folder, paths[0] as string)
  const flags = (name === 'open' ? args[1] : args[2]) as number
  return path === null ? null : { path, creates: (flags & opensForCreation) !== 0 }
}

function nameIn(folder: string, path: string): string | null {
  const whole = resolve(path)
  if (whole === folder) return '.'
  return dirname(whole) === folder ? basename(whole) : null
}

function stepOf(call: Call, folder: string, descriptors: ReadonlyMap<number, string>): Step[] {
  const { name, args, bytes, paths, began, ended } = call
  const file = descriptors.get(args[name === 'mmap' ? 4 : 0] as number)
  const removed = name === 'unlink' || name === 'unlinkat' ? nameIn(folder, paths[0] as string) : null
  if (removed !== null) return [{ kind: 'remove', file: removed, began, ended }]
  if (paths.some((path) => nameIn(folder, path) !== null))
    throw new Error(`${name} is not followed: ${paths}`)
  if (file === undefined) {
    const text = ['sendto', 'sendmsg', 'write', 'writev'].includes(name) ? bytes.toString('latin1') : ''
    return text.startsWith('HTTP/1.1 ') ? [{ kind: 'answer', text, began, ended }] : []
  }
  switch (name) {
    case 'pwrite64':
      return [{ kind: 'write', file, offset: args[3] as number, bytes, began, ended }]
    case 'ftruncate':
      return [{ kind: 'truncate', file, size: args[1] as number, began, ended }]
    case 'fsync':
    case 'fdatasync':
      return [file === '.' ? { kind: 'sync folder', began, ended } : { kind: 'sync', file, began, ended }]
    case 'mmap':
      // The log's index is mapped, and made anew from the log by whoever opens it first.
      if (file.endsWith('-shm')) return []
      if ((Number(args[3]) & mapsShared) === 0 || (Number(args[2]) & mapsForWriting) === 0) return []
  }
  throw new Error(`${name} on ${file} is not followed`)
}

/** One file of a disk: what is on it for certain, and what was written since. */
interface Kept {
  bytes: Buffer
  unsynced: Extract<Step, { kind: 'write' | 'truncate' }>[]
}

/** How much of what was not synced a power cut leaves: nothing, some writes, or some of the sectors of each. */
export const leavings = ['nothing', 'writes', 'sectors'] as const

const sectorBytes = 512

/**
 * What a disk holds after a power cut at some moment: all that was synced, and of the rest what chance leaves. So with
 * the names of files that were made or removed since their folder was synced.
 */
export function cutPower(
  steps: readonly Step[],
  before: Files,
  moment: number,
  leaves: (typeof leavings)[number],
  random: Random,
): Files {
  const chance = leaves === 'nothing' ? 0 : pick(random, [0.1, 0.5, 0.9])
  const isLeft = () => chance > 0 && random() < chance
  const live = new Map<string, Kept>()
  for (const [name, bytes] of before) live.set(name, { bytes, unsynced: [] })
  const named = new Map(live)
  let renamed: { name: string; kept: Kept | null; ended: number }[] = []
  const rename = ({ name, kept }: (typeof renamed)[number]) =>
    kept ? named.set(name, kept) : named.delete(name)

  for (const step of steps) {
    if (step.began >= moment) break
    if (step.kind === 'create' || step.kind === 'remove') {
      const kept = step.kind === 'create' ? { bytes: Buffer.alloc(0), unsynced: [] } : null
      if (kept) live.set(step.file, kept)
      renamed.push({ name: step.file, kept, ended: step.ended })
    } else if (step.kind === 'write' || step.kind === 'truncate') {
      live.get(step.file)?.unsynced.push(step)
    } else if (step.ended < moment && step.kind === 'sync') {
      settle(live.get(step.file) as Kept, ({ ended }) => ended < step.began)
    } else if (step.ended < moment && step.kind === 'sync folder') {
      for (const one of renamed.filter(({ ended }) => ended < step.began)) rename(one)
      renamed = renamed.filter(({ ended }) => ended >= step.began)
    }
  }
  for (const one of renamed) if (isLeft()) rename(one)
  for (const kept of new Set(named.values())) {
    if (leaves !== 'sectors') settle(kept, isLeft)
    else {
      kept.unsynced = kept.unsynced.flatMap(inSectors)
      settle(kept, isLeft)
    }
  }
  return new Map([...named].map(([name, { bytes }]) => [name, bytes]))
}

/** Brings some of what was written to the disk, in order; the rest stays unsynced. */
function settle(kept: Kept, isSettled: (step: Kept['unsynced'][number]) => boolean): void {
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

/** A write as the sectors that a disk writes one at a time. */
function inSectors(step: Kept['unsynced'][number]): Kept['unsynced'] {
  if (step.kind === 'truncate') return [step]
  const parts: Kept['unsynced'] = []
  for (let from = 0; from < step.bytes.length; ) {
    const room = sectorBytes - ((step.offset + from) % sectorBytes)
    parts.push({ ...step, offset: step.offset + from, bytes: step.bytes.subarray(from, from + room) })
    from += room
  }
  return parts
}

/** A moment of a trace: half of them right after an answer has left, when most is at stake. */
export function someMoment(steps: readonly Step[], random: Random): number {
  const answers = steps.filter(({ kind }) => kind === 'answer')
  const step = pick(random, random() < 0.5 && answers.length > 0 ? answers : steps)
  return step.kind === 'answer' ? step.began + 1 : step.began + below(random, 2)
}
