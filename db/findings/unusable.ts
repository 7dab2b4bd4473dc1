import { Refusal } from '../../src/domain/errors'

/** That a database, or a copy of one, cannot be used. @param message why, in the operator's words */
export function unusable(message: string): Refusal {
  return new Refusal('database_unusable', message)
}
