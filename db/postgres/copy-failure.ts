import { Refusal } from '../../src/domain/errors'
import { DatabaseFailure, isBroken, type Meaning, unwrapped } from './client/failure'

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
    throw failureAt(place, error)
  }
}

/** What is told of a failure at one of two databases: a Refusal as of atPlace, or what is no failure of a database as it is. */
export function failureAt(place: string, error: unknown): unknown {
  const failure = unwrapped(error)
  if (!(failure instanceof DatabaseFailure)) return failure
  const kind = passing.has(failure.meaning) ? 'storage_busy' : 'database_unusable'
  // What is written is written in one transaction, which ends with its connection.
  return new Refusal(kind, `${place}: ${wordsOf(failure)}; nothing was made`, { cause: failure })
}

function wordsOf(failure: DatabaseFailure): string {
  if (isSilent(failure)) return 'the server stands still, or is cut off'
  return isBroken(failure) ? 'the connection to the server broke' : failure.message
}
