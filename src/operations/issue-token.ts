import { newKey, signToken } from '../auth/token'
import type { Act } from '../domain/audit'
import type { Partner } from '../domain/partner'
import type { Records } from './context'

/**
 * A new token for a partner, in force from `startsAt` on; what was in force until then ends at that instant,
 * with no overlap (contract, Authentication 5). The token is told here and never again.
 *
 * @param startsAt ms, not before the act
 */
export async function issueToken(
  { store, directory }: Records,
  partner: Partner,
  startsAt: number,
  act: Act,
): Promise<string> {
  const key = { ...newKey(), issuedAt: act.at, startsAt }
  await store.addKey(partner.id, key)
  await directory?.catchUp()
  return signToken(key)
}
