import { and, asc, desc, eq, gt, lt } from 'drizzle-orm'
import type { Member } from '../../src/domain/member'
import type { MaybePromise } from '../../src/domain/ports/store'
import type { Vault } from '../../src/domain/ports/vault'
import {
  emailHash,
  externalUserIdHash,
  type FaultyMember,
  faultOf,
  openedOrUnreadable,
  openMember,
  openProfile,
} from '../sealed/members'
import { placeholders, type QueriesOf, type QueryEngine, then, type Walk } from './engine'

/** Finds members by keyed hashes, because their data is sealed. */
export function memberQueries({ db, tables: { members }, prepare }: QueryEngine, vault: Vault) {
  const open = placeholders('id', 'partnerId', 'externalUserIdHash', 'emailHash', 'most')
  const select = () => db.select().from(members)
  const isKnown = and(
    eq(members.partnerId, open.partnerId),
    eq(members.externalUserIdHash, open.externalUserIdHash),
  )
  const { id, recordKey, active, sealedProfile } = members
  const byExternalId = prepare(
    db.select({ id, recordKey, active, sealedProfile }).from(members).where(isKnown),
  )
  const byEmail = prepare(db.select({ id }).from(members).where(eq(members.emailHash, open.emailHash)))
  const after = prepare(select().where(gt(id, open.id)).orderBy(asc(id)).limit(open.most))
  const before = prepare(select().where(lt(id, open.id)).orderBy(desc(id)).limit(open.most))
  const idsAfter = prepare(
    db.select({ id }).from(members).where(gt(id, open.id)).orderBy(asc(id)).limit(open.most),
  )
  const byId = prepare(select().where(eq(id, open.id)))

  /** If the member cannot be opened, returns a placeholder. */
  const findForStaff = (id: number): MaybePromise<Member | null> =>
    then(byId({ id }), ([row]) => openedOrUnreadable(vault, row))

  const ownerOf = (email: string): MaybePromise<number | null> =>
    then(byEmail({ emailHash: emailHash(vault, email) }), ([row]) => row?.id ?? null)

  return {
    /** @throws Refusal database_unusable if the member cannot be opened */
    find(partnerId, externalUserId) {
      const foundBy = { partnerId, externalUserIdHash: externalUserIdHash(vault, partnerId, externalUserId) }
      return then(byExternalId(foundBy), ([row]) => {
        if (!row) return null
        // The sealed external id is not opened. With a wrong hash of the external id, the profile cannot be opened.
        const profile = openProfile(vault, { ...row, ...foundBy })
        return { id: row.id, partnerId, externalUserId, active: row.active, profile }
      })
    },

    /** @throws Refusal database_unusable if the member cannot be opened */
    findById: (id) => then(byId({ id }), ([row]) => (row ? openMember(vault, row) : null)),

    findForStaff,

    list: (id, most) =>
      then(before({ id, most }), (rows) => rows.map((row) => openedOrUnreadable(vault, row) as Member)),

    idsAfter: (id, most) => then(idsAfter({ id, most }), (rows) => rows.map(({ id }) => id)),

    /** Yields members that cannot be opened, and members with a wrong hash of the e-mail address. */
    async *listFaulty(walk: Walk): AsyncGenerator<FaultyMember> {
      for await (const row of walk((id, most) => after({ id, most }))) {
        const fault = faultOf(vault, row)
        if (fault) yield fault
      }
    },

    /** Returns times in ms; 0 for an unknown id. */
    timesOf: (id) =>
      then(byId({ id }), ([{ createdAt, updatedAt } = { createdAt: 0, updatedAt: 0 }]) => {
        return { createdAt, updatedAt }
      }),

    ownerOf,

    findByEmail: (email) => then(ownerOf(email), (id) => findForStaff(id ?? 0)),
  } satisfies QueriesOf<'members'>
}
