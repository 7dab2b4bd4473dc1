import { newKey, signToken } from '../auth/token'
import type { Partner } from '../domain/partner'
import type { Context } from './context'

/**
 * A new token for a partner, in force from `startsAt` on; what was in force until then ends at that instant,
 * with no overlap (contract, Authentication 5). The token is told here and never again.
 *
 * @param issuedAt ms; @param startsAt ms, at or after issuedAt
 */
export async function issueToken(
  { store, directory }: Context,
  partner: Partner,
  issuedAt: number,
  startsAt: number,
): Promise<string> {
  const key = { ...newKey(), issuedAt, startsAt }
  await store.addKey(partner.id, key)
  await directory.catchUp()
  return signToken(key)
}
