import { asc, eq, sql } from 'drizzle-orm'
import type { KeyRecord, Organization, Partner, PartnerKey } from '../../src/domain/partner'
import { newRecordKey, type Vault } from '../../src/domain/vault'
import type { Drizzle } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { organizations, partnerKeys, partners } from './schema'
import { openSealed, secretPlace } from './sealed'

/** Queries on organizations, partners and their keys. */
export function partnerQueries(db: Drizzle, vault: Vault) {
  const id = sql.placeholder('id')
  const name = sql.placeholder('name')
  const selectOrganizations = () => db.select().from(organizations)
  const allOrganizations = selectOrganizations().orderBy(asc(organizations.id)).prepare()
  const organizationById = selectOrganizations().where(eq(organizations.id, id)).prepare()
  const organizationByName = selectOrganizations().where(eq(organizations.name, name)).prepare()
  const selectPartners = () =>
    db
      .select({ partner: partners, organization: organizations })
      .from(partners)
      .leftJoin(organizations, eq(organizations.id, partners.organizationId))
  const allPartners = selectPartners().orderBy(asc(partners.id)).prepare()
  const partnerById = selectPartners().where(eq(partners.id, id)).prepare()
  const partnerByName = selectPartners().where(eq(partners.name, name)).prepare()
  const selectKeys = () => db.select().from(partnerKeys)
  const allKeys = selectKeys().orderBy(asc(partnerKeys.id)).prepare()
  const keysOfPartner = selectKeys()
    .where(eq(partnerKeys.partnerId, id))
    .orderBy(asc(partnerKeys.id))
    .prepare()
  const noteUse = db
    .update(partnerKeys)
    .set({ lastUsedAt: sql`max(coalesce(last_used_at, 0), ${sql.placeholder('lastUsedAt')})` })
    .where(eq(partnerKeys.kid, sql.placeholder('kid')))
    .prepare()
  const list = () => allPartners.all().map(toPartner)

  return {
    list,
    find: (id: number) => toPartnerOrNull(partnerById.get({ id })),
    findNamed: (name: string) => toPartnerOrNull(partnerByName.get({ name })),

    listOrganizations: () => allOrganizations.all().map(toOrganization),
    findOrganization: (id: number) => toOrganizationOrNull(organizationById.get({ id })),
    findOrganizationNamed: (name: string) => toOrganizationOrNull(organizationByName.get({ name })),

    listKeyRecords: (): KeyRecord[] => allKeys.all().map(toKeyRecord),
    keyRecordsOf: (partnerId: number): KeyRecord[] => keysOfPartner.all({ id: partnerId }).map(toKeyRecord),

    /** All keys with their secrets. @throws Refusal database_unusable for one that cannot be opened */
    listKeys(): PartnerKey[] {
      const byId = new Map(list().map((partner) => [partner.id, partner]))
      return allKeys.all().map((key) => toPartnerKey(key, byId.get(key.partnerId) as Partner, vault))
    },

    noteUses(uses: ReadonlyMap<string, number>): void {
      for (const [kid, lastUsedAt] of uses) noteUse.run({ kid, lastUsedAt })
    },
  }
}

export function organizationTable(db: Drizzle): RecordTable<'organization'> {
  return recordTable<'organization'>(db, organizations, (row) => row)
}

export function partnerTable(db: Drizzle): RecordTable<'partner'> {
  return recordTable<'partner'>(db, partners, (row) => row)
}

export function keyTable(db: Drizzle, vault: Vault): RecordTable<'key'> {
  return recordTable<'key'>(db, partnerKeys, ({ secret, ...row }) => {
    const { partnerId, kid } = row
    // It is sealed when it is added, and never changed.
    if (!secret || partnerId === undefined || kid === undefined) return row
    const recordKey = newRecordKey()
    const sealed = vault.seal(secret, secretPlace({ recordKey, partnerId, kid }))
    return { ...row, recordKey, sealedSecret: Buffer.from(sealed) }
  })
}

function toPartnerKey(key: typeof partnerKeys.$inferSelect, partner: Partner, vault: Vault): PartnerKey {
  const { kid, issuedAt, startsAt, endsAt } = key
  const secret = openSealed(vault, key.sealedSecret, secretPlace(key), `the key ${kid}`)
  return { kid, secret, issuedAt, startsAt, endsAt, partner }
}

function toKeyRecord(row: typeof partnerKeys.$inferSelect): KeyRecord {
  const { recordKey, sealedSecret, ...key } = row
  return key
}

function toOrganization({ id, name, active }: typeof organizations.$inferSelect): Organization {
  return { id, name, active }
}

function toOrganizationOrNull(row: typeof organizations.$inferSelect | undefined): Organization | null {
  return row ? toOrganization(row) : null
}

interface PartnerRow {
  readonly partner: typeof partners.$inferSelect
  readonly organization: typeof organizations.$inferSelect | null
}

function toPartner({ partner, organization }: PartnerRow): Partner {
  const { id, name, active } = partner
  return { id, name, active, organization: organization && toOrganization(organization) }
}

function toPartnerOrNull(row: PartnerRow | undefined): Partner | null {
  return row ? toPartner(row) : null
}
