import type { AuditEntry, AuditHead } from '../../src/domain/audit'
import type { Changed } from '../queries/changes'
import { addingChanges } from './changes'
import { type Connection, committing } from './client/connection'
import { DatabaseFailure, toRefusal } from './client/failure'
import type { Pool } from './client/pool'
import { timeouts } from './client/timeouts'
import { type Lock, taking } from './locks'
import type { Session } from './session'

/** What a transaction has done when it is ready to commit. */
export interface Done<T> {
  readonly answer: T
  readonly lines: readonly AuditEntry[]
  readonly changed: readonly Changed[]
  /** The record key of the request that it adds. */
  readonly recordKey?: string
}

export interface Transacting {
  /** Statements, in the order of the locks. */
  readonly locks: readonly string[]
  /** Whether the locks include that of the directory, exclusively. */
  readonly isAlone: boolean
  /** How long a statement waits for a lock. Shorter than the attempt: otherwise a lock that is held costs the connection. */
  readonly lockMillis: number
  /** How long the next attempt may take; null if there is no time for one. @param isUnknown whether the last outcome is unknown */
  readonly attemptMillis: (isUnknown: boolean) => number | null
  readonly noteFailed?: (error: unknown) => void
}

const mostAttempts = 3

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
  let pending: Pending<T> | null = null
  let lost: unknown = null
  let failure: unknown = toRefusal(new DatabaseFailure('busy'))
  let isUnknown = false
  const attempt = async (session: Session): Promise<T> => {
    const { connection } = session
    // The connection may have become free too late.
    const millis = how.attemptMillis(isUnknown)
    if (millis === null) throw failure
    await begin(connection, how.locks, how.lockMillis, millis)
    if (pending && (await isStored(session, pending))) {
      await rollBack(connection)
      return pending.answer
    }
    pending = lost = null
    const done = await work(session)
    const [line = null] = await session.audit.append(done.lines)
    pending = { ...done, line }
    await commit(connection, done.changed, how.isAlone)
    return done.answer
  }
  for (let attempts = 1; ; attempts++) {
    const millis = how.attemptMillis(isUnknown)
    if (millis === null) throw lost ?? failure
    try {
      return await pool.use(attempt, millis)
    } catch (error) {
      how.noteFailed?.(error)
      failure = error
      isUnknown = isLost(error)
      if (isUnknown) lost = error
      if (!(isUnknown || isWorthAnotherAttempt(error)) || attempts === mostAttempts) throw lost ?? error
    }
  }
}

/** What an attempt was about to commit. */
interface Pending<T> {
  readonly answer: T
  /** The first line that it leaves in the audit log. */
  readonly line: AuditHead | null
  readonly recordKey?: string
}

/** False for work that leaves no trace, and may be done twice. */
async function isStored(
  { audit, submissions }: Session,
  { line, recordKey }: Pending<unknown>,
): Promise<boolean> {
  if (line) return audit.isThere(line)
  return recordKey !== undefined && submissions.isStored(recordKey)
}

/** Begins a transaction with its locks, in one message. */
export async function begin(
  connection: Connection,
  locks: readonly string[],
  lockMillis: number,
  statementMillis: number,
): Promise<void> {
  const limits = [
    `SET LOCAL lock_timeout = ${lockMillis}`,
    // The limit for an idle transaction does not apply while the server has read only a part of a statement.
    `SET LOCAL statement_timeout = ${statementMillis}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${timeouts.idle}`,
  ]
  await connection.send(connection.begin + [...limits, ...locks].join(';'))
}

/**
 * Ends a transaction, in one message: the locks that put changes in the order of commits are never held while the server
 * waits for this process.
 *
 * @param isAlone whether the transaction holds the directory's lock exclusively already
 * @throws DatabaseFailure lost if it is unknown whether it was committed
 */
export async function commit(
  connection: Connection,
  changed: readonly Changed[],
  isAlone: boolean,
): Promise<void> {
  await connection.send([...lastLocks(changed, isAlone), committing].join(';'))
}

function lastLocks(changed: readonly Changed[], isAlone: boolean): string[] {
  if (changed.length === 0) return []
  // Nothing that was decided on the former directory may be stored after this.
  const changesDirectory = changed.some(([noun]) => noun !== 'taken')
  const last: Lock[] = changesDirectory && !isAlone ? ['directory', 'commit'] : ['commit']
  return [...last.map(taking), addingChanges(changed)]
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

/** Whether it is unknown what was committed. */
export function isLost(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.meaning === 'lost'
}
