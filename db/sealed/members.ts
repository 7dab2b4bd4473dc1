import {
  emptyProfile,
  foldEmail,
  type Member,
  type MemberProfile,
  unreadableMember,
} from '../../src/domain/member'
import { newRecordKey, type Vault } from '../../src/domain/ports/vault'
import type { Records } from '../../src/domain/ports/writes'
import { memberCell, openSealedText, type SealedMember, sealText } from './binding'

export interface MemberRow extends SealedMember {
  readonly id: number
  readonly externalUserIdHash: Buffer
  readonly emailHash: Buffer | null
  readonly active: boolean
  readonly sealedExternalUserId: Buffer
  readonly sealedProfile: Buffer
}

export function memberColumns(vault: Vault, { externalUserId, profile, ...row }: Records['member']) {
  const hash = externalUserIdHash(vault, row.partnerId, externalUserId)
  const member = { recordKey: newRecordKey(), partnerId: row.partnerId, externalUserIdHash: hash }
  const place = memberCell('sealed_external_user_id', member)
  const sealedExternalUserId = sealText(vault, externalUserId, place)
  return { ...row, ...member, sealedExternalUserId, ...profileColumns(vault, profile, member) }
}

export function profileColumns(vault: Vault, profile: MemberProfile, member: SealedMember) {
  return {
    emailHash: hashOf(vault, profile),
    sealedProfile: sealText(vault, JSON.stringify(profile), memberCell('sealed_profile', member)),
  }
}

/** Includes the partner, so that equal ids of two partners have different hashes. */
export function externalUserIdHash(vault: Vault, partnerId: number, externalUserId: string): Buffer {
  return Buffer.from(vault.keyedHash('external id', JSON.stringify([partnerId, externalUserId])))
}

/** Keyed hash of an e-mail address. The hash finds a member and keeps addresses unique. */
export function emailHash(vault: Vault, email: string): Buffer {
  return Buffer.from(vault.keyedHash('email', foldEmail(email)))
}

/** Returns null if the member's address was released. */
function hashOf(vault: Vault, { email }: MemberProfile): Buffer | null {
  return email === '' ? null : emailHash(vault, email)
}

export interface FaultyMember {
  readonly id: number
  readonly isUnreadable: boolean
}

export function faultOf(vault: Vault, row: MemberRow): FaultyMember | null {
  const { profile } = openedOrUnreadable(vault, row) as Member
  const isUnreadable = profile === unreadableMember.profile
  return isUnreadable || !isFoundBy(vault, profile, row) ? { id: row.id, isUnreadable } : null
}

function isFoundBy(vault: Vault, profile: MemberProfile, { emailHash: found }: MemberRow): boolean {
  const hash = hashOf(vault, profile)
  return hash === null || found === null ? hash === found : hash.equals(found)
}

/** @throws Refusal database_unusable if the member cannot be opened */
export function openMember(vault: Vault, row: MemberRow): Member {
  const { id, partnerId, active } = row
  const place = memberCell('sealed_external_user_id', row)
  const externalUserId = openSealedText(vault, row.sealedExternalUserId, place, `member ${id}`)
  return { id, partnerId, externalUserId, active, profile: openProfile(vault, row) }
}

type ProfileRow = SealedMember & Pick<MemberRow, 'id' | 'sealedProfile'>

/** @throws Refusal database_unusable if the profile cannot be opened */
export function openProfile(vault: Vault, row: ProfileRow): MemberProfile {
  const place = memberCell('sealed_profile', row)
  // Older profiles lack fields that were added later.
  return {
    ...emptyProfile,
    ...JSON.parse(openSealedText(vault, row.sealedProfile, place, `member ${row.id}`)),
  }
}

/** If the member cannot be opened, returns a placeholder, so that staff still see the record. */
export function openedOrUnreadable(vault: Vault, row: MemberRow | null | undefined): Member | null {
  if (!row) return null
  try {
    return openMember(vault, row)
  } catch {
    const { id, partnerId, active } = row
    return { id, partnerId, active, ...unreadableMember }
  }
}
