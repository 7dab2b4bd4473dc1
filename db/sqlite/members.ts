import { and, eq, sql } from 'drizzle-orm'
import { Refusal } from '../../src/domain/errors'
import { defaultLanguageTag } from '../../src/domain/language'
import { foldEmail, type Member, type MemberProfile, type MemberUpdate } from '../../src/domain/member'
import { refuseDuplicate } from './constraint'
import { columnPlaceholders, type Drizzle } from './drizzle'
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
  const insert = db
    .insert(members)
    .values(columnPlaceholders(members, ['id']))
    .returning({ id: members.id })
    .prepare()
  const update = db
    .update(members)
    .set(columnPlaceholders(members, ['id', 'createdAt']))
    .where(eq(members.id, sql.placeholder('id')))
    .prepare()

  return {
    find(partnerId: number, externalUserId: string): Member | null {
      const row = byExternalId.get({ partnerId, externalUserId })
      return row ? toMember(row) : null
    },

    findById(id: number): Member | null {
      const row = db.select().from(members).where(eq(members.id, id)).get()
      return row ? toMember(row) : null
    },

    timesOf: (id: number) =>
      db
        .select({ createdAt: members.createdAt, updatedAt: members.updatedAt })
        .from(members)
        .where(eq(members.id, id))
        .get() as { createdAt: number; updatedAt: number },

    remove: (id: number): void => void db.delete(members).where(eq(members.id, id)).run(),

    /** The id of the member, of whichever partner, to whom an e-mail address belongs. */
    ownerOf: (email: string): number | null => byEmail.get({ foldedEmail: foldEmail(email) })?.id ?? null,

    /** The member as the update leaves them: `existing` changed, or a new one. */
    save(
      existing: Member | null,
      identity: Pick<Member, 'partnerId' | 'externalUserId'>,
      changes: MemberUpdate,
      at: number,
    ): Member {
      const profile = { ...(existing?.profile ?? emptyProfile), ...changes }
      const { partnerId, externalUserId } = identity
      const active = existing?.active ?? true
      const row = {
        partnerId,
        externalUserId,
        active,
        ...profile,
        foldedEmail: foldEmail(profile.email),
        updatedAt: at,
      }
      const id = refuseDuplicate(
        () => {
          if (!existing) return (insert.get({ ...row, createdAt: at }) as { id: number }).id
          update.run({ ...row, id: existing.id })
          return existing.id
        },
        () => new Refusal('email_taken', 'already belongs to a different member'),
      )
      return { id, partnerId, externalUserId, active, profile }
    },

    setActive(id: number, active: boolean): void {
      const found = db.update(members).set({ active }).where(eq(members.id, id)).returning().get()
      if (!found) throw new Refusal('record_unknown', 'there is no such member')
    },
  }
}

const emptyProfile: Omit<
  MemberProfile,
  keyof Pick<MemberUpdate, 'email' | 'firstName' | 'lastName' | 'country'>
> = {
  preferredName: null,
  preferredPronouns: null,
  dob: null,
  gender: null,
  maritalStatus: null,
  clientType: null,
  leaveVoicemail: null,
  phoneNumber: null,
  streetAddress: null,
  suite: null,
  city: null,
  state: null,
  zipCode: null,
  reasonForSeekingSupport: null,
  preferredModality: null,
  preferredSpokenLanguage: defaultLanguageTag,
}

/** A member as a row tells them. */
export function toMember(row: typeof members.$inferSelect): Member {
  const { id, partnerId, externalUserId, active, foldedEmail, createdAt, updatedAt, ...profile } = row
  return { id, partnerId, externalUserId, active, profile }
}
