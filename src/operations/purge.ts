import { Refusal } from '../domain/errors'
import type { Records } from './context'

/** Whether all traces are gone of what was erased. What the storage refuses by now changes nothing of what was committed. */
export async function isPurged({ upkeep }: Pick<Records, 'upkeep'>): Promise<boolean> {
  try {
    return await upkeep.purge()
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}
