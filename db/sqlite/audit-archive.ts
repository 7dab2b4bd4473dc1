import { appendFileSync, statSync } from 'node:fs'
import {
  type Act,
  type AuditArchive,
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
import type { ArchiveVerdict, AuditPrune } from '../../src/domain/upkeep'
import { beginFile, isThere, removeAbandoned } from '../../src/files/durable'
import { toUnusable } from './copy'
import { unusable } from './file-head'
import type { Queries } from './queries'
import type { Writer } from './writer'

type Audit = Queries['audit']

/** Lines that are removed at once, and a rest after them in which others find the lock free. */
const removedAtOnce = 500
const restMillis = 25

/** The most that the end of an archive takes, in bytes. */
const mostEndBytes = 4_096

/** Archives of pruned lines: a line of JSON each, and at the end what they are, sealed. */
export function auditArchives(audit: Audit, writer: Writer) {
  const sealedState = () => {
    const { state } = audit.stand()
    if (!state) throw unusable('the seal of the audit log is missing or not as it was written')
    return state
  }

  async function check(path: string, noted: AuditHead | null): Promise<ArchiveVerdict> {
    const broken = (id: number, fault: string) => ({ intact: false, id, fault }) as const
    const archive = await readEnd(audit, path)
    if (!archive) return broken(0, 'it is no archive, or its end is not as it was sealed')
    const chain = followChain(audit.hashes, archive)
    let isNotedSeen = noted === null || isSame(noted, archive.start)
    for await (const line of linesIn(path)) {
      const fault = chain.take(line)
      if (fault) return fault
      isNotedSeen ||= noted !== null && isSame(noted, line)
    }
    const fault = chain.end()
    if (fault) return fault
    if (noted && !isNotedSeen) return broken(noted.id, 'the line is not the one noted')
    const { start } = sealedState()[archive.chain]
    if (archive.head.id === start.id && archive.head.hash !== start.hash) {
      return broken(start.id, 'the log does not go on from it')
    }
    const within =
      archive.head.id > start.id ? 'some lines are in the log still' : 'other archives lie between'
    return { intact: true, archive, next: archive.head.id === start.id ? 'the log goes on from it' : within }
  }

  /** Writes the lines of a chain before an instant to a new file, and reads it again. Null if there are none. */
  async function write({ chain, before, target }: AuditPrune): Promise<AuditArchive | null> {
    const { start } = sealedState()[chain]
    removeAbandoned(target)
    using file = beginFile(target)
    let [head, text] = [start, '']
    for await (const line of audit.lines(start.id, audit.stand().newestId)) {
      if (chainOf(line) !== chain) continue
      if (line.at >= before) break
      head = headOf(line)
      text += `${formatLine(line)}\n`
      if (text.length > 1 << 20) {
        appendFileSync(file.path, text)
        text = ''
      }
    }
    if (head === start) return null
    const archive = { chain, start, head }
    appendFileSync(file.path, `${text}${formatArchiveEnd(audit.hashes, archive)}\n`)
    const verdict = await check(file.path, null)
    if (!verdict.intact)
      throw unusable(`the log is broken at line ${verdict.id}: ${verdict.fault}; nothing was pruned`)
    file.publish()
    return archive
  }

  /** An archive that was written by a prune which did not come to its end: it has the line that the log starts behind. */
  async function readUnfinished({ chain, target }: AuditPrune): Promise<AuditArchive> {
    const { start } = sealedState()[chain]
    const verdict = await check(target, start)
    const isOurs = verdict.intact && verdict.archive.chain === chain
    if (isOurs && verdict.archive.head.id > start.id) return verdict.archive
    throw new Refusal('field_invalid', '--output: there is a file at that path already')
  }

  async function remove({ chain, head }: AuditArchive, target: string, act: Act): Promise<number> {
    const { start } = sealedState()[chain]
    let [count, removed, isTold] = [0, 0, false]
    const upTo = (line: AuditLine) =>
      writer.write(() => {
        const gone = audit.removeUpTo(chain, headOf(line))
        if (gone === 0) throw unusable('the log has other lines than the archive; nothing more was removed')
        if (!isTold)
          audit.append([{ ...act, action: 'audit.prune', record: `line ${head.id}`, outcome: 'done' }])
        return gone
      })
    let last: AuditLine | null = null
    for await (const line of linesIn(target)) {
      if (line.id <= start.id) continue
      last = line
      if (++count % removedAtOnce !== 0) continue
      removed += await upTo(line)
      isTold = true
      last = null
      await Bun.sleep(restMillis)
    }
    return removed + (last ? await upTo(last) : 0)
  }

  return {
    check,
    /** Tells how many lines were removed. */
    async prune(prune: AuditPrune, act: Act): Promise<number> {
      try {
        const archive = isThere(prune.target) ? await readUnfinished(prune) : await write(prune)
        return archive ? await remove(archive, prune.target, act) : 0
      } catch (error) {
        throw toUnusable(error)
      }
    },
  }
}

function isSame(one: AuditHead, other: AuditHead): boolean {
  return one.id === other.id && one.hash === other.hash
}

async function readEnd({ hashes }: Audit, path: string): Promise<AuditArchive | null> {
  const { size } = statSync(path)
  const end = await Bun.file(path)
    .slice(Math.max(0, size - mostEndBytes), size)
    .text()
  return parseArchiveEnd(hashes, end.trimEnd().split('\n').at(-1) ?? '')
}

/** The audit lines of an archive, its end left out. */
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
