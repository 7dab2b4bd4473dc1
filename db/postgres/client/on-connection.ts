import { type Connection, committing } from './connection'

/** Does a work on a connection of its own within a deadline in ms, as Pool.use does. */
export type OnConnection = <T>(
  work: (connection: Connection) => Promise<T>,
  deadlineMillis?: number,
  waitMillis?: number,
) => Promise<T>

/**
 * Does a work in a transaction of its own. Where the work throws, the transaction is left to be rolled back by the pool.
 *
 * @param first statements of the transaction's first message, behind its BEGIN
 * @throws DatabaseFailure lost where nobody knows whether it was committed
 */
export async function inTransaction<T>(
  connection: Connection,
  first: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  await connection.send(connection.begin + first.join(';'))
  const done = await work()
  await connection.send(committing)
  return done
}
