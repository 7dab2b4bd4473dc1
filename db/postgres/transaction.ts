import type { Changed } from '../queries/changes'
import { addingChanges } from './changes'
import { type Connection, committing } from './client/connection'
import { DatabaseFailure } from './client/failure'
import { patience } from './client/patience'
import { type Lock, taking } from './locks'

/**
 * Begins a transaction with its locks, in one message.
 *
 * @param locks each as a statement, in the order of the locks
 * @param lockMillis how long a statement waits for a lock: shorter than a server is waited for that answers nothing, which
 *   costs the connection
 * @param statementMillis how long a statement takes: the limit for a transaction that waits for its process does not hold for one
 *   of which the server has read a part alone
 */
export async function begin(
  connection: Connection,
  locks: readonly string[],
  lockMillis: number,
  statementMillis: number,
): Promise<void> {
  const limits = [
    `SET LOCAL lock_timeout = ${lockMillis}`,
    `SET LOCAL statement_timeout = ${statementMillis}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${patience.idleTransaction}`,
  ]
  await connection.send(connection.begin + [...limits, ...locks].join(';'))
}

/** What a transaction ends with. */
interface Ending {
  readonly changed: readonly Changed[]
  /** Whether the transaction holds the lock of the directory alone already. */
  readonly isAlone: boolean
}

/**
 * Ends a transaction, in one message: the locks by which its changes are in the order of commits are never held while the
 * server waits for this process.
 *
 * @throws DatabaseFailure lost where nobody knows whether it was committed
 */
export async function commit(connection: Connection, { changed, isAlone }: Ending): Promise<void> {
  await connection.send([...lastLocks(changed, isAlone), committing].join(';'))
}

function lastLocks(changed: readonly Changed[], isAlone: boolean): string[] {
  if (changed.length === 0) return []
  // Whoever was let in, or was offered a slot, by a directory that is no more must not be stored after this.
  const changesDirectory = changed.some(([noun]) => noun !== 'taken')
  const first: Lock[] = changesDirectory && !isAlone ? ['directory', 'commit'] : ['commit']
  return [...first.map(taking), addingChanges(changed)]
}

/** Gives a transaction up. Where the connection is broken, the server does so. */
export async function rollBack(connection: Connection): Promise<void> {
  if (connection.isOpen && !connection.hasEnded) await connection.send('ROLLBACK')
}

/** Whether a failure says that nothing was committed, though the same may be committed at another try. */
export function isWorthAnotherTry(error: unknown): boolean {
  return error instanceof DatabaseFailure && (error.meaning === 'retry' || error.meaning === 'readOnly')
}
