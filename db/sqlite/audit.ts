import { and, asc, desc, eq, gt, lte, ne, sql } from 'drizzle-orm'
import {
  type AuditChain,
  type AuditEntry,
  type AuditHashes,
  type AuditHead,
  type AuditLine,
  type AuditState,
  type AuditVerdict,
  addLine,
  auditStart,
  chainOf,
  checkLines,
  formatState,
  headOf,
  parseState,
} from '../../src/domain/audit'
import type { conflictAsked } from '../../src/domain/decide-submission'
import type { Vault } from '../../src/domain/vault'
import { looksAtRisk, refusalCounts } from './audit-counts'
import { lineLists } from './audit-lists'
import { type Drizzle, placeholders } from './drizzle'
import { audit, settings } from './schema'

/** Under which name the settings have the state of the log. The guard of the table reads it too. */
export const auditStateName = 'audit'

/** Less than every id, were it one that no line is given. */
const beforeAll = -Number.MAX_VALUE

/** Lines that are read at once. */
export const chunkSize = 1_000

/** The hashes of the log under the keys of a vault. */
export function auditHashes(vault: Vault): AuditHashes {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  return {
    line: (text) => hex(vault.keyedHash('audit line', text)),
    seal: (text) => hex(vault.keyedHash('audit head', text)),
  }
}

/** Where the log stands at one moment. */
interface Standing {
  /** Null if it is missing or not as it was sealed. */
  readonly state: AuditState | null
  readonly newestId: number
  /** The id of the newest request. */
  readonly requests: number
}

/** The log on a database, its statements prepared once. */
function openLog(db: Drizzle, vault: Vault) {
  const { id, limit, value } = placeholders('id', 'limit', 'value')
  const select = () => db.select().from(audit)
  const lastId = sql<number | null>`(select max(id) from audit)`
  const requests = sql<number | null>`(select max(id) from booking_requests)`
  const isState = eq(settings.name, auditStateName)
  const line = placeholders('id', 'at', 'actor', 'action', 'record', 'outcome', 'hash')
  return {
    db,
    hashes: auditHashes(vault),
    newest: select().orderBy(desc(audit.id)).limit(limit).prepare(),
    chunkAfter: select().where(gt(audit.id, id)).orderBy(asc(audit.id)).limit(limit).prepare(),
    standing: db.select({ value: settings.value, lastId, requests }).from(settings).where(isState).prepare(),
    keepState: db
      .update(settings)
      .set({ value: sql`${value}` })
      .where(isState)
      .prepare(),
    insert: db.insert(audit).values(line).prepare(),
  }
}

/** When a conflict over an e-mail address was, in ms; null if there is none so many back. */
function conflictQuery(db: Drizzle) {
  const open = placeholders('actor', 'after', 'offset')
  const isConflict = eq(audit.action, 'member.email-conflict')
  const conflict = db
    .select({ at: audit.at })
    .from(audit)
    .where(and(isConflict, eq(audit.actor, open.actor), gt(audit.at, open.after)))
    .orderBy(desc(audit.at))
    .limit(1)
    .offset(open.offset)
    .prepare()
  return ({ actor, after, back }: ReturnType<typeof conflictAsked>): number | null =>
    conflict.get({ actor, after, offset: back - 1 })?.at ?? null
}

type Log = ReturnType<typeof openLog>

function stand({ standing, newest, hashes }: Log): Standing {
  const row = standing.get()
  const lastId = row ? row.lastId : newest.get({ limit: 1 })?.id
  const state = row ? parseState(hashes, row.value.toString()) : null
  // Of a chain that was pruned to its end, the newest line is gone; its id is not given again.
  const newestId = Math.max(lastId ?? 0, state?.acts.head.id ?? 0, state?.refusals.head.id ?? 0)
  return { state, newestId, requests: row?.requests ?? 0 }
}

function keep({ keepState, hashes }: Log, state: AuditState): void {
  keepState.run({ value: Buffer.from(formatState(hashes, state)) })
}

function lastOf({ newest }: Log): AuditHead {
  return headOf(newest.get({ limit: 1 }) ?? auditStart)
}

/** Lines that go on from a seal that is gone or false are written too, and leave it as it is: that stays to be found. */
function append(log: Log, entries: readonly AuditEntry[]): void {
  // As of each booking: it is spared the reading of where the log stands.
  if (entries.length === 0) return
  const { state: sealed, newestId } = stand(log)
  const last = lastOf(log)
  const span = { start: last, head: last }
  let state = sealed ?? { acts: span, refusals: span, requests: 0 }
  let nextId = newestId + 1
  for (const entry of entries) {
    const added = addLine(log.hashes, state, nextId++, entry)
    log.insert.run({ ...added.line })
    state = added.state
  }
  if (sealed) keep(log, state)
}

/** The lines up to an id, some at a time, between which others have their turn. */
async function* linesOf({ chunkAfter }: Log, after: number, upTo: number): AsyncGenerator<AuditLine> {
  for (let last = after; last < upTo; ) {
    const chunk = chunkAfter.all({ id: last, limit: chunkSize })
    if (chunk.length === 0) return
    for (const line of chunk) if (line.id <= upTo) yield line
    last = chunk.at(-1)?.id ?? upTo
    await new Promise(setImmediate)
  }
}

async function verify(log: Log, noted: AuditHead | null): Promise<AuditVerdict> {
  for (;;) {
    const before = stand(log)
    const verdict = await verifyFrom(log, before, noted)
    // Somebody who prunes meanwhile takes away what is being read.
    if (verdict.intact || startsOf(stand(log)) === startsOf(before)) return verdict
  }
}

async function verifyFrom(log: Log, standing: Standing, noted: AuditHead | null): Promise<AuditVerdict> {
  const { state, newestId, requests } = standing
  const broken = (fault: string) => ({ intact: false, id: newestId, fault }) as const
  if (!state) return broken('the seal of the newest line is missing or not as it was written')
  if (state.requests !== requests) {
    return broken('the log is another than was there beside the newest requests')
  }
  const check = checkLines(log.hashes, state, noted)
  for await (const line of linesOf(log, beforeAll, newestId)) {
    const fault = check.take(line)
    if (fault) return fault
  }
  return check.end()
}

function startsOf({ state }: Standing): string {
  return JSON.stringify([state?.acts.start, state?.refusals.start])
}

/** Removes the lines of a chain up to one of them, from which the chain starts then. Tells how many they were. */
function removeUpTo(log: Log, chain: AuditChain, start: AuditHead): number {
  const { state } = stand(log)
  const [first] = log.chunkAfter.all({ id: start.id - 1, limit: 1 })
  if (!state || first?.id !== start.id || first.hash !== start.hash || chainOf(first) !== chain) return 0
  keep(log, { ...state, [chain]: { ...state[chain], start } })
  const isOfChain = chain === 'refusals' ? eq : ne
  const isBehind = gt(audit.id, state[chain].start.id)
  const removed = log.db
    .delete(audit)
    .where(and(isBehind, lte(audit.id, start.id), isOfChain(audit.action, 'authentication.refuse')))
    .returning({ id: audit.id })
  return removed.all().length
}

/** Binds the log to the requests that are there, in the transaction that brought them. */
function sealRequests(log: Log): void {
  const { state, requests } = stand(log)
  if (state && state.requests !== requests) keep(log, { ...state, requests })
}

/** The audit log: lines are added, listed, checked and pruned, and the database refuses everything else. */
export function auditQueries(db: Drizzle, vault: Vault) {
  const log = openLog(db, vault)
  return {
    hashes: log.hashes,
    stand: () => stand(log),
    sealRequests: () => sealRequests(log),
    append: (entries: readonly AuditEntry[]) => append(log, entries),
    conflictAt: conflictQuery(db),
    list: lineLists(db),
    countRefusals: refusalCounts(db),
    looksAtRisk: looksAtRisk(db),
    lines: (after: number, upTo: number) => linesOf(log, after, upTo),
    head: (): AuditHead => stand(log).state?.acts.head ?? lastOf(log),
    verify: (noted: AuditHead | null) => verify(log, noted),
    removeUpTo: (chain: AuditChain, start: AuditHead) => removeUpTo(log, chain, start),
  }
}
