import {
  type AuditEntry,
  type AuditHashes,
  type AuditHead,
  type AuditLine,
  type AuditState,
  type AuditVerdict,
  addLine,
  auditStart,
  checkLines,
} from '../../src/domain/audit'

/** The setting that stores the state of the log. The trigger that guards the audit table reads it too. */
export const auditStateName = 'audit'

/** Lines that are read at once. */
export const chunkSize = 1_000

/** Where a log stands at one moment. */
export interface LogStanding {
  /** Null if it is missing or not as it was sealed. */
  readonly state: AuditState | null
  /** The line of the highest id; what stands for the line before the first if there is none. */
  readonly last: AuditHead
}

/** A log of whichever engine, as it is walked. Each call sees the moment at which it is made. */
export interface WalkedLog {
  readonly hashes: AuditHashes
  stand(): LogStanding | Promise<LogStanding>
  /** In order of id. @param after null for the lines from the very first */
  linesAfter(after: number | null, limit: number): readonly AuditLine[] | Promise<readonly AuditLine[]>
}

/** Of a chain that was pruned to its end, the newest line is gone; its id is not given again. */
export function newestIdOf({ state, last }: LogStanding): number {
  return Math.max(last.id, state?.acts.head.id ?? 0, state?.refusals.head.id ?? 0)
}

/**
 * The lines that entries become, and the state once they are written. Lines that go on from a seal that is gone or false
 * are written too, and there is no state then: what is kept of it stays as it is, to be found.
 */
export function linesFor(hashes: AuditHashes, standing: LogStanding, entries: readonly AuditEntry[]) {
  const span = { start: standing.last, head: standing.last }
  let state = standing.state ?? { acts: span, refusals: span }
  let nextId = newestIdOf(standing) + 1
  const lines = entries.map((entry) => {
    const added = addLine(hashes, state, nextId++, entry)
    state = added.state
    return added.line
  })
  return { lines, state: standing.state && state }
}

/** The lines behind an id and up to another, some at a time, between which others have their turn. */
export async function* linesOf(
  log: Pick<WalkedLog, 'linesAfter'>,
  after: number | null,
  upTo: number,
): AsyncGenerator<AuditLine> {
  for (let last = after; last === null || last < upTo; ) {
    const chunk = await log.linesAfter(last, chunkSize)
    if (chunk.length === 0) return
    for (const line of chunk) if (line.id <= upTo) yield line
    last = chunk.at(-1)?.id ?? upTo
    await new Promise(setImmediate)
  }
}

/** Whether a log is as it was written. @param noted a line that was noted elsewhere, which must be among them */
export async function verifyLog(log: WalkedLog, noted: AuditHead | null): Promise<AuditVerdict> {
  for (;;) {
    const before = await log.stand()
    const verdict = await verifyFrom(log, before, noted)
    // Somebody who prunes meanwhile takes away what is being read.
    if (verdict.intact || startsOf(await log.stand()) === startsOf(before)) return verdict
  }
}

async function verifyFrom(
  log: WalkedLog,
  standing: LogStanding,
  noted: AuditHead | null,
): Promise<AuditVerdict> {
  const id = newestIdOf(standing)
  const { state } = standing
  if (!state)
    return { intact: false, id, fault: 'the seal of the newest line is missing or not as it was written' }
  const check = checkLines(log.hashes, state, noted)
  for await (const line of linesOf(log, null, id)) {
    const fault = check.take(line)
    if (fault) return fault
  }
  return check.end()
}

function startsOf({ state }: LogStanding): string {
  return JSON.stringify([state?.acts.start, state?.refusals.start])
}

/** The newest act; as far as can be told where the seal is gone. */
export function headOfLog({ state, last }: LogStanding): AuditHead {
  return state?.acts.head ?? last
}

/** The newest of the lines read; what stands for the line before the first if there is none. */
export function lastOf(line: AuditHead | undefined): AuditHead {
  return line ? { id: line.id, hash: line.hash } : auditStart
}
