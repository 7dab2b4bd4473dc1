import { and, asc, eq, gt, isNull, or, sql } from 'drizzle-orm'
import { Refusal } from '../../src/domain/errors'
import type { KeyEndReason, KeyRecord, Organization, Partner, PartnerKey } from '../../src/domain/partner'
import { newRecordKey, type Vault } from '../../src/domain/vault'
import { refuseDuplicate } from './constraint'
import type { Drizzle } from './drizzle'
import { organizations, partnerKeys, partners } from './schema'
import { openSealed, secretPlace } from './sealed'

/** Queries on organizations, partners and their keys. */
export function partnerQueries(db: Drizzle, vault: Vault) {
  const selectPartners = () =>
    db
      .select({ partner: partners, organization: organizations })
      .from(partners)
      .leftJoin(organizations, eq(organizations.id, partners.organizationId))
  const all = selectPartners().orderBy(asc(partners.id)).prepare()
  const allKeys = db.select().from(partnerKeys).orderBy(asc(partnerKeys.id)).prepare()

  const noteUse = db
    .update(partnerKeys)
    .set({ lastUsedAt: sql`${sql.placeholder('lastUsedAt')}` })
    .where(eq(partnerKeys.kid, sql.placeholder('kid')))
    .prepare()

  const list = () => all.all().map(({ partner, organization }) => toPartner(partner, organization))

  return {
    list,

    listKeys(): PartnerKey[] {
      const byId = new Map(list().map((partner) => [partner.id, partner]))
      return allKeys.all().map((key) => ({
        kid: key.kid,
        secret: openSealed(vault, key.sealedSecret, secretPlace(key), `the key ${key.kid}`),
        issuedAt: key.issuedAt,
        startsAt: key.startsAt,
        endsAt: key.endsAt,
        partner: byId.get(key.partnerId) as Partner,
      }))
    },

    addOrganization(name: string, createdAt: number): Organization {
      const { id } = refuseDuplicate(
        () =>
          db
            .insert(organizations)
            .values({ name, active: true, createdAt })
            .returning({ id: organizations.id })
            .get(),
        () => new Refusal('name_taken', 'there is an organization of that name'),
      )
      return { id, name, active: true }
    },

    setOrganizationActive(id: number, active: boolean): void {
      const found = db.update(organizations).set({ active }).where(eq(organizations.id, id)).returning().get()
      if (!found) throw new Refusal('record_unknown', 'there is no such organization')
    },

    addPartner(name: string, organizationId: number | null, createdAt: number): Partner {
      requireOrganization(organizationId)
      const { id } = refuseDuplicate(
        () =>
          db
            .insert(partners)
            .values({ name, organizationId, active: true, createdAt })
            .returning({ id: partners.id })
            .get(),
        () => new Refusal('name_taken', 'there is a partner of that name'),
      )
      const added = selectPartners().where(eq(partners.id, id)).get()
      if (!added) throw new Error('a partner that was just added is not there')
      return toPartner(added.partner, added.organization)
    },

    setPartnerActive(id: number, active: boolean): void {
      const found = db.update(partners).set({ active }).where(eq(partners.id, id)).returning().get()
      if (!found) throw new Refusal('record_unknown', 'there is no such partner')
    },

    setPartnerOrganization(id: number, organizationId: number | null): void {
      requireOrganization(organizationId)
      const found = db.update(partners).set({ organizationId }).where(eq(partners.id, id)).returning().get()
      if (!found) throw new Refusal('record_unknown', 'there is no such partner')
    },

    listOrganizations(): Organization[] {
      const rows = db.select().from(organizations).orderBy(asc(organizations.id)).all()
      return rows.map(({ id, name, active }) => ({ id, name, active }))
    },

    listKeyRecords(): KeyRecord[] {
      return allKeys.all().map(({ id, recordKey, sealedSecret, ...key }) => key)
    },

    addKey(
      partnerId: number,
      { kid, secret, issuedAt, startsAt }: Omit<PartnerKey, 'partner' | 'endsAt'>,
    ): void {
      if (!list().some(({ id }) => id === partnerId)) {
        throw new Refusal('record_unknown', 'there is no such partner')
      }
      endKeys(partnerId, issuedAt, startsAt, 'rotated')
      const recordKey = newRecordKey()
      const sealedSecret = Buffer.from(vault.seal(secret, secretPlace({ recordKey, partnerId, kid })))
      db.insert(partnerKeys).values({ recordKey, kid, partnerId, sealedSecret, issuedAt, startsAt }).run()
    },

    revokeKeys(partnerId: number, at: number): void {
      if (endKeys(partnerId, at, at, 'revoked') === 0) {
        throw new Refusal('record_unknown', 'the partner has no token that could be revoked')
      }
    },

    noteUses(uses: ReadonlyMap<string, number>): void {
      for (const [kid, lastUsedAt] of uses) noteUse.run({ kid, lastUsedAt })
    },
  }

  function requireOrganization(id: number | null): void {
    if (id === null) return
    const found = db.select().from(organizations).where(eq(organizations.id, id)).get()
    if (!found) throw new Refusal('record_unknown', 'there is no such organization')
  }

  /**
   * Ends at `endsAt` what is in force at `now`; a successor that is still to start never will. Tells how many
   * keys that were.
   */
  function endKeys(partnerId: number, now: number, endsAt: number, reason: KeyEndReason): number {
    const waits = gt(partnerKeys.startsAt, now)
    return db
      .update(partnerKeys)
      .set({
        endsAt: sql`case when ${waits} then starts_at else ${endsAt} end`,
        endReason: sql`case when ${waits} then 'cancelled' else ${reason} end`,
      })
      .where(
        and(
          eq(partnerKeys.partnerId, partnerId),
          or(
            isNull(partnerKeys.endsAt),
            and(gt(partnerKeys.endsAt, now), gt(partnerKeys.endsAt, partnerKeys.startsAt)),
          ),
        ),
      )
      .returning({ id: partnerKeys.id })
      .all().length
  }
}

function toPartner(
  partner: typeof partners.$inferSelect,
  organization: typeof organizations.$inferSelect | null,
): Partner {
  return {
    id: partner.id,
    name: partner.name,
    active: partner.active,
    organization: organization && {
      id: organization.id,
      name: organization.name,
      active: organization.active,
    },
  }
}
