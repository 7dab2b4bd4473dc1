import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { keptCopyNote } from '../../../src/domain/ports/database'
import type { Finding } from '../../../src/domain/ports/maintenance'

/** In bytes. With less free space, writes may soon fail. */
const leastFree = 256 * 1024 * 1024

export function fileFindings(path: string): Finding[] {
  return [modesFinding(path), copiesFinding(path), diskFinding(path)]
}

function modesFinding(path: string): Finding {
  const check = 'file modes'
  const files = [path, `${path}-wal`, `${path}-shm`]
  const open = files.filter((file) => existsSync(file) && (statSync(file).mode & 0o077) !== 0)
  if (open.length === 0) return { check, state: 'ok', detail: 'readable only by their owner' }
  const detail = `others can read ${open.join(', ')}`
  return { check, state: 'bad', detail, remedy: 'run chmod 600 on each of them' }
}

function copiesFinding(path: string): Finding {
  const check = 'older copies'
  const copies = readdirSync(dirname(path))
    .filter((name) => name.startsWith(`${basename(path)}.before-schema-`))
    .map((name) => join(dirname(path), name))
  if (copies.length === 0) return { check, state: 'ok', detail: 'none' }
  const detail = copies.map(keptCopyNote).join(' ')
  return { check, state: 'note', detail, remedy: 'remove them once the upgraded service works' }
}

/** Free space of the file system of a database file. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path))
  return bavail * bsize
}

function diskFinding(path: string): Finding {
  const check = 'free disk'
  const free = freeBytes(path)
  const detail = `${Math.floor(free / 1024 / 1024)} MiB`
  if (free >= leastFree) return { check, state: 'ok', detail }
  return { check, state: 'bad', detail, remedy: 'free some space, or move the database to another disk' }
}
