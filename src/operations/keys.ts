import type { Act } from '../domain/audit'
import type { Records } from './context'
import { tryPurge } from './purge'

/** What a rotation of the master key has left. */
export interface KeyRotation {
  /** Where the new key is; null if a rotation that was cut short was finished instead. */
  readonly path: string | null
  /** Whether the data key as the old master key sealed it is gone from wherever the engine had it. */
  readonly isPurged: boolean
}

/**
 * Puts a new master key in force: the data key is sealed under it and no more under the old one. Whoever has the
 * database open goes on.
 *
 * @throws Refusal as Custody.rotate and Upkeep.rewrap do
 */
export async function rotateMasterKey(
  { custody, upkeep }: Records,
  newKeyFile: string | undefined,
  act: Act,
): Promise<KeyRotation> {
  const path = custody.hasRotated
    ? null
    : await custody.rotate(newKeyFile, (next) => upkeep.rewrap(next, act))
  return { path, isPurged: await tryPurge({ upkeep }) }
}
