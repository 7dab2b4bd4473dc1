import { DatabaseFailure, toRefusal } from './failure'
import type { Pool } from './pool'
import type { Session } from './session'
import { isWorthAnotherTry } from './transaction'

/** How long whoever reads waits for a server that answers nothing, in all; and what another try has to be left. */
const [patienceMillis, leastMillis] = [1_900, 400]

/**
 * Reads outside of any transaction, once more where a connection broke.
 *
 * @param silentMillis how long the server may answer nothing, where that is long
 * @throws Refusal storage_busy or storage_failed
 */
export async function readOn<T>(
  pool: Pool<Session>,
  work: (session: Session) => T | Promise<T>,
  silentMillis?: number,
): Promise<T> {
  const read = (millis?: number) => pool.use(async (session) => work(session), silentMillis ?? millis, millis)
  const beganAt = performance.now()
  try {
    return await read()
  } catch (error) {
    const left = beganAt + patienceMillis - performance.now()
    const mayTryAgain = isWorthAnotherTry(error) || isLost(error)
    if (!mayTryAgain || left < leastMillis) throw readingRefusal(error)
    return await read(left).catch((failure) => {
      throw readingRefusal(failure)
    })
  }
}

/** Whoever only reads has stored nothing, whatever became of the connection. */
function readingRefusal(error: unknown): unknown {
  const failure = isLost(error) ? new DatabaseFailure('busy', (error as DatabaseFailure).code) : error
  return toRefusal(failure)
}

/** Whether nobody knows what became of it. */
export function isLost(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.meaning === 'lost'
}
