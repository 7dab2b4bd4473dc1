import { and, asc, eq, gt } from 'drizzle-orm'
import { foldEmail, type Member, type MemberProfile, unreadableMember } from '../../src/domain/member'
import { newRecordKey, type Vault } from '../../src/domain/vault'
import { type Drizzle, placeholders } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { members } from './schema'
import { memberPlace, openSealedText, type SealedMember } from './sealed'

/** Members who are read at once. */
const chunkSize = 1_000

type MemberRow = typeof members.$inferSelect

/** Queries on members, who are found by keyed hashes of what they are asked for by. */
export function memberQueries(db: Drizzle, vault: Vault) {
  const open = placeholders('id', 'partnerId', 'externalUserIdHash', 'emailHash', 'most')
  const select = () => db.select().from(members)
  const known = and(
    eq(members.partnerId, open.partnerId),
    eq(members.externalUserIdHash, open.externalUserIdHash),
  )
  const { id, recordKey, active, sealedProfile } = members
  const byExternalId = db
    .select({ id, recordKey, active, sealedProfile })
    .from(members)
    .where(known)
    .prepare()
  const byEmail = db
    .select({ id: members.id })
    .from(members)
    .where(eq(members.emailHash, open.emailHash))
    .prepare()
  const after = select().where(gt(members.id, open.id)).orderBy(asc(members.id)).limit(open.most).prepare()
  const byId = select().where(eq(members.id, open.id)).prepare()
  const opened = (row: MemberRow | undefined) => (row ? openMember(vault, row) : null)

  const list = (id: number, most: number): Member[] =>
    after.all({ id, most }).map((row) => openedOrUnreadable(vault, row) as Member)

  return {
    /** @throws Refusal database_unusable for one who cannot be opened */
    find(partnerId: number, externalUserId: string): Member | null {
      const foundBy = { partnerId, externalUserIdHash: externalUserIdHash(vault, partnerId, externalUserId) }
      const row = byExternalId.get(foundBy)
      if (!row) return null
      // That the id is theirs need not be read: the profile opens under no other.
      const profile = openProfile(vault, { ...row, ...foundBy })
      return { id: row.id, partnerId, externalUserId, active: row.active, profile }
    },
    /** @throws Refusal database_unusable for one who cannot be opened */
    findById: (id: number): Member | null => opened(byId.get({ id })),

    /** For staff: one who cannot be opened is told as unreadable. */
    findForStaff: (id: number): Member | null => openedOrUnreadable(vault, byId.get({ id })),

    /** The members after an id, at most so many. */
    list,

    /** The ids of those who cannot be opened, and of those whom another address finds than the one that is theirs. */
    *listFaulty(): Generator<{ readonly id: number; readonly isUnreadable: boolean }> {
      const some = (id: number) => after.all({ id, most: chunkSize })
      for (let rows = some(0); rows.length > 0; rows = some(rows.at(-1)?.id ?? 0)) {
        for (const row of rows) {
          const { profile } = openedOrUnreadable(vault, row) as Member
          const isUnreadable = profile === unreadableMember.profile
          if (isUnreadable || !isFoundBy(vault, profile, row)) yield { id: row.id, isUnreadable }
        }
      }
    },

    /** When a member was made and last told of, in ms. */
    timesOf(id: number): { createdAt: number; updatedAt: number } {
      const { createdAt = 0, updatedAt = 0 } = byId.get({ id }) ?? {}
      return { createdAt, updatedAt }
    },

    /** The id of the member, of whichever partner, to whom an e-mail address belongs. */
    ownerOf: (email: string): number | null =>
      byEmail.get({ emailHash: emailHash(vault, email) })?.id ?? null,
  }
}

export function memberTable(db: Drizzle, vault: Vault): RecordTable<'member'> {
  const byId = db
    .select()
    .from(members)
    .where(eq(members.id, placeholders('id').id))
    .prepare()
  const profileColumns = (profile: MemberProfile, member: SealedMember) => ({
    emailHash: hashOf(vault, profile),
    sealedProfile: sealText(vault, JSON.stringify(profile), memberPlace('sealed_profile', member)),
  })
  const table = recordTable<'member'>(db, members)
  const columns = (row: object) => row as never
  return {
    ...table,
    add({ externalUserId, profile, ...row }) {
      const hash = externalUserIdHash(vault, row.partnerId, externalUserId)
      const member = { recordKey: newRecordKey(), partnerId: row.partnerId, externalUserIdHash: hash }
      const place = memberPlace('sealed_external_user_id', member)
      const sealedExternalUserId = sealText(vault, externalUserId, place)
      return table.add(
        columns({ ...row, ...member, sealedExternalUserId, ...profileColumns(profile, member) }),
      )
    },
    set(id, { profile, ...to }) {
      const member = byId.get({ id })
      table.set(id, columns(profile && member ? { ...to, ...profileColumns(profile, member) } : to))
    },
  }
}

function sealText(vault: Vault, text: string, place: Parameters<Vault['seal']>[1]): Buffer {
  return Buffer.from(vault.seal(Buffer.from(text), place))
}

/** By which a partner's member is found: two partners' equal ids have hashes that tell nothing of each other. */
export function externalUserIdHash(vault: Vault, partnerId: number, externalUserId: string): Buffer {
  return Buffer.from(vault.keyedHash('external id', JSON.stringify([partnerId, externalUserId])))
}

/** By which an address is found and kept unique. */
export function emailHash(vault: Vault, email: string): Buffer {
  return Buffer.from(vault.keyedHash('email', foldEmail(email)))
}

/** Null for a member whose address was released. */
function hashOf(vault: Vault, { email }: MemberProfile): Buffer | null {
  return email === '' ? null : emailHash(vault, email)
}

function isFoundBy(vault: Vault, profile: MemberProfile, { emailHash: found }: MemberRow): boolean {
  const hash = hashOf(vault, profile)
  return hash === null || found === null ? hash === found : hash.equals(found)
}

/** A member as a row tells them. @throws Refusal database_unusable for one who cannot be opened */
function openMember(vault: Vault, row: MemberRow): Member {
  const { id, partnerId, active } = row
  const place = memberPlace('sealed_external_user_id', row)
  const externalUserId = openSealedText(vault, row.sealedExternalUserId, place, `member ${id}`)
  return { id, partnerId, externalUserId, active, profile: openProfile(vault, row) }
}

type ProfileRow = SealedMember & Pick<MemberRow, 'id' | 'sealedProfile'>

/** @throws Refusal database_unusable for one that cannot be opened */
function openProfile(vault: Vault, row: ProfileRow): MemberProfile {
  const place = memberPlace('sealed_profile', row)
  return JSON.parse(openSealedText(vault, row.sealedProfile, place, `member ${row.id}`))
}

/** The same for staff, whom one member who cannot be opened must not stop; null for none. */
export function openedOrUnreadable(vault: Vault, row: MemberRow | null | undefined): Member | null {
  if (!row) return null
  try {
    return openMember(vault, row)
  } catch {
    const { id, partnerId, active } = row
    return { id, partnerId, active, ...unreadableMember }
  }
}
