import { appendFileSync, statSync } from 'node:fs'
import {
  type Act,
  type AuditArchive,
  type AuditChain,
  type AuditEntry,
  type AuditHead,
  type AuditLine,
  chainOf,
  followChain,
  formatArchiveEnd,
  formatLine,
  headOf,
  parseArchiveEnd,
  parseLine,
} from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import type { ArchiveVerdict, AuditPrune } from '../../src/domain/ports/maintenance'
import { beginFile, isThere, removeAbandoned } from '../../src/files/durable'
import { fileFault, unusable } from '../findings/findings'
import { linesOf, newestIdOf, type WalkedLog } from './verification'

/** Maximum audit lines that one transaction removes. */
const removedAtOnce = 500
/** Pause in ms between two transactions, so that other writers get the lock. */
const pauseMillis = 25

const mostText = 1 << 20

const mostEndBytes = 4_096

/**
 * Removes the lines of a chain up to `upTo`, then appends `entries`. Returns the number of removed lines.
 * If the log has no line `upTo`, changes nothing and returns 0.
 */
type RemoveLines = (chain: AuditChain, upTo: AuditHead, entries: readonly AuditEntry[]) => Promise<number>

/** An archive is a file. It has one JSON line for each pruned line, then a sealed description. */
export function auditArchives(log: WalkedLog, removeLines: RemoveLines) {
  return {
    /** Checks that an archive is unaltered. @param noted a line that the archive must contain */
    check: (path: string, noted: AuditHead | null) => check(log, path, noted),
    /** Returns the number of lines removed. @throws Refusal field_invalid or database_unusable */
    async prune(prune: AuditPrune, act: Act): Promise<number> {
      try {
        const isBegun = isThere(prune.target)
        const archive = isBegun ? await readUnfinished(log, prune) : await write(log, prune)
        return archive ? await remove(log, removeLines, archive, prune.target, act) : 0
      } catch (error) {
        throw fileFault(error, prune.target)
      }
    },
  }
}

async function startOf(log: WalkedLog, chain: AuditChain): Promise<AuditHead> {
  const { state } = await log.stand()
  if (!state) throw unusable('the seal of the audit log is missing or was altered', 'restore a backup')
  return state[chain].start
}

async function check(log: WalkedLog, path: string, noted: AuditHead | null): Promise<ArchiveVerdict> {
  const broken = (id: number, fault: string) => ({ intact: false, id, fault }) as const
  const archive = await readEnd(log, path)
  if (!archive) return broken(0, 'the file is not an archive, or its sealed last line was altered')
  const chain = followChain(log.hashes, archive)
  let isNotedSeen = noted === null || isSame(noted, archive.start)
  for await (const line of linesIn(path)) {
    const fault = chain.take(line)
    if (fault) return fault
    isNotedSeen ||= noted !== null && isSame(noted, line)
  }
  const fault = chain.end()
  if (fault) return fault
  if (noted && !isNotedSeen) return broken(noted.id, 'the line differs from the given head')
  const start = await startOf(log, archive.chain)
  if (archive.head.id === start.id && archive.head.hash !== start.hash) {
    return broken(start.id, 'the log does not continue the archive')
  }
  return { intact: true, archive, next: nextOf(archive, start) }
}

function nextOf({ head }: AuditArchive, start: AuditHead): string {
  if (head.id === start.id) return 'the log continues the archive'
  return head.id > start.id
    ? 'the log still contains lines of the archive'
    : 'other archives follow before the log'
}

/** Writes the lines that are older than `before`. Returns null if there are none. */
async function write(log: WalkedLog, prune: AuditPrune): Promise<AuditArchive | null> {
  const { chain, target } = prune
  const start = await startOf(log, chain)
  removeAbandoned(target)
  using file = beginFile(target)
  const head = await writeLines(log, prune, start, file.path)
  if (head === start) return null
  const archive = { chain, start, head }
  appendFileSync(file.path, `${formatArchiveEnd(log.hashes, archive)}\n`)
  const verdict = await check(log, file.path, null)
  if (!verdict.intact) {
    throw unusable(`the log is broken at line ${verdict.id} (${verdict.fault}), so nothing was pruned`)
  }
  file.publish()
  return archive
}

async function writeLines(log: WalkedLog, { chain, before }: AuditPrune, start: AuditHead, path: string) {
  let [head, text] = [start, '']
  for await (const line of linesOf(log, start.id, newestIdOf(await log.stand()))) {
    if (chainOf(line) !== chain) continue
    if (line.at >= before) break
    head = headOf(line)
    text += `${formatLine(line)}\n`
    if (text.length < mostText) continue
    appendFileSync(path, text)
    text = ''
  }
  appendFileSync(path, text)
  return head
}

/** @throws Refusal field_invalid if `target` is not the archive of an interrupted prune */
async function readUnfinished(log: WalkedLog, { chain, target }: AuditPrune): Promise<AuditArchive> {
  const start = await startOf(log, chain)
  const verdict = await check(log, target, start)
  const isOurs = verdict.intact && verdict.archive.chain === chain
  if (isOurs && verdict.archive.head.id > start.id) return verdict.archive
  throw new Refusal('field_invalid', '--output: the file already exists', { action: 'choose another path' })
}

async function remove(
  log: WalkedLog,
  removeLines: RemoveLines,
  archive: AuditArchive,
  target: string,
  act: Act,
) {
  const { chain, head } = archive
  const start = await startOf(log, chain)
  const entry = { ...act, action: 'audit.prune' as const, record: `line ${head.id}`, outcome: 'done' }
  let [waiting, removed]: [AuditLine[], number] = [[], 0]
  const removeWaiting = async () => {
    const gone = await removeLines(chain, headOf(waiting.at(-1) ?? head), removed === 0 ? [entry] : [])
    if (gone === 0) throw unusable('the log differs from the archive, so no more lines were removed')
    return gone
  }
  for await (const line of linesIn(target)) {
    if (line.id <= start.id) continue
    waiting.push(line)
    if (waiting.length < removedAtOnce) continue
    removed += await removeWaiting()
    waiting = []
    await Bun.sleep(pauseMillis)
  }
  return waiting.length === 0 ? removed : removed + (await removeWaiting())
}

function isSame(one: AuditHead, other: AuditHead): boolean {
  return one.id === other.id && one.hash === other.hash
}

async function readEnd({ hashes }: WalkedLog, path: string): Promise<AuditArchive | null> {
  const found = statSync(path)
  // Accepts only a regular file, because reading a pipe could block forever.
  if (!found.isFile()) return null
  const { size } = found
  const end = await Bun.file(path)
    .slice(Math.max(0, size - mostEndBytes), size)
    .text()
  return parseArchiveEnd(hashes, end.trimEnd().split('\n').at(-1) ?? '')
}

async function* linesIn(path: string): AsyncGenerator<AuditLine> {
  const decoder = new TextDecoder()
  let [rest, previous]: [string, string | null] = ['', null]
  for await (const bytes of Bun.file(path).stream()) {
    const texts = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = texts.pop() ?? ''
    for (const text of texts) {
      if (previous !== null) yield parseLine(previous)
      previous = text
    }
  }
}
