import type { AuditEntry, AuditHead } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import type { Store } from '../../src/domain/ports/store'
import { linesOf } from '../../src/domain/ports/writes'
import { type Changed, changesOf, keptChanges } from '../queries/changes'
import { replacedIn } from '../queries/requests/partner-requests'
import { hasQueued, takeQueued } from './audit-queue'
import type { Connection } from './client/connection'
import { DatabaseFailure, toRefusal } from './client/failure'
import type { Pool } from './client/pool'
import { timeouts } from './client/timeouts'
import { type Lock, take, taking } from './locks'
import type { Session } from './session'

export interface Done<T> {
  readonly answer: T
  readonly lines: readonly AuditEntry[]
  readonly changed: readonly Changed[]
  /** Ids of requests that move to the end of their partner's list of changes. */
  readonly replaced?: readonly number[]
  /** Lines for the audit queue, from work without the audit lock. */
  readonly queued?: readonly AuditEntry[]
  readonly pending?: unknown
  readonly recordKey?: string
}

/** Outcome of a write without a result, audit lines or directory changes. */
export const noted = { answer: undefined, lines: [], changed: [] } as const

interface Transacting {
  /** SQL statements, in lock order. */
  readonly locks: readonly string[]
  /** Timeout of the next attempt in ms; null if no time is left. @param isUnknown true if the last outcome is unknown */
  readonly attemptMillis: (isUnknown: boolean) => number | null
  readonly noteFailed?: (error: unknown) => void
}

/** Maximum failed attempts. Lock timeouts do not count. */
const mostFailures = 3

/**
 * Runs a transaction, and retries after some failures. If the answer to COMMIT is lost, first checks if the change was
 * stored.
 * @throws DatabaseFailure `lost` if the outcome stays unknown; errors of the work
 */
export async function transact<T>(
  pool: Pool<Session>,
  how: Transacting,
  work: (session: Session) => Promise<Done<T>>,
): Promise<T> {
  let attempted: Attempted<T> | null = null
  let lost: unknown = null
  let failure: unknown = toRefusal(new DatabaseFailure('busy'))
  let isUnknown = false
  const attempt = async (session: Session): Promise<T> => {
    const { connection } = session
    // The wait for a connection may have used up the time.
    const millis = how.attemptMillis(isUnknown)
    if (millis === null) throw failure
    await begin(connection, how.locks, millis)
    if (attempted && (await isStored(session, attempted))) {
      await rollBack(connection)
      return attempted.answer
    }
    attempted = lost = null
    const done = await work(session)
    const queued = Promise.all((done.queued ?? []).map((entry) => session.submissions.queue(entry)))
    // An error of an earlier statement is the one to report.
    queued.catch(() => {})
    const [[line = null]] = await Promise.all([
      session.audit.append(done.lines),
      done.lines.length && done.pending,
    ])
    attempted = { ...done, line }
    await commit(connection, { ...done, pending: Promise.resolve(done.pending).then(() => queued) })
    return done.answer
  }
  for (let failures = 0; ; ) {
    const millis = how.attemptMillis(isUnknown)
    if (millis === null) throw lost ?? failure
    try {
      return await pool.use(attempt, millis)
    } catch (error) {
      how.noteFailed?.(error)
      failure = error
      isUnknown = isLost(error)
      if (isUnknown) lost = error
      if (!isWaiting(error)) failures++
      if (!(isUnknown || isWorthAnotherAttempt(error)) || failures === mostFailures) throw lost ?? error
    }
  }
}

interface Attempted<T> extends Pick<Done<T>, 'answer' | 'recordKey'> {
  readonly line: AuditHead | null
}

/** Returns true if the attempt's audit line or request is stored. Other work can safely be repeated. */
async function isStored({ audit, submissions }: Session, { line, recordKey }: Attempted<unknown>) {
  if (line) return audit.isThere(line)
  return recordKey !== undefined && submissions.isStored(recordKey)
}

export async function begin(connection: Connection, locks: readonly string[], statementMillis: number) {
  const limits = [
    `SET LOCAL lock_timeout = ${timeouts.lock}`,
    // The idle timeout does not apply while the server receives or runs a statement.
    `SET LOCAL statement_timeout = ${statementMillis}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${timeouts.idle}`,
  ]
  await connection.send(connection.begin + [...limits, ...locks].join(';'))
}

/** Sends the last locks together with COMMIT, to hold these locks briefly. @throws the failures of Connection.commit */
export async function commit(
  connection: Connection,
  { changed, replaced = [], pending }: Pick<Done<unknown>, 'changed' | 'replaced' | 'pending'>,
): Promise<void> {
  // The lock excludes submissions whose decision used the old directory.
  const changesDirectory = changed.some(([noun]) => noun !== 'taken')
  const last: Lock[] = changesDirectory ? ['directory', 'commit'] : ['commit']
  const sent = () => [
    ...last.map((lock) => take(connection, lock)),
    ...addChanges(connection, changed, replaced),
  ]
  await connection.commit([pending, ...(changed.length + replaced.length > 0 ? sent() : [])])
}

/** Also gives requests the next positions. One narrow table and one statement, because the lock `commit` is held meanwhile. */
const addingChanges = `WITH placed AS (
    INSERT INTO request_positions (request_id, partner_id)
    SELECT id, partner_id FROM booking_requests WHERE id = ANY ($2::text::int8[]) AND partner_id IS NOT NULL ORDER BY id
    ON CONFLICT (request_id) DO UPDATE SET position = DEFAULT)
  INSERT INTO changes (noun, record_id, request_id, starts_at, ends_at, local_offset_minutes)
  SELECT row->>0, (row->>1)::int8, (row->>2)::int8, (row->>3)::int8, (row->>4)::int8, (row->>5)::int8
  FROM json_array_elements($1::text::json) AS row`

/** Stores the changes. If there are too many, stores only the last one: readers then load the whole directory. */
function addChanges(connection: Connection, changed: readonly Changed[], replaced: readonly number[]) {
  const isMany = changed.length > keptChanges
  const rows = (isMany ? changed.slice(-1) : changed).map(([noun, recordId, slot]) => {
    return [noun, recordId, slot?.requestId, slot?.startsAt, slot?.endsAt, slot?.localOffsetMinutes]
  })
  return [
    ...(isMany ? [connection.run('DELETE FROM changes WHERE version > $1', [0])] : []),
    connection.run(addingChanges, [JSON.stringify(rows), `{${replaced.join()}}`]),
  ]
}

/** Rolls back. On a broken connection this does nothing, because the server itself rolls back. */
export async function rollBack(connection: Connection): Promise<void> {
  if (connection.isOpen && !connection.hasEnded) await connection.send('ROLLBACK')
}

/** SQLSTATEs of exclusion and unique constraints. A constraint fails if another transaction wrote first. */
const overtaken = /^23(P01|505)$/

export function isWorthAnotherAttempt(error: unknown): boolean {
  if (!(error instanceof DatabaseFailure)) return false
  const { meaning, code } = error
  return meaning === 'retry' || meaning === 'readOnly' || overtaken.test(code ?? '')
}

/** True if another transaction held a lock for too long. */
function isWaiting(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.code === '55P03'
}

export function isLost(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.meaning === 'lost'
}

/** Timeout in ms for all attempts of an act together, and the default for one attempt. */
const actMillis = () => 2 * timeouts.call
const largeMillis = 120_000

interface Acting {
  /** Excludes submissions during the act. */
  readonly isAlone?: boolean | undefined
  readonly attemptMillis?: number | undefined
}

/** Runs acts of staff and of the service one at a time. Each act is a transaction with the audit lock. */
export function createActs(pool: Pool<Session>) {
  let last: Promise<unknown> = Promise.resolve()
  /** Runs one act at a time, because each act keeps a connection while it waits for the audit lock. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }

  function run<T>(
    work: (session: Session) => Promise<Done<T>>,
    { isAlone = false, attemptMillis = actMillis() }: Acting = {},
  ): Promise<T> {
    return inTurn(async () => {
      const beganAt = performance.now()
      const isInTime = () => performance.now() - beganAt < actMillis()
      const how = {
        locks: isAlone ? [taking('audit'), taking('directory')] : [taking('audit')],
        attemptMillis: (isUnknown: boolean) => (isUnknown || isInTime() ? attemptMillis : null),
      }
      try {
        return await transact(pool, how, async (session) => {
          // Lines of earlier submissions come before those of this act.
          const queued = await takeQueued(session.connection)
          const done = await work(session)
          return { ...done, lines: [...queued, ...done.lines] }
        })
      } catch (error) {
        throw toRefusal(error)
      }
    })
  }

  const change: Store['change'] = (act, ask, decide, { isAlone, isLarge } = {}) =>
    run(
      async (session) => {
        const facts = await Promise.all(ask(session))
        const decision = decide(...(facts as Parameters<typeof decide>))
        if (decision instanceof Refusal) throw decision
        const { ids, pending } = await session.records.write(decision.writes)
        const lines = act ? linesOf(decision, act, ids[0]) : []
        const answer = decision.answer(ids)
        const [changed, replaced] = [changesOf(decision, ids), replacedIn(decision, ids)]
        return { answer, lines, changed, replaced, pending }
      },
      { isAlone, attemptMillis: isLarge ? largeMillis : undefined },
    )

  /** Appends the queued audit lines of submissions to the log. */
  async function settle(): Promise<void> {
    while (await pool.use(({ connection }) => hasQueued(connection))) await run(async () => noted)
  }

  return { change, run, inTurn, settle }
}

export type Acts = ReturnType<typeof createActs>
