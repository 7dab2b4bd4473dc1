import { DatabaseFailure, toRefusal } from './client/failure'
import type { Pool } from './client/pool'
import { timeouts } from './client/timeouts'
import type { Session } from './session'
import { isLost, isWorthAnotherAttempt } from './transaction'

/**
 * Reads outside of any transaction, and once more if a connection broke early.
 *
 * @param deadlineMillis the pool's, unless given
 * @throws Refusal storage_busy or storage_failed
 */
export async function readOn<T>(
  pool: Pool<Session>,
  work: (session: Session) => T | Promise<T>,
  deadlineMillis?: number,
): Promise<T> {
  const endsAt = performance.now() + timeouts.call
  const read = (millis?: number) => pool.use(async (session) => work(session), millis)
  try {
    return await read(deadlineMillis)
  } catch (error) {
    const left = endsAt - performance.now()
    const mayTryAgain = isWorthAnotherAttempt(error) || isLost(error)
    if (!mayTryAgain || left < timeouts.call / 2) throw readingRefusal(error)
    return await read(left).catch((failure) => {
      throw readingRefusal(failure)
    })
  }
}

/** A read stores nothing, even if its outcome is unknown. */
function readingRefusal(error: unknown): unknown {
  const failure = isLost(error) ? new DatabaseFailure('busy', (error as DatabaseFailure).code) : error
  return toRefusal(failure)
}
