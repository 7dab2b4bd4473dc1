import type { Act } from '../domain/audit'
import type { Finding } from '../domain/upkeep'
import type { Records } from './context'

/** Writes a sound copy of the database to a place where nothing is. @throws Refusal database_unusable */
export function backUp({ upkeep }: Records, target: string, act: Act): Promise<void> {
  return upkeep.backUp(target, act)
}

/** Whether the database is as it should be. */
export function checkDatabase({ upkeep, clock }: Records): Promise<Finding[]> {
  return upkeep.check(clock.now())
}
