import { and, asc, eq, gt } from 'drizzle-orm'
import type { Member } from '../../src/domain/member'
import type { Vault } from '../../src/domain/vault'
import type { Walk } from '../queries/engine'
import {
  emailHash,
  externalUserIdHash,
  type FaultyMember,
  faultOf,
  openedOrUnreadable,
  openMember,
  openProfile,
} from '../sealed/members'
import { type Drizzle, placeholders } from './drizzle'
import { idList, isAmong } from './id-list'
import { members } from './schema'

/** Queries on members, who are found by keyed hashes of what they are asked for by. */
export function memberQueries(db: Drizzle, vault: Vault) {
  const open = placeholders('id', 'ids', 'partnerId', 'externalUserIdHash', 'emailHash', 'most')
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
    .prepare('')
  const byEmail = select().where(eq(members.emailHash, open.emailHash)).prepare('')
  const after = select().where(gt(members.id, open.id)).orderBy(asc(members.id)).limit(open.most).prepare('')
  const byId = select().where(eq(members.id, open.id)).prepare('')
  const ofIds = select().where(isAmong(members.id, open.ids)).prepare('')
  const find = async (id: number) => (await byId.execute({ id }))[0]

  return {
    /** @throws Refusal database_unusable for one who cannot be opened */
    async find(partnerId: number, externalUserId: string): Promise<Member | null> {
      const foundBy = { partnerId, externalUserIdHash: externalUserIdHash(vault, partnerId, externalUserId) }
      const [row] = await byExternalId.execute(foundBy)
      if (!row) return null
      // That the id is theirs need not be read: the profile opens under no other.
      const profile = openProfile(vault, { ...row, ...foundBy })
      return { id: row.id, partnerId, externalUserId, active: row.active, profile }
    },
    /** @throws Refusal database_unusable for one who cannot be opened */
    async findById(id: number): Promise<Member | null> {
      const row = await find(id)
      return row ? openMember(vault, row) : null
    },

    /** For staff: one who cannot be opened is told as unreadable. */
    findForStaff: async (id: number): Promise<Member | null> => openedOrUnreadable(vault, await find(id)),

    /** The members after an id, at most so many. */
    async list(id: number, most: number): Promise<Member[]> {
      return (await after.execute({ id, most })).map((row) => openedOrUnreadable(vault, row) as Member)
    },

    /** What the sealed values of some members are bound to, by id. */
    async listSealed(ids: readonly number[]) {
      return new Map((await ofIds.execute({ ids: idList(ids) })).map((row) => [row.id, row]))
    },

    /** The ids of those who cannot be opened, and of those whom another address finds than the one that is theirs. */
    async *listFaulty(walk: Walk): AsyncGenerator<FaultyMember> {
      for await (const row of walk((id, most) => after.execute({ id, most }))) {
        const fault = faultOf(vault, row)
        if (fault) yield fault
      }
    },

    /** When a member was made and last told of, in ms. */
    async timesOf(id: number): Promise<{ createdAt: number; updatedAt: number }> {
      const { createdAt = 0, updatedAt = 0 } = (await find(id)) ?? {}
      return { createdAt, updatedAt }
    },

    /** For staff: the member, of whichever partner, to whom an e-mail address belongs. */
    findByEmail: async (email: string): Promise<Member | null> =>
      openedOrUnreadable(vault, (await byEmail.execute({ emailHash: emailHash(vault, email) }))[0]),
  }
}
