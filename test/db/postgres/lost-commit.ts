import { spyOn } from 'bun:test'
import { Connection, committing } from '../../../db/postgres/connection'
import { DatabaseFailure } from '../../../db/postgres/failure'

/** When a connection breaks at a COMMIT, and whether the server has done it by then. */
export const losses = [
  ['before the server has it', false],
  ['before the server has told of it', true],
] as const

/**
 * Does a work in which the connection breaks at the COMMIT of the first transaction that was begun with a lock, so that nobody
 * knows what became of it.
 *
 * @param lock the statement that takes it: other transactions, as those by which a node says that it is there, lose nothing
 */
export async function losingCommit<T>(
  lock: string,
  isCommitted: boolean,
  work: () => Promise<T>,
): Promise<T> {
  const { send } = Connection.prototype
  const begun = new WeakSet<Connection>()
  let isLost = false
  using _ = spyOn(Connection.prototype, 'send').mockImplementation(async function (this: Connection, text) {
    if (text.includes(lock)) begun.add(this)
    if (isLost || !begun.has(this) || !text.endsWith(committing)) return send.call(this, text)
    if (isCommitted) await send.call(this, text)
    isLost = true
    this.close()
    throw new DatabaseFailure('lost', 'ERR_POSTGRES_CONNECTION_CLOSED')
  })
  const done = await work()
  if (!isLost) throw new Error('no COMMIT was lost')
  return done
}
