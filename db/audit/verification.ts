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
import type { Vault } from '../../src/domain/ports/vault'

/** Setting that stores the state of the log. A trigger of the audit table also reads this setting. */
export const auditStateName = 'audit'

export function auditHashes(vault: Vault): AuditHashes {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  return {
    line: (text) => hex(vault.keyedHash('audit line', text)),
    seal: (text) => hex(vault.keyedHash('audit head', text)),
  }
}

const chunkSize = 1_000

export interface LogEnds {
  /** Null if the seal is missing or invalid. */
  readonly state: AuditState | null
  /** The line with the highest id; `auditStart` if the log is empty. */
  readonly last: AuditHead
}

/** A log that is read in batches. Each batch is read from another snapshot. */
export interface WalkedLog {
  readonly hashes: AuditHashes
  stand(): LogEnds | Promise<LogEnds>
  /** Returns lines in order of id. @param after null to start at the first line */
  linesAfter(after: number | null, limit: number): readonly AuditLine[] | Promise<readonly AuditLine[]>
}

/** Returns the highest id ever used, even if its line was pruned. Ids are never reused. */
export function newestIdOf({ state, last }: LogEnds): number {
  return Math.max(last.id, state?.acts.head.id ?? 0, state?.refusals.head.id ?? 0)
}

/** Without a valid seal, the state is null and stays null: a new seal would hide the fault. */
export function linesFor(hashes: AuditHashes, ends: LogEnds, entries: readonly AuditEntry[]) {
  const span = { start: ends.last, head: ends.last }
  let state = ends.state ?? { acts: span, refusals: span }
  let nextId = newestIdOf(ends) + 1
  const lines = entries.map((entry) => {
    const added = addLine(hashes, state, nextId++, entry)
    state = added.state
    return added.line
  })
  return { lines, state: ends.state && state }
}

/** Yields the lines after `after`, up to and including `upTo`. Other work can run between batches. */
export async function* linesOf(log: Pick<WalkedLog, 'linesAfter'>, after: number | null, upTo: number) {
  for (let last = after; last === null || last < upTo; ) {
    const chunk = await log.linesAfter(last, chunkSize)
    if (chunk.length === 0) return
    for (const line of chunk) if (line.id <= upTo) yield line
    last = chunk.at(-1)?.id ?? upTo
    await new Promise(setImmediate)
  }
}

/** @param noted a line that the log must contain */
export async function verifyLog(log: WalkedLog, noted: AuditHead | null): Promise<AuditVerdict> {
  for (;;) {
    const before = await log.stand()
    const verdict = await verifyFrom(log, before, noted)
    // A concurrent prune can look like a fault. After such a prune, the log is verified again.
    if (verdict.intact || startsOf(await log.stand()) === startsOf(before)) return verdict
  }
}

async function verifyFrom(log: WalkedLog, ends: LogEnds, noted: AuditHead | null): Promise<AuditVerdict> {
  const id = newestIdOf(ends)
  const { state } = ends
  if (!state) return { intact: false, id, fault: 'the seal of the newest line is missing or was altered' }
  const check = checkLines(log.hashes, state, noted)
  for await (const line of linesOf(log, null, id)) {
    const fault = check.take(line)
    if (fault) return fault
  }
  return check.end()
}

function startsOf({ state }: LogEnds): string {
  return JSON.stringify([state?.acts.start, state?.refusals.start])
}

/** Returns the newest line of the chain `acts`. If the seal is invalid, returns the newest line of the log. */
export function headOfLog({ state, last }: LogEnds): AuditHead {
  return state?.acts.head ?? last
}

export function lastOf(line: AuditHead | undefined): AuditHead {
  return line ? { id: line.id, hash: line.hash } : auditStart
}
