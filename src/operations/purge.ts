import { Refusal } from '../domain/errors'
import type { Records } from './context'

/**
 * Clears away the traces of what was erased, and tells whether all are gone. What the storage refuses by now changes nothing of
 * what was committed.
 */
export async function tryPurge({ upkeep }: Pick<Records, 'upkeep'>): Promise<boolean> {
  try {
    return await upkeep.purge()
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}
