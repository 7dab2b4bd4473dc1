import { and, asc, count, desc, eq, gt, gte, inArray, lt, lte, max, ne, or, sql } from 'drizzle-orm'
import {
  type AuditChain,
  type AuditEntry,
  type AuditFilter,
  type AuditHashes,
  type AuditHead,
  type AuditLine,
  type AuditState,
  chainOf,
  formatState,
  parseState,
} from '../../src/domain/audit'
import type { emailConflictQuery } from '../../src/domain/decisions/submission'
import { countedRefusals, type RefusalCount, type RefusalQuery } from '../../src/domain/errors'
import type { MaybePromise } from '../../src/domain/ports/store'
import type { Vault } from '../../src/domain/ports/vault'
import { auditArchives } from '../audit/archive'
import { type AuditStream, givenOf, isNarrowed, mergeStreams, streamsOf, timesOf } from '../audit/streams'
import {
  auditHashes,
  auditStateName,
  headOfLog,
  type LogEnds,
  lastOf,
  linesFor,
  verifyLog,
  type WalkedLog,
} from '../audit/verification'
import { all, placeholders, type QueryEngine, then, type Values, whenCalled } from './engine'

const columns = ['id', 'at', 'actor', 'action', 'record', 'outcome', 'hash'] as const

function openLog({ db, tables: { audit, settings }, prepare, prepareWrite }: QueryEngine, vault: Vault) {
  const open = placeholders('limit', 'value', 'behind', ...columns)
  // Uses max(), because Drizzle passes LIMIT as a parameter. The planner would have to guess its value.
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
    ends: prepare(
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

function stand({ ends, hashes }: Log): MaybePromise<LogEnds> {
  return then(ends(), ([row]) => {
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
  // Fast path: most bookings append no entries.
  if (entries.length === 0) return []
  return then(stand(log), (ends) => {
    const { lines, state } = linesFor(log.hashes, ends, entries)
    const inserted = lines.map((line) => log.insert({ ...line }))
    return then(all([...inserted, state && store(log, state)]), () => lines)
  })
}

/** Returns the number of removed lines; 0 if `start` is not a line of the chain. */
function removeUpTo(log: Log, chain: AuditChain, start: AuditHead): MaybePromise<number> {
  return then(all([stand(log), linesAfter(log, start.id - 1, 1)]), ([{ state }, [first]]) => {
    const isThere = first?.id === start.id && first.hash === start.hash && chainOf(first) === chain
    if (!state || !isThere) return 0
    return then(store(log, { ...state, [chain]: { ...state[chain], start } }), () =>
      then(log.remove[chain]({ behind: state[chain].start.id, id: start.id }), ({ length }) => length),
    )
  })
}

/** The database rejects all changes of the log except appending and pruning. */
export function auditQueries(engine: QueryEngine, vault: Vault) {
  const log = openLog(engine, vault)
  const walked: WalkedLog = {
    hashes: log.hashes,
    stand: () => stand(log),
    linesAfter: (after, limit) => linesAfter(log, after, limit),
  }
  return {
    walked,
    /** Returns the new lines. On PostgreSQL, requires a transaction with the audit lock. */
    append: (entries: readonly AuditEntry[]) => append(log, entries),
    /** Returns true if the line is stored. Used if the answer to COMMIT was lost. */
    isThere: ({ id, hash }: AuditHead): MaybePromise<boolean> =>
      then(log.line({ id, hash }), ({ length }) => length > 0),
    conflictAt: whenCalled(() => conflictQuery(engine)),
    list: whenCalled(() => auditLists(engine)),
    countRefusals: whenCalled(() => refusalCounts(engine)),
    countEmailConflicts: whenCalled(() => conflictCounts(engine)),
    listReviewed: whenCalled(() => listReviewed(engine)),
    head: (): MaybePromise<AuditHead> => then(stand(log), headOfLog),
    verify: (noted: AuditHead | null) => verifyLog(walked, noted),
    setState: (state: AuditState) => store(log, state),
    /** On PostgreSQL, requires a transaction with the audit lock. */
    removeUpTo: (chain: AuditChain, start: AuditHead) => removeUpTo(log, chain, start),
  }
}

export type AuditQueries = ReturnType<typeof auditQueries>

type WithLog = <T>(work: (audit: AuditQueries) => MaybePromise<T>) => Promise<T>

/** Reads a log in batches. Keeps no connection and no snapshot between two batches. */
export function logOver(hashes: AuditHashes, read: WithLog): WalkedLog {
  return {
    hashes,
    stand: () => read(({ walked }) => walked.stand()),
    linesAfter: (after, limit) => read(({ walked }) => walked.linesAfter(after, limit)),
  }
}

/** @param act runs work in a transaction that may append to the log */
export function archivesOf(log: WalkedLog, act: WithLog) {
  return auditArchives(log, (chain, upTo, entries) =>
    act((audit) =>
      then(audit.removeUpTo(chain, upTo), (removed) =>
        removed > 0 ? then(audit.append(entries), () => removed) : removed,
      ),
    ),
  )
}

/**
 * Lists matching lines, oldest first. With `after`, lists the first lines after that id. Without `after`, lists the
 * newest lines.
 */
function auditLists({ db, tables: { audit }, prepare }: QueryEngine) {
  const open = placeholders('since', 'until', 'actor', 'record', 'action', 'afterAt', 'after', 'limit')
  const select = () => db.select().from(audit)
  const atOf = prepare(db.select({ at: audit.at }).from(audit).where(eq(audit.id, open.after)))
  const newest = prepare(select().orderBy(desc(audit.id)).limit(open.limit))
  const behind = prepare(select().where(gt(audit.id, open.after)).orderBy(asc(audit.id)).limit(open.limit))

  const prepareStream = (names: readonly (keyof AuditStream)[], isForward: boolean) => {
    // The planner should use the record's index, because a record has few lines. `|| ''` rules out the actor's index.
    const columnOf = (name: keyof AuditStream) =>
      name === 'actor' && names.includes('record') ? sql`(${audit.actor} || '')` : sql`${audit[name]}`
    const isOne = names.map((name) => eq(columnOf(name), open[name]))
    const isBehind = isForward ? or(gt(audit.at, open.afterAt), gt(audit.id, open.after)) : undefined
    const order = isForward ? asc : desc
    return prepare(
      select()
        .where(and(...isOne, gte(audit.at, open.since), lt(audit.at, open.until), isBehind))
        .orderBy(order(audit.at), order(audit.id))
        .limit(open.limit),
    )
  }
  const prepared = new Map<string, ReturnType<typeof prepareStream>>()
  const linesOf = (stream: AuditStream, times: Values, isForward: boolean) => {
    const names = givenOf(stream)
    const key = [isForward, ...names].join()
    const statement = prepared.get(key) ?? prepareStream(names, isForward)
    prepared.set(key, statement)
    return statement({ ...times, ...stream })
  }

  const narrowed = (limit: number, filter: AuditFilter): MaybePromise<AuditLine[]> => {
    const { after } = filter
    const isForward = after !== undefined
    return then(isForward ? atOf({ after }) : [], ([line]) => {
      const times = { ...timesOf(filter, line?.at), limit }
      const found = streamsOf(filter).map((stream) => linesOf(stream, times, isForward))
      return then(all(found), (lines) => mergeStreams(lines.flat(), limit, filter))
    })
  }

  return (limit: number, filter: AuditFilter = {}): MaybePromise<AuditLine[]> => {
    const { after } = filter
    if (isNarrowed(filter)) return narrowed(limit, filter)
    return after === undefined
      ? then(newest({ limit }), (lines) => lines.reverse())
      : behind({ after, limit })
  }
}

/** Counts failed authentications by record and outcome, most frequent first. Counts only the newest `most` lines. */
function refusalCounts({ db, tables: { audit }, prepare }: QueryEngine) {
  const open = placeholders('since', 'most', 'record')
  const prepareCount = (isOne: boolean) => {
    const isRefusal = and(eq(audit.action, 'authentication.refuse'), gte(audit.at, open.since))
    const newest = db
      .select({ record: audit.record, outcome: audit.outcome, at: audit.at })
      .from(audit)
      .where(isOne ? and(eq(audit.record, open.record), isRefusal) : isRefusal)
      .orderBy(desc(audit.at))
      .limit(open.most)
      .as('refusals')
    const lastAt = max(newest.at).mapWith(Number)
    return prepare(
      db
        .select({ record: newest.record, outcome: newest.outcome, count: count(), lastAt })
        .from(newest)
        .groupBy(newest.record, newest.outcome)
        .orderBy(desc(count()), sql`${newest.record} nulls first`, newest.outcome),
    )
  }
  const [ofAll, ofOne] = [prepareCount(false), prepareCount(true)]
  return ({ since, most, partnerId }: RefusalQuery): MaybePromise<RefusalCount[]> => {
    const counted =
      partnerId === undefined
        ? ofAll({ since, most })
        : ofOne({ since, most, record: `partner ${partnerId}` })
    return then(counted, countedRefusals)
  }
}

function conflictCounts({ db, tables: { audit }, prepare }: QueryEngine) {
  const { after } = placeholders('after')
  const lastAt = max(audit.at).mapWith(Number)
  const counted = ['member.email-conflict', 'partner.email-limit'] as const
  const counts = prepare(
    db
      .select({ record: audit.actor, outcome: audit.outcome, count: count(), lastAt })
      .from(audit)
      .where(and(inArray(audit.action, counted), gt(audit.at, after)))
      .groupBy(audit.actor, audit.outcome),
  )
  return (after: number): MaybePromise<RefusalCount[]> => then(counts({ after }), countedRefusals)
}

/** Returns the requests whose screening answers were read by staff. Seeing the flag in a list does not count. */
export function listReviewed({ db, tables: { audit }, prepare, isAmong, list }: QueryEngine) {
  const isLook = sql`${audit.action} = 'request.read-screening' and ${audit.outcome} = 'done'`
  const areNamed = isAmong(audit.record, placeholders('records').records)
  const looks = prepare(db.selectDistinct({ record: audit.record }).from(audit).where(and(areNamed, isLook)))
  return (ids: readonly number[]): MaybePromise<number[]> =>
    then(looks({ records: list(ids.map((id) => `request ${id}`)) }), (rows) =>
      rows.map(({ record }) => Number(record?.replace('request ', ''))),
    )
}

/** Time of an e-mail conflict in ms; null if there is none. `back` 1 means the newest conflict. */
function conflictQuery({ db, tables: { audit }, prepare }: QueryEngine) {
  const open = placeholders('actor', 'after', 'offset')
  const isConflict = eq(audit.action, 'member.email-conflict')
  const conflict = prepare(
    db
      .select({ at: audit.at })
      .from(audit)
      .where(and(isConflict, eq(audit.actor, open.actor), gt(audit.at, open.after)))
      .orderBy(desc(audit.at))
      .limit(1)
      .offset(open.offset),
  )
  return ({ actor, after, back }: ReturnType<typeof emailConflictQuery>): MaybePromise<number | null> =>
    then(conflict({ actor, after, offset: back - 1 }), ([found]) => found?.at ?? null)
}
