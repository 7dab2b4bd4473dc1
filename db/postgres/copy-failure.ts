import { Refusal } from '../../src/domain/errors'
import { DatabaseFailure, isBroken, type Meaning, unwrapped } from './failure'

const silent = 'the server stands still, or is cut off'

/** Whether a server has answered nothing for too long. */
export function isSilent(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.code === 'ETIMEDOUT'
}

const passing = new Set<Meaning>(['lost', 'retry', 'busy', 'unreachable', 'readOnly'])

/**
 * Has a failure say at which of two databases it was: what is copied and what is made may both be on servers.
 *
 * @throws Refusal storage_busy where the same can be tried again, database_unusable else
 */
export async function atPlace<T>(place: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const failure = unwrapped(error)
    if (!(failure instanceof DatabaseFailure)) throw failure
    const { meaning, message } = failure
    // What is written is written in one transaction, which ends with its connection.
    const words = isSilent(failure)
      ? silent
      : isBroken(failure)
        ? 'the connection to the server broke'
        : message
    const kind = passing.has(meaning) ? 'storage_busy' : 'database_unusable'
    throw new Refusal(kind, `${place}: ${words}; nothing was made`, { cause: failure })
  }
}
