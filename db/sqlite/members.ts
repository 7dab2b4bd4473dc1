import { and, asc, eq, gt } from 'drizzle-orm'
import { foldEmail, type Member } from '../../src/domain/member'
import { type Drizzle, placeholders } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { members } from './schema'

/** Queries on members. */
export function memberQueries(db: Drizzle) {
  const open = placeholders('id', 'partnerId', 'externalUserId', 'foldedEmail', 'most')
  const select = () => db.select().from(members)
  const known = and(eq(members.partnerId, open.partnerId), eq(members.externalUserId, open.externalUserId))
  const byExternalId = select().where(known).prepare()
  const byEmail = db
    .select({ id: members.id })
    .from(members)
    .where(eq(members.foldedEmail, open.foldedEmail))
    .prepare()
  const after = select().where(gt(members.id, open.id)).orderBy(asc(members.id)).limit(open.most).prepare()
  const byId = select().where(eq(members.id, open.id)).prepare()

  return {
    find: (partnerId: number, externalUserId: string): Member | null =>
      toMember(byExternalId.get({ partnerId, externalUserId })),
    findById: (id: number): Member | null => toMember(byId.get({ id })),
    list: (id: number, most: number): Member[] =>
      after.all({ id, most }).map((row) => toMember(row) as Member),

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
  return recordTable<'member'>(db, members, ({ profile, ...others }) => ({
    ...others,
    ...profile,
    ...(profile && { foldedEmail: profile.email === '' ? null : foldEmail(profile.email) }),
  }))
}

/** A member as a row tells them; null for none. */
export function toMember(row: typeof members.$inferSelect | null | undefined): Member | null {
  if (!row) return null
  const { id, partnerId, externalUserId, active, foldedEmail, createdAt, updatedAt, ...profile } = row
  return { id, partnerId, externalUserId, active, profile }
}
