import type { AuditEntry, AuditHead } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import type { Store } from '../../src/domain/ports/store'
import { linesOf } from '../../src/domain/ports/writes'
import { type Changed, changesOf, keptChanges } from '../queries/changes'
import type { Connection } from './client/connection'
import { DatabaseFailure, toRefusal } from './client/failure'
import type { Pool } from './client/pool'
import { timeouts } from './client/timeouts'
import { type Lock, take, taking } from './locks'
import type { Session } from './session'

/** What a transaction has done when it is ready to commit. */
export interface Done<T> {
  readonly answer: T
  readonly lines: readonly AuditEntry[]
  readonly changed: readonly Changed[]
  /** What was sent and not awaited. */
  readonly pending?: unknown
  /** The record key of the request that it adds. */
  readonly recordKey?: string
}

/** What the service notes of itself has no answer, and changes nothing that the directory shows. */
export const noted = { answer: undefined, lines: [], changed: [] } as const

export interface Transacting {
  /** Statements, in the order of the locks. */
  readonly locks: readonly string[]
  /** How long the next attempt may take; null if there is no time for one. @param isUnknown whether the last outcome is unknown */
  readonly attemptMillis: (isUnknown: boolean) => number | null
  readonly noteFailed?: (error: unknown) => void
}

/** Attempts that fail, apart from those that wait for a lock in vain. */
const mostFailures = 3

/**
 * Runs work in a transaction. It is attempted again only if nothing was committed. If the answer to COMMIT was lost, the next
 * attempt first looks for what the lost one wrote: its locks are free only once that one has ended.
 *
 * @throws DatabaseFailure lost if nobody can tell whether it was committed, or whatever the work throws
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
    // The connection may have become free too late.
    const millis = how.attemptMillis(isUnknown)
    if (millis === null) throw failure
    await begin(connection, how.locks, millis)
    if (attempted && (await isStored(session, attempted))) {
      await rollBack(connection)
      return attempted.answer
    }
    attempted = lost = null
    const done = await work(session)
    const [[line = null]] = await Promise.all([
      session.audit.append(done.lines),
      done.lines.length && done.pending,
    ])
    attempted = { ...done, line }
    await commit(connection, done)
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

/** What an attempt was about to commit. */
interface Attempted<T> {
  readonly answer: T
  /** The first line that it leaves in the audit log. */
  readonly line: AuditHead | null
  readonly recordKey?: string
}

/** False for work that leaves no trace, and may be done twice. */
async function isStored(
  { audit, submissions }: Session,
  { line, recordKey }: Attempted<unknown>,
): Promise<boolean> {
  if (line) return audit.isThere(line)
  return recordKey !== undefined && submissions.isStored(recordKey)
}

/** Begins a transaction with its locks, in one message. */
export async function begin(
  connection: Connection,
  locks: readonly string[],
  statementMillis: number,
): Promise<void> {
  const limits = [
    `SET LOCAL lock_timeout = ${timeouts.lock}`,
    // The limit for an idle transaction does not apply while the server has read only a part of a statement.
    `SET LOCAL statement_timeout = ${statementMillis}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${timeouts.idle}`,
  ]
  await connection.send(connection.begin + [...limits, ...locks].join(';'))
}

/**
 * Commits a transaction. Its last locks go out with COMMIT: they are not held while the server waits for this process.
 *
 * @throws DatabaseFailure lost if it is unknown whether it was committed
 */
export async function commit(
  connection: Connection,
  { changed, pending }: Pick<Done<unknown>, 'changed' | 'pending'>,
): Promise<void> {
  // Nothing that was decided on the former directory may be stored after this.
  const changesDirectory = changed.some(([noun]) => noun !== 'taken')
  const last: Lock[] = changesDirectory ? ['directory', 'commit'] : ['commit']
  const sent = () => [...last.map((lock) => take(connection, lock)), ...addChanges(connection, changed)]
  await connection.commit([pending, ...(changed.length > 0 ? sent() : [])])
}

const addingChanges = `INSERT INTO changes (noun, record_id, request_id, starts_at, ends_at, local_offset_minutes)
  SELECT row->>0, (row->>1)::int8, (row->>2)::int8, (row->>3)::int8, (row->>4)::int8, (row->>5)::int8
  FROM json_array_elements($1::text::json) AS row`

/** Adds changes. If there are more than are kept, only the last stays: a reader then reads everything. */
function addChanges(connection: Connection, changed: readonly Changed[]): Promise<unknown>[] {
  const isMany = changed.length > keptChanges
  const rows = (isMany ? changed.slice(-1) : changed).map(([noun, recordId, slot]) => {
    return [noun, recordId, slot?.requestId, slot?.startsAt, slot?.endsAt, slot?.localOffsetMinutes]
  })
  return [
    ...(isMany ? [connection.run('DELETE FROM changes WHERE version > $1', [0])] : []),
    connection.run(addingChanges, [JSON.stringify(rows)]),
  ]
}

/** Rolls a transaction back. If the connection is broken, the server does so itself. */
export async function rollBack(connection: Connection): Promise<void> {
  if (connection.isOpen && !connection.hasEnded) await connection.send('ROLLBACK')
}

/** Violated exclusion or unique constraint: another program has written meanwhile. */
const overtaken = /^23(P01|505)$/

/** Whether a failure means that nothing was committed, and that the same work may succeed on another attempt. */
export function isWorthAnotherAttempt(error: unknown): boolean {
  if (!(error instanceof DatabaseFailure)) return false
  const { meaning, code } = error
  return meaning === 'retry' || meaning === 'readOnly' || overtaken.test(code ?? '')
}

/** Whether another transaction held a lock for too long. */
function isWaiting(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.code === '55P03'
}

/** Whether it is unknown what was committed. */
export function isLost(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.meaning === 'lost'
}

/** How long an act is attempted, and one attempt takes unless it says otherwise. */
const actMillis = () => 2 * timeouts.call
/** How long an act that writes thousands of records may take. */
const largeMillis = 120_000

interface Acting {
  /** Whether no submission may be under way meanwhile. */
  readonly isAlone?: boolean | undefined
  /** How long one attempt may take. */
  readonly attemptMillis?: number | undefined
}

/** Acts of staff and of the service itself: one after another, each in its own transaction under the lock of the audit log. */
export function createActs(pool: Pool<Session>) {
  let last: Promise<unknown> = Promise.resolve()
  /** Runs work that needs the lock of the audit log: one at a time, because each that waits for it holds a connection. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }

  async function runNow<T>(
    work: (session: Session) => Promise<Done<T>>,
    { isAlone = false, attemptMillis = actMillis() }: Acting,
  ): Promise<T> {
    const beganAt = performance.now()
    const isInTime = () => performance.now() - beganAt < actMillis()
    const how = {
      locks: isAlone ? [taking('audit'), taking('directory')] : [taking('audit')],
      attemptMillis: (isUnknown: boolean) => (isUnknown || isInTime() ? attemptMillis : null),
    }
    try {
      return await transact(pool, how, work)
    } catch (error) {
      throw toRefusal(error)
    }
  }

  const run = <T>(work: (session: Session) => Promise<Done<T>>, acting: Acting = {}): Promise<T> =>
    inTurn(() => runNow(work, acting))

  const change: Store['change'] = (act, ask, decide, { isAlone, isLarge } = {}) =>
    run(
      async (session) => {
        const facts = await Promise.all(ask(session))
        const decision = decide(...(facts as Parameters<typeof decide>))
        if (decision instanceof Refusal) throw decision
        const { ids, pending } = await session.records.write(decision.writes)
        const lines = act ? linesOf(decision, act, ids[0]) : []
        return { answer: decision.answer(ids), lines, changed: changesOf(decision, ids), pending }
      },
      { isAlone, attemptMillis: isLarge ? largeMillis : undefined },
    )

  return { change, run, inTurn }
}

export type Acts = ReturnType<typeof createActs>
