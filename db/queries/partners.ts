import { asc, eq, getTableColumns } from 'drizzle-orm'
import type { KeyRecord, Organization, Partner, PartnerKey } from '../../src/domain/partner'
import type { MaybePromise } from '../../src/domain/ports/store'
import type { Vault } from '../../src/domain/ports/vault'
import { openKeys, openSecret } from '../sealed/keys'
import { all, placeholders, type QueryEngine, then } from './engine'

export function partnerQueries(
  { db, tables: { organizations, partners, partnerKeys }, prepare, prepareWrite, greatest }: QueryEngine,
  vault: Vault,
) {
  const { id, kid, lastUsedAt } = placeholders('id', 'kid', 'lastUsedAt')
  const organization = { id: organizations.id, name: organizations.name, active: organizations.active }
  const listOrganizations: () => MaybePromise<Organization[]> = prepare(
    db.select(organization).from(organizations).orderBy(asc(organizations.id)),
  )
  const { organizationId: _, createdAt: __, ...partner } = getTableColumns(partners)
  const list: () => MaybePromise<Partner[]> = prepare(
    db
      .select({ ...partner, organization })
      .from(partners)
      .leftJoin(organizations, eq(organizations.id, partners.organizationId))
      .orderBy(asc(partners.id)),
  )
  const { recordKey, sealedSecret, ...shown } = getTableColumns(partnerKeys)
  const selectKeys = () => db.select(shown).from(partnerKeys)
  const listKeyRecords: () => MaybePromise<KeyRecord[]> = prepare(selectKeys().orderBy(asc(partnerKeys.id)))
  const keysOfPartner = prepare(
    selectKeys().where(eq(partnerKeys.partnerId, id)).orderBy(asc(partnerKeys.id)),
  )
  const keysWithSecrets = prepare(db.select().from(partnerKeys).orderBy(asc(partnerKeys.id)))
  // The later time is kept, because several nodes may store uses of the same key.
  const noteUse = prepareWrite(
    db
      .update(partnerKeys)
      .set({ lastUsedAt: greatest(partnerKeys.lastUsedAt, lastUsedAt) })
      .where(eq(partnerKeys.kid, kid)),
  )
  const find = <Known>(known: MaybePromise<Known[]>, isWanted: (one: Known) => boolean) =>
    then(known, (found) => found.find(isWanted) ?? null)

  return {
    list: () => list(),
    listOrganizations: () => listOrganizations(),
    listKeyRecords: () => listKeyRecords(),
    keyRecordsOf: (partnerId: number): MaybePromise<KeyRecord[]> => keysOfPartner({ id: partnerId }),

    // These functions load a whole list, because each list is short.
    find: (id: number) => find(list(), (partner) => partner.id === id),
    findNamed: (name: string) => find(list(), (partner) => partner.name === name),
    findOrganization: (id: number) => find(listOrganizations(), (known) => known.id === id),
    findOrganizationNamed: (name: string) => find(listOrganizations(), (known) => known.name === name),

    listKeys: (): MaybePromise<PartnerKey[]> =>
      then(all([keysWithSecrets(), list()]), ([keys, partners]) => openKeys(vault, keys, partners)),

    listUnreadableKeys: (): MaybePromise<string[]> =>
      then(keysWithSecrets(), (keys) =>
        keys.filter((key) => openSecret(vault, key) === null).map(({ kid }) => kid),
      ),

    noteUses: (uses: ReadonlyMap<string, number>): MaybePromise<void> =>
      then(all([...uses].map(([kid, lastUsedAt]) => noteUse({ kid, lastUsedAt }))), () => {}),
  }
}
