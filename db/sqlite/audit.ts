import { and, asc, desc, eq, gt, lte, ne, sql } from 'drizzle-orm'
import {
  type AuditChain,
  type AuditEntry,
  type AuditHead,
  type AuditState,
  auditStart,
  chainOf,
  formatState,
  parseState,
} from '../../src/domain/audit'
import type { Vault } from '../../src/domain/vault'
import { auditHashes } from '../audit/hashes'
import {
  auditStateName,
  headOfLog,
  type LogStanding,
  lastOf,
  linesFor,
  verifyLog,
  type WalkedLog,
} from '../audit/verification'
import { conflictQuery, looksAtRisk, refusalCounts } from '../queries/audit-counts'
import { auditLists } from '../queries/audit-lists'
import type { QueryEngine } from '../queries/engine'
import { whenCalled } from '../queries/lazy'
import { type Drizzle, placeholders } from './drizzle'
import { audit, settings } from './schema'

/** Less than every id, were it one that no line is given. */
const beforeAll = -Number.MAX_VALUE

/** The log on a database, its statements prepared once. */
function openLog(db: Drizzle, vault: Vault) {
  const { id, limit, value } = placeholders('id', 'limit', 'value')
  const select = () => db.select().from(audit)
  const last = {
    id: sql<number | null>`(select max(id) from audit)`,
    hash: sql<string | null>`(select hash from audit where id = (select max(id) from audit))`,
  }
  const isState = eq(settings.name, auditStateName)
  const line = placeholders('id', 'at', 'actor', 'action', 'record', 'outcome', 'hash')
  return {
    db,
    hashes: auditHashes(vault),
    newest: select().orderBy(desc(audit.id)).limit(limit).prepare(),
    chunkAfter: select().where(gt(audit.id, id)).orderBy(asc(audit.id)).limit(limit).prepare(),
    standing: db.select({ value: settings.value, last }).from(settings).where(isState).prepare(),
    keepState: db
      .update(settings)
      .set({ value: sql`${value}` })
      .where(isState)
      .prepare(),
    insert: db.insert(audit).values(line).prepare(),
  }
}

type Log = ReturnType<typeof openLog>

function stand({ standing, newest, hashes }: Log): LogStanding {
  const row = standing.get()
  if (!row) return { state: null, last: lastOf(newest.get({ limit: 1 })) }
  const { id, hash } = row.last
  const last = id === null || hash === null ? auditStart : { id, hash }
  return { state: parseState(hashes, row.value.toString()), last }
}

function keep({ keepState, hashes }: Log, state: AuditState): void {
  keepState.run({ value: Buffer.from(formatState(hashes, state)) })
}

function append(log: Log, entries: readonly AuditEntry[]): void {
  // As of each booking: it is spared the reading of where the log stands.
  if (entries.length === 0) return
  const { lines, state } = linesFor(log.hashes, stand(log), entries)
  for (const line of lines) log.insert.run({ ...line })
  if (state) keep(log, state)
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

/** The audit log: lines are added, listed, checked and pruned, and the database refuses everything else. */
export function auditQueries(engine: QueryEngine, vault: Vault) {
  const log = openLog(engine.db as Drizzle, vault)
  const walked: WalkedLog = {
    hashes: log.hashes,
    stand: () => stand(log),
    linesAfter: (after, limit) => log.chunkAfter.all({ id: after ?? beforeAll, limit }),
  }
  return {
    walked,
    append: (entries: readonly AuditEntry[]) => append(log, entries),
    conflictAt: whenCalled(() => conflictQuery(engine)),
    list: whenCalled(() => auditLists(engine)),
    countRefusals: whenCalled(() => refusalCounts(engine)),
    looksAtRisk: whenCalled(() => looksAtRisk(engine)),
    head: (): AuditHead => headOfLog(stand(log)),
    verify: (noted: AuditHead | null) => verifyLog(walked, noted),
    removeUpTo: (chain: AuditChain, start: AuditHead) => removeUpTo(log, chain, start),
  }
}
