import { Refusal } from '../../src/domain/errors'
import { linesOf } from '../../src/domain/writes'
import { changesOf } from '../queries/changes'
import type { Change } from '../store'
import { toRefusal } from './client/failure'
import type { Pool } from './client/pool'
import { timeouts } from './client/timeouts'
import { taking } from './locks'
import type { Session } from './session'
import { type Done, transact } from './transaction'

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
      isAlone,
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

  const change: Change = (act, ask, decide, { isAlone, isLarge } = {}) =>
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
