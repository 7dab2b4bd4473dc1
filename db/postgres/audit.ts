import { and, asc, eq, gt, lte, ne, sql } from 'drizzle-orm'
import {
  type AuditChain,
  type AuditEntry,
  type AuditHashes,
  type AuditHead,
  type AuditLine,
  type AuditState,
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
import { type Drizzle, placeholders } from './drizzle'
import { audit, settings } from './schema'

/** Reads where the log stands in one statement, so that all of it is of one moment. */
function standingQuery(db: Drizzle, hashes: AuditHashes) {
  // No LIMIT: it would be a parameter, and the planner would guess its value.
  const newestLine = db
    .select({ id: audit.id, hash: audit.hash })
    .from(audit)
    .where(sql`${audit.id} = (select max(${audit.id}) from ${audit})`)
    .as('newest_line')
  const standing = db
    .select({ state: settings.value, id: newestLine.id, hash: newestLine.hash })
    .from(sql`(select 1) as moment`)
    .leftJoin(settings, eq(settings.name, auditStateName))
    .leftJoin(newestLine, sql`true`)
    .prepare('')
  return async (): Promise<LogStanding> => {
    const [row] = await standing.execute({})
    const { id = null, hash = null } = row ?? {}
    return {
      state: row?.state ? parseState(hashes, row.state.toString()) : null,
      last: lastOf(id === null || hash === null ? undefined : { id, hash }),
    }
  }
}

/** The log on a connection, its statements prepared once. */
function openLog(db: Drizzle, vault: Vault) {
  const hashes = auditHashes(vault)
  const { id, hash, limit, value, lines } = placeholders('id', 'hash', 'limit', 'value', 'lines')
  const { behind, upTo } = placeholders('behind', 'upTo')
  const chunk = () => db.select().from(audit).orderBy(asc(audit.id)).limit(limit)
  const removal = (isOfChain: typeof eq) =>
    db
      .delete(audit)
      .where(and(gt(audit.id, behind), lte(audit.id, upTo), isOfChain(audit.action, 'authentication.refuse')))
      .returning({ id: audit.id })
      .prepare('')
  return {
    hashes,
    stand: standingQuery(db, hashes),
    first: chunk().prepare(''),
    chunkAfter: chunk().where(gt(audit.id, id)).prepare(''),
    line: db
      .select({ id: audit.id })
      .from(audit)
      .where(and(eq(audit.id, id), eq(audit.hash, hash)))
      .prepare(''),
    keepState: db
      .update(settings)
      .set({ value: sql`${value}` })
      .where(eq(settings.name, auditStateName))
      .prepare(''),
    // As a text first: the client would put a json parameter that is a text into quotes.
    insert: db
      .insert(audit)
      .select(
        sql`select id, at, actor, action, record, outcome, hash from json_populate_recordset(null::audit, ${lines}::text::json)`,
      )
      .prepare(''),
    remove: { acts: removal(ne), refusals: removal(eq) },
  }
}

type Log = ReturnType<typeof openLog>

async function keep({ keepState, hashes }: Log, state: AuditState): Promise<void> {
  await keepState.execute({ value: Buffer.from(formatState(hashes, state)) })
}

async function append(log: Log, entries: readonly AuditEntry[]): Promise<readonly AuditLine[]> {
  // As of each booking: it is spared the reading of where the log stands.
  if (entries.length === 0) return []
  const { lines, state } = linesFor(log.hashes, await log.stand(), entries)
  const insert = log.insert.execute({ lines: JSON.stringify(lines) })
  await Promise.all([insert, state && keep(log, state)])
  return lines
}

/** Removes the lines of a chain up to one of them, from which the chain starts then. Tells how many they were. */
async function removeUpTo(log: Log, chain: AuditChain, start: AuditHead): Promise<number> {
  const [{ state }, [first]] = await Promise.all([log.stand(), linesAfter(log, start.id - 1, 1)])
  if (!state || first?.id !== start.id || first.hash !== start.hash || chainOf(first) !== chain) return 0
  const removal = { behind: state[chain].start.id, upTo: start.id }
  const kept = keep(log, { ...state, [chain]: { ...state[chain], start } })
  const [removed] = await Promise.all([log.remove[chain].execute(removal), kept])
  return removed.length
}

function linesAfter(log: Log, after: number | null, limit: number): Promise<AuditLine[]> {
  return after === null ? log.first.execute({ limit }) : log.chunkAfter.execute({ id: after, limit })
}

/** The audit log: lines are added, listed, checked and pruned, and the database refuses everything else. */
export function auditQueries(engine: QueryEngine, vault: Vault) {
  const log = openLog(engine.db as unknown as Drizzle, vault)
  const walked: WalkedLog = {
    hashes: log.hashes,
    stand: log.stand,
    linesAfter: (after, limit) => linesAfter(log, after, limit),
  }
  return {
    walked,
    /** Inside a transaction that holds the lock of the log. Tells the lines: nothing is asked where there are none to be. */
    append: (entries: readonly AuditEntry[]) => append(log, entries),
    /** Whether a line was stored, of an act whose COMMIT was not answered. */
    isThere: async ({ id, hash }: AuditHead) => (await log.line.execute({ id, hash })).length > 0,
    conflictAt: conflictQuery(engine),
    list: auditLists(engine),
    countRefusals: refusalCounts(engine),
    looksAtRisk: looksAtRisk(engine),
    head: async (): Promise<AuditHead> => headOfLog(await log.stand()),
    verify: (noted: AuditHead | null) => verifyLog(walked, noted),
    /** Inside a transaction that holds the lock of the log. */
    removeUpTo: (chain: AuditChain, start: AuditHead) => removeUpTo(log, chain, start),
  }
}

export type AuditQueries = ReturnType<typeof auditQueries>
