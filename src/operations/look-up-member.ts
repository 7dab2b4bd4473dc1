import { Refusal } from '../domain/errors'
import type { Member } from '../domain/member'
import type { Partner } from '../domain/partner'
import type { Context } from './context'

/**
 * The member whom a partner knows by an id of its own.
 *
 * @throws Refusal member_not_found, or member_deactivated
 */
export async function lookUpMember(
  { store }: Context,
  partner: Partner,
  externalUserId: string,
): Promise<Member> {
  const member = await store.findMember(partner.id, externalUserId)
  if (!member) throw new Refusal('member_not_found', 'no member has this id')
  if (!member.active) throw new Refusal('member_deactivated', 'the member is deactivated')
  return member
}
