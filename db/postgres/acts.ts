import type { AuditEntry, AuditHead } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import { linesOf } from '../../src/domain/writes'
import { type Changed, changesOf } from '../queries/changes'
import type { Change } from '../store'
import { toRefusal } from './client/failure'
import { patience } from './client/patience'
import type { Pool } from './client/pool'
import { taking } from './locks'
import { isLost } from './read'
import type { Session } from './session'
import { begin, commit, isWorthAnotherTry, rollBack } from './transaction'

/** How often an act is tried anew: whose act it was is asked first. */
const mostTries = 3

/** What an act leaves: enough to find out whether it was committed. */
interface Left<T> {
  readonly answer: T
  /** The first line that it leaves in the audit log; null for an act that leaves none, and may be done twice. */
  readonly line: AuditHead | null
}

/** What is done in a transaction under the lock of the audit log. */
type Work<T> = (session: Session) => Promise<{
  readonly answer: T
  readonly lines: readonly AuditEntry[]
  readonly changed: readonly Changed[]
}>

/** How an act is done. */
interface How {
  /** Whether no submission may be under way meanwhile. */
  readonly isAlone?: boolean
  /** How long one of its statements may take. */
  readonly mostSilentMillis?: number
}

/** Acts of staff, and what the service itself notes: one after another, each in a transaction of its own. */
export function createActs(pool: Pool<Session>) {
  // One after another here already: each that waited for the lock at the server would hold a connection.
  let last: Promise<unknown> = Promise.resolve()
  function run<T>(work: Work<T>, { isAlone = false, mostSilentMillis = patience.act }: How = {}): Promise<T> {
    const done = last.then(() => runNow(work, isAlone, mostSilentMillis))
    last = done.catch(() => {})
    return done
  }

  async function runNow<T>(work: Work<T>, isAlone: boolean, mostSilentMillis: number): Promise<T> {
    const beganAt = performance.now()
    let left: Left<T> | null = null
    /** How the last of the tries ended of which nobody knows yet what it has stored. */
    let lost: unknown = null
    const attempt = async (session: Session): Promise<T> => {
      const { connection, audit } = session
      const locks = isAlone ? [taking('audit'), taking('directory')] : [taking('audit')]
      await begin(connection, locks, patience.actLock, mostSilentMillis)
      if (left?.line && (await audit.isThere(left.line))) {
        await rollBack(connection)
        return left.answer
      }
      lost = null
      const { answer, lines, changed } = await work(session)
      const [line = null] = await audit.append(lines)
      left = { answer, line }
      await commit(connection, { changed, isAlone })
      return answer
    }
    const isInTime = () => performance.now() - beganAt < patience.act
    for (let tries = 1; ; tries++) {
      try {
        return await pool.use(attempt, mostSilentMillis)
      } catch (error) {
        if (isLost(error)) lost = error
        const mayTryAgain = isLost(error) || (isWorthAnotherTry(error) && isInTime())
        if (!mayTryAgain || tries === mostTries) throw toRefusal(lost ?? error)
      }
    }
  }

  const change: Change = (act, ask, decide, isAlone) =>
    run(
      async (session) => {
        const told = await Promise.all(ask(session))
        const decision = decide(...(told as Parameters<typeof decide>))
        if (decision instanceof Refusal) throw decision
        const { ids } = await session.records.write(decision.writes)
        const lines = act ? linesOf(decision, act, ids[0]) : []
        return { answer: decision.answer(ids), lines, changed: changesOf(decision, ids) }
      },
      { isAlone: isAlone ?? false },
    )

  return {
    change,
    /** Does a work in such a transaction. */
    run,
  }
}

export type Acts = ReturnType<typeof createActs>
