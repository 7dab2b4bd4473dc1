import { asc, eq, getTableColumns, sql } from 'drizzle-orm'
import type { KeyRecord, Organization, Partner, PartnerKey } from '../../src/domain/partner'
import type { Vault } from '../../src/domain/vault'
import { keyColumns, openKeys, openSecret } from '../sealed/keys'
import { type Drizzle, placeholders } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { organizations, partnerKeys, partners } from './schema'

/** Queries on organizations, partners and their keys. */
export function partnerQueries(db: Drizzle, vault: Vault) {
  const { id, kid, lastUsedAt } = placeholders('id', 'kid', 'lastUsedAt')
  const organization = { id: organizations.id, name: organizations.name, active: organizations.active }
  const allOrganizations = db
    .select(organization)
    .from(organizations)
    .orderBy(asc(organizations.id))
    .prepare()
  const { organizationId: _, createdAt: __, ...partner } = getTableColumns(partners)
  const allPartners = db
    .select({ ...partner, organization })
    .from(partners)
    .leftJoin(organizations, eq(organizations.id, partners.organizationId))
    .orderBy(asc(partners.id))
    .prepare()
  const { recordKey, sealedSecret, ...told } = getTableColumns(partnerKeys)
  const keyRecords = db.select(told).from(partnerKeys).orderBy(asc(partnerKeys.id)).prepare()
  const ofPartner = eq(partnerKeys.partnerId, id)
  const keysOfPartner = db
    .select(told)
    .from(partnerKeys)
    .where(ofPartner)
    .orderBy(asc(partnerKeys.id))
    .prepare()
  const keysWithSecrets = db.select().from(partnerKeys).orderBy(asc(partnerKeys.id)).prepare()
  const latest = sql`max(coalesce(last_used_at, 0), ${lastUsedAt})`
  const noteUse = db.update(partnerKeys).set({ lastUsedAt: latest }).where(eq(partnerKeys.kid, kid)).prepare()
  const list = (): Partner[] => allPartners.all()
  const listOrganizations = (): Organization[] => allOrganizations.all()

  return {
    list,
    listOrganizations,
    listKeyRecords: (): KeyRecord[] => keyRecords.all(),
    keyRecordsOf: (partnerId: number): KeyRecord[] => keysOfPartner.all({ id: partnerId }),

    // There are never so many that a query of its own would pay.
    find: (id: number) => list().find((partner) => partner.id === id) ?? null,
    findNamed: (name: string) => list().find((partner) => partner.name === name) ?? null,
    findOrganization: (id: number) => listOrganizations().find((known) => known.id === id) ?? null,
    findOrganizationNamed: (name: string) => listOrganizations().find((known) => known.name === name) ?? null,

    /** All keys with their secrets. */
    listKeys: (): PartnerKey[] => openKeys(vault, keysWithSecrets.all(), list()),

    /** The kids of those that cannot be opened. */
    listUnreadableKeys: (): string[] =>
      keysWithSecrets
        .all()
        .filter((key) => openSecret(vault, key) === null)
        .map(({ kid }) => kid),

    noteUses(uses: ReadonlyMap<string, number>): void {
      for (const [kid, lastUsedAt] of uses) noteUse.run({ kid, lastUsedAt })
    },
  }
}

export function keyTable(db: Drizzle, vault: Vault): RecordTable<'key'> {
  return recordTable<'key'>(db, partnerKeys, (row) => keyColumns(vault, row))
}
