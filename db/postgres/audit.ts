import { and, asc, eq, gt, lte, ne, sql } from 'drizzle-orm'
import {
  type AuditChain,
  type AuditEntry,
  type AuditHead,
  type AuditLine,
  type AuditState,
  chainOf,
  formatState,
  parseState,
} from '../../src/domain/audit'
import type { Vault } from '../../src/domain/vault'
import { auditHashes } from '../audit/hashes'
import { headOfLog, linesFor, verifyLog, type WalkedLog } from '../audit/verification'
import { conflictQuery, looksAtRisk, refusalCounts } from './audit-counts'
import { lineLists } from './audit-lists'
import { type Drizzle, placeholders } from './drizzle'
import { auditStateName, requestSealQueries, type Standing, standingQuery } from './request-seals'
import { audit, settings } from './schema'

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
    seals: requestSealQueries(db, hashes),
    stand: standingQuery(db, hashes),
    state: db
      .select({ value: settings.value })
      .from(settings)
      .where(eq(settings.name, auditStateName))
      .prepare(''),
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
  const standing = await log.stand()
  const { lines, state } = linesFor(log.hashes, standing, entries)
  const insert = log.insert.execute({ lines: JSON.stringify(lines) })
  await Promise.all([insert, state && seal(log, state, standing)])
  return lines
}

/** Keeps the state once lines were added, beside the newest request; no older seal is needed then. */
async function seal(log: Log, state: AuditState, { sealedRequest }: Standing): Promise<void> {
  if (sealedRequest === null) return keep(log, state)
  const requests = Math.max(state.requests, sealedRequest)
  await Promise.all([keep(log, { ...state, requests }), log.seals.removeOlder(sealedRequest, state)])
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

async function findStranger(
  { seals }: Log,
  { state, requests, sealedRequest }: Standing,
): Promise<string | null> {
  if (state === null) return null
  if (state.requests > requests || (sealedRequest ?? 0) > requests)
    return 'requests that were there beside the log are missing'
  if (sealedRequest !== requests && requests > 0)
    return 'the seal of the newest request is missing or not as it was written'
  return (await seals.hasStranger(state))
    ? 'the log is another than was there beside the newest requests'
    : null
}

/** The act beside which a group seals its requests; null where the seal of the log is gone or false: that stays to be found. */
async function newestAct({ state, hashes }: Log): Promise<AuditHead | null> {
  const [row] = await state.execute({})
  const kept = row ? parseState(hashes, row.value.toString()) : null
  return kept?.acts.head ?? null
}

/** The audit log: lines are added, listed, checked and pruned, and the database refuses everything else. */
export function auditQueries(db: Drizzle, vault: Vault) {
  const log = openLog(db, vault)
  const walked: WalkedLog<Standing> = {
    hashes: log.hashes,
    stand: log.stand,
    linesAfter: (after, limit) => linesAfter(log, after, limit),
    findStranger: (standing) => findStranger(log, standing),
  }
  return {
    walked,
    /** Inside a transaction that holds the lock of the log. Tells the lines: nothing is asked where there are none to be. */
    append: (entries: readonly AuditEntry[]) => append(log, entries),
    /** Whether a line was stored, of an act whose COMMIT was not answered. */
    isThere: async ({ id, hash }: AuditHead) => (await log.line.execute({ id, hash })).length > 0,
    newestAct: () => newestAct(log),
    /**
     * Binds the log to the requests that a group of submissions has inserted, in its transaction and without the lock of the
     * log: one statement, which waits for nobody.
     *
     * @param requestId the newest that was inserted
     * @param act as newestAct told it in the same transaction
     */
    sealRequests: async (requestId: number, act: AuditHead | null): Promise<void> => {
      if (act) await log.seals.add(requestId, act)
    },
    conflictAt: conflictQuery(db),
    list: lineLists(db),
    countRefusals: refusalCounts(db),
    looksAtRisk: looksAtRisk(db),
    head: async (): Promise<AuditHead> => headOfLog(await log.stand()),
    verify: (noted: AuditHead | null) => verifyLog(walked, noted),
    /** Inside a transaction that holds the lock of the log. */
    removeUpTo: (chain: AuditChain, start: AuditHead) => removeUpTo(log, chain, start),
  }
}

export type AuditQueries = ReturnType<typeof auditQueries>
