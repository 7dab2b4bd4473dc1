import { and, eq, sql } from 'drizzle-orm'
import { foldEmail, type Member } from '../../src/domain/member'
import type { Records } from '../../src/domain/writes'
import type { Drizzle } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { members } from './schema'

/** Queries on members. */
export function memberQueries(db: Drizzle) {
  const byExternalId = db
    .select()
    .from(members)
    .where(
      and(
        eq(members.partnerId, sql.placeholder('partnerId')),
        eq(members.externalUserId, sql.placeholder('externalUserId')),
      ),
    )
    .prepare()
  const byEmail = db
    .select({ id: members.id })
    .from(members)
    .where(eq(members.foldedEmail, sql.placeholder('foldedEmail')))
    .prepare()
  const byId = db
    .select()
    .from(members)
    .where(eq(members.id, sql.placeholder('id')))
    .prepare()

  return {
    find(partnerId: number, externalUserId: string): Member | null {
      const row = byExternalId.get({ partnerId, externalUserId })
      return row ? toMember(row) : null
    },

    findById(id: number): Member | null {
      const row = byId.get({ id })
      return row ? toMember(row) : null
    },

    /** When a member was made and last told of, in ms. */
    timesOf(id: number): { createdAt: number; updatedAt: number } {
      const { createdAt = 0, updatedAt = 0 } = byId.get({ id }) ?? {}
      return { createdAt, updatedAt }
    },

    /** The id of the member, of whichever partner, to whom an e-mail address belongs. */
    ownerOf: (email: string): number | null => byEmail.get({ foldedEmail: foldEmail(email) })?.id ?? null,
  }
}

export function memberTable(db: Drizzle): RecordTable<'member'> {
  return recordTable<'member'>(db, members, ({ profile, ...others }: Partial<Records['member']>) => ({
    ...others,
    ...profile,
    ...(profile && { foldedEmail: foldEmail(profile.email) }),
  }))
}

/** A member as a row tells them. */
export function toMember(row: typeof members.$inferSelect): Member {
  const { id, partnerId, externalUserId, active, foldedEmail, createdAt, updatedAt, ...profile } = row
  return { id, partnerId, externalUserId, active, profile }
}
