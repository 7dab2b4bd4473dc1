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
import type { MaybePromise } from '../../src/domain/ports/facts'
import type { Vault } from '../../src/domain/ports/vault'
import { auditArchives } from '../audit/archive'
import {
  auditHashes,
  auditStateName,
  headOfLog,
  type LogStanding,
  lastOf,
  linesFor,
  verifyLog,
  type WalkedLog,
} from '../audit/verification'
import { auditLists, conflictQuery, looksAtRisk, refusalCounts } from './audit-lists'
import { all, placeholders, type QueryEngine, then, whenCalled } from './engine'

const columns = ['id', 'at', 'actor', 'action', 'record', 'outcome', 'hash'] as const

/** The statements on the log, prepared once. */
function openLog({ db, tables: { audit, settings }, prepare, prepareWrite }: QueryEngine, vault: Vault) {
  const open = placeholders('limit', 'value', 'behind', ...columns)
  // No LIMIT: it would be a parameter, and the planner would guess its value.
  const newestLine = db
    .select({ id: audit.id, hash: audit.hash })
    .from(audit)
    .where(sql`${audit.id} = (select max(${audit.id}) from ${audit})`)
    .as('newest_line')
  const isState = eq(settings.name, auditStateName)
  const chunk = () => db.select().from(audit).orderBy(asc(audit.id)).limit(open.limit)
  const removal = (isOfChain: typeof eq) =>
    prepare(
      db
        .delete(audit)
        .where(
          and(
            gt(audit.id, open.behind),
            lte(audit.id, open.id),
            isOfChain(audit.action, 'authentication.refuse'),
          ),
        )
        .returning({ id: audit.id }),
    )
  return {
    hashes: auditHashes(vault),
    // One statement: a snapshot of both.
    standing: prepare(
      db
        .select({ state: settings.value, id: newestLine.id, hash: newestLine.hash })
        .from(sql`(select 1) as one_row`)
        .leftJoin(settings, isState)
        .leftJoin(newestLine, sql`true`),
    ),
    first: prepare(chunk()),
    chunkAfter: prepare(chunk().where(gt(audit.id, open.behind))),
    line: prepare(
      db
        .select({ id: audit.id })
        .from(audit)
        .where(and(eq(audit.id, open.id), eq(audit.hash, open.hash))),
    ),
    setState: prepareWrite(
      db
        .update(settings)
        .set({ value: sql`${open.value}` })
        .where(isState),
    ),
    insert: prepareWrite(db.insert(audit).values(placeholders(...columns))),
    remove: { acts: removal(ne), refusals: removal(eq) },
  }
}

type Log = ReturnType<typeof openLog>

function stand({ standing, hashes }: Log): MaybePromise<LogStanding> {
  return then(standing(), ([row]) => {
    const { state = null, id = null, hash = null } = row ?? {}
    return {
      state: state && parseState(hashes, state.toString()),
      last: lastOf(id === null || hash === null ? undefined : { id, hash }),
    }
  })
}

function linesAfter(log: Log, after: number | null, limit: number): MaybePromise<AuditLine[]> {
  return after === null ? log.first({ limit }) : log.chunkAfter({ behind: after, limit })
}

function store({ setState, hashes }: Log, state: AuditState): MaybePromise<number> {
  return setState({ value: Buffer.from(formatState(hashes, state)) })
}

function append(log: Log, entries: readonly AuditEntry[]): MaybePromise<readonly AuditLine[]> {
  // Most bookings: no need to read where the log stands.
  if (entries.length === 0) return []
  return then(stand(log), (standing) => {
    const { lines, state } = linesFor(log.hashes, standing, entries)
    const inserted = lines.map((line) => log.insert({ ...line }))
    return then(all([...inserted, state && store(log, state)]), () => lines)
  })
}

/** Removes the lines of a chain up to a line, after which the chain then starts. Returns how many were removed. */
function removeUpTo(log: Log, chain: AuditChain, start: AuditHead): MaybePromise<number> {
  return then(all([stand(log), linesAfter(log, start.id - 1, 1)]), ([{ state }, [first]]) => {
    const isThere = first?.id === start.id && first.hash === start.hash && chainOf(first) === chain
    if (!state || !isThere) return 0
    return then(store(log, { ...state, [chain]: { ...state[chain], start } }), () =>
      then(log.remove[chain]({ behind: state[chain].start.id, id: start.id }), ({ length }) => length),
    )
  })
}

/** Queries on the audit log. It grows and is pruned; the database refuses every other change. */
export function auditQueries(engine: QueryEngine, vault: Vault) {
  const log = openLog(engine, vault)
  const walked: WalkedLog = {
    hashes: log.hashes,
    stand: () => stand(log),
    linesAfter: (after, limit) => linesAfter(log, after, limit),
  }
  return {
    walked,
    /** Returns the new lines. On PostgreSQL inside a transaction that has the lock of the log. */
    append: (entries: readonly AuditEntry[]) => append(log, entries),
    /** Whether a line is stored: to find out whether a COMMIT without an answer took place. */
    isThere: ({ id, hash }: AuditHead): MaybePromise<boolean> =>
      then(log.line({ id, hash }), ({ length }) => length > 0),
    conflictAt: whenCalled(() => conflictQuery(engine)),
    list: whenCalled(() => auditLists(engine)),
    countRefusals: whenCalled(() => refusalCounts(engine)),
    looksAtRisk: whenCalled(() => looksAtRisk(engine)),
    head: (): MaybePromise<AuditHead> => then(stand(log), headOfLog),
    verify: (noted: AuditHead | null) => verifyLog(walked, noted),
    setState: (state: AuditState) => store(log, state),
    /** On PostgreSQL inside a transaction that has the lock of the log. */
    removeUpTo: (chain: AuditChain, start: AuditHead) => removeUpTo(log, chain, start),
  }
}

export type AuditQueries = ReturnType<typeof auditQueries>

/** Runs work with the log on a connection, and returns its result. */
type WithLog = <T>(work: (audit: AuditQueries) => MaybePromise<T>) => Promise<T>

/** A log whose parts are read one by one: no connection and no snapshot is kept between two of them. */
export function logOver(hashes: AuditHashes, read: WithLog): WalkedLog {
  return {
    hashes,
    stand: () => read(({ walked }) => walked.stand()),
    linesAfter: (after, limit) => read(({ walked }) => walked.linesAfter(after, limit)),
  }
}

/** Archives of pruned lines. @param act runs its work in a transaction that may append to the log */
export function archivesOf(log: WalkedLog, act: WithLog) {
  return auditArchives(log, (chain, upTo, entries) =>
    act((audit) =>
      then(audit.removeUpTo(chain, upTo), (removed) =>
        removed > 0 ? then(audit.append(entries), () => removed) : removed,
      ),
    ),
  )
}
