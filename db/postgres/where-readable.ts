import type { Finding } from '../../src/domain/upkeep'
import { DatabaseFailure, unwrapped } from './client/failure'

const noRight = '42501'

/**
 * What fails where it is looked for is a finding too, and stops no other: bad where the server's data cannot be read, a note
 * where the role has no right to see it.
 */
export async function whereReadable(check: string, find: () => Promise<Finding>): Promise<Finding> {
  try {
    return await find()
  } catch (error) {
    const failure = unwrapped(error)
    if (failure instanceof DatabaseFailure && failure.code === noRight) return unseen(check)
    if (failure instanceof DatabaseFailure && failure.meaning === 'damaged')
      return { check, state: 'bad', detail: 'the data is damaged; restore a backup' }
    return { check, state: 'bad', detail: 'it could not be checked' }
  }
}

/** What a role may not see. */
export function unseen(check: string, remedy?: string): Finding {
  const detail = 'it could not be checked: the role has no right to'
  return { check, state: 'note', detail, ...(remedy && { remedy }) }
}
