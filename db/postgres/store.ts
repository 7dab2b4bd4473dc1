import { Refusal } from '../../src/domain/errors'
import type { DirectoryFeed } from '../../src/domain/ports/directory-feed'
import type { Store } from '../../src/domain/ports/store'
import { directoryFeed as feedOver } from '../queries/feed'
import { DatabaseFailure, toRefusal } from './client/failure'
import type { Pool } from './client/pool'
import { timeouts } from './client/timeouts'
import type { Session } from './session'
import type { Submissions } from './submit'
import { type Acts, isLost, isWorthAnotherAttempt, noted } from './transaction'

export function postgresStore(pool: Pool<Session>, acts: Acts, submissions: Submissions): Store {
  return {
    read: (work) => readOn(pool, work),
    change: acts.change,
    async submit(draft) {
      const answer = await submissions.submit(draft)
      // Thrown only after COMMIT, because a rollback would remove the audit line of the refusal.
      if (answer instanceof Refusal) throw answer
      return answer
    },
    appendAudit: (lines) => acts.run(async () => ({ ...noted, lines })),
    noteKeyUses: (uses) =>
      acts.run(async ({ partners }) => {
        await partners.noteUses(uses)
        return noted
      }),
  }
}

/**
 * Reads on a connection. After a failure, retries once if enough time is left.
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

/** Returns the refusal for a failed read. An unknown outcome is reported as busy, because a read stores nothing. */
function readingRefusal(error: unknown): unknown {
  const failure = isLost(error) ? new DatabaseFailure('busy', (error as DatabaseFailure).code) : error
  return toRefusal(failure)
}

const partMillis = 5_000

/** Each part of a read may use another connection. Changes between two parts are loaded by the next read. */
export function directoryFeed(pool: Pool<Session>): DirectoryFeed {
  return feedOver((work, isLarge) => readOn(pool, work, isLarge ? partMillis : undefined))
}
