import { expect, test } from 'bun:test'
import { openProfile, profileColumns } from '../../db/sealed/members'
import type { MemberProfile } from '../../src/domain/member'
import { newRecordKey } from '../../src/domain/ports/vault'
import { createVault, newMasterKey } from '../../src/vault/vault'
import { profile } from '../domain/values'

test('db: profile fields that are missing in old rows have their default values', () => {
  const vault = createVault(newMasterKey())
  const member = {
    partnerId: 1,
    recordKey: newRecordKey(),
    externalUserIdHash: Buffer.from('a'),
  }
  const { suite: _, preferredSpokenLanguage: __, ...earlier } = profile
  const { sealedProfile } = profileColumns(vault, earlier as MemberProfile, member)
  expect(openProfile(vault, { id: 1, ...member, sealedProfile })).toEqual({
    ...profile,
    suite: null,
    preferredSpokenLanguage: 'en',
  })
})
