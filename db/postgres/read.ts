import { DatabaseFailure, toRefusal } from './client/failure'
import { patience } from './client/patience'
import type { Pool } from './client/pool'
import type { Session } from './session'
import { isWorthAnotherTry } from './transaction'

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
    const left = beganAt + patience.reading - performance.now()
    const mayTryAgain = isWorthAnotherTry(error) || isLost(error)
    if (!mayTryAgain || left < patience.leastAttempt) throw readingRefusal(error)
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
