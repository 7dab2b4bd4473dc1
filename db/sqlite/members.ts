import { and, asc, eq, gt } from 'drizzle-orm'
import type { Member } from '../../src/domain/member'
import type { Vault } from '../../src/domain/vault'
import type { Walk } from '../queries/engine'
import {
  emailHash,
  externalUserIdHash,
  type FaultyMember,
  faultOf,
  memberColumns,
  openedOrUnreadable,
  openMember,
  openProfile,
  profileColumns,
} from '../sealed/members'
import { type Drizzle, placeholders } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { members } from './schema'

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

  /** The id of the member, of whichever partner, to whom an e-mail address belongs. */
  const ownerOf = (email: string): number | null =>
    byEmail.get({ emailHash: emailHash(vault, email) })?.id ?? null
  const findForStaff = (id: number): Member | null => openedOrUnreadable(vault, byId.get({ id }))

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
    findForStaff,

    /** The members after an id, at most so many. */
    list,

    /** The ids of those who cannot be opened, and of those whom another address finds than the one that is theirs. */
    async *listFaulty(walk: Walk): AsyncGenerator<FaultyMember> {
      for await (const row of walk((id, most) => after.all({ id, most }))) {
        const fault = faultOf(vault, row)
        if (fault) yield fault
      }
    },

    /** When a member was made and last told of, in ms. */
    timesOf(id: number): { createdAt: number; updatedAt: number } {
      const { createdAt = 0, updatedAt = 0 } = byId.get({ id }) ?? {}
      return { createdAt, updatedAt }
    },

    ownerOf,

    /** For staff: the member, of whichever partner, to whom an e-mail address belongs. */
    findByEmail: (email: string) => findForStaff(ownerOf(email) ?? 0),
  }
}

export function memberTable(db: Drizzle, vault: Vault): RecordTable<'member'> {
  const byId = db
    .select()
    .from(members)
    .where(eq(members.id, placeholders('id').id))
    .prepare()
  const table = recordTable<'member'>(db, members)
  const columns = (row: object) => row as never
  return {
    ...table,
    add: (row) => table.add(columns(memberColumns(vault, row))),
    set(id, { profile, ...to }) {
      const member = byId.get({ id })
      table.set(id, columns(profile && member ? { ...to, ...profileColumns(vault, profile, member) } : to))
    },
  }
}
