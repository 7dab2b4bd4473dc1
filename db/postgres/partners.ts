import { asc, eq, getTableColumns, sql } from 'drizzle-orm'
import type { KeyRecord, Organization, Partner, PartnerKey } from '../../src/domain/partner'
import type { Vault } from '../../src/domain/vault'
import { openKeys, openSecret } from '../sealed/keys'
import { type Drizzle, placeholders } from './drizzle'
import { organizations, partnerKeys, partners } from './schema'

/** Queries on organizations, partners and their keys. */
export function partnerQueries(db: Drizzle, vault: Vault) {
  const { id, kid, lastUsedAt } = placeholders('id', 'kid', 'lastUsedAt')
  const organization = { id: organizations.id, name: organizations.name, active: organizations.active }
  const allOrganizations = db
    .select(organization)
    .from(organizations)
    .orderBy(asc(organizations.id))
    .prepare('')
  const { organizationId: _, createdAt: __, ...partner } = getTableColumns(partners)
  const allPartners = db
    .select({ ...partner, organization })
    .from(partners)
    .leftJoin(organizations, eq(organizations.id, partners.organizationId))
    .orderBy(asc(partners.id))
    .prepare('')
  const { recordKey, sealedSecret, ...told } = getTableColumns(partnerKeys)
  const keyRecords = db.select(told).from(partnerKeys).orderBy(asc(partnerKeys.id)).prepare('')
  const keysOfPartner = db
    .select(told)
    .from(partnerKeys)
    .where(eq(partnerKeys.partnerId, id))
    .orderBy(asc(partnerKeys.id))
    .prepare('')
  const keysWithSecrets = db.select().from(partnerKeys).orderBy(asc(partnerKeys.id)).prepare('')
  // Several nodes tell of the same key, each of what it has seen.
  const latest = sql`greatest(${partnerKeys.lastUsedAt}, ${lastUsedAt})`
  const noteUse = db
    .update(partnerKeys)
    .set({ lastUsedAt: latest })
    .where(eq(partnerKeys.kid, kid))
    .prepare('')
  const list = (): Promise<Partner[]> => allPartners.execute()
  const listOrganizations = (): Promise<Organization[]> => allOrganizations.execute()
  const found = async <Known>(all: Promise<Known[]>, isIt: (one: Known) => boolean) =>
    (await all).find(isIt) ?? null

  return {
    list,
    listOrganizations,
    listKeyRecords: (): Promise<KeyRecord[]> => keyRecords.execute(),
    keyRecordsOf: (partnerId: number): Promise<KeyRecord[]> => keysOfPartner.execute({ id: partnerId }),

    // There are never so many that a query of its own would pay.
    find: (id: number) => found(list(), (partner) => partner.id === id),
    findNamed: (name: string) => found(list(), (partner) => partner.name === name),
    findOrganization: (id: number) => found(listOrganizations(), (known) => known.id === id),
    findOrganizationNamed: (name: string) => found(listOrganizations(), (known) => known.name === name),

    /** All keys with their secrets. */
    async listKeys(): Promise<PartnerKey[]> {
      const [keys, all] = await Promise.all([keysWithSecrets.execute(), list()])
      return openKeys(vault, keys, all)
    },

    /** The kids of those that cannot be opened. */
    async listUnreadableKeys(): Promise<string[]> {
      const keys = await keysWithSecrets.execute()
      return keys.filter((key) => openSecret(vault, key) === null).map(({ kid }) => kid)
    },

    async noteUses(uses: ReadonlyMap<string, number>): Promise<void> {
      await Promise.all([...uses].map(([kid, lastUsedAt]) => noteUse.execute({ kid, lastUsedAt })))
    },
  }
}
