import { expect, test } from 'bun:test'
import type { Context } from '../../src/operations/context'
import { requireOrganization, requirePartner, requireProvider } from '../../src/operations/find-records'
import { organization, partner, provider } from '../domain/values'
import { factsStore } from '../support/facts-store'

const otherProvider = { ...provider, id: provider.id + 1, ref: String(provider.id) }
const otherPartner = { ...partner, id: partner.id + 1, name: String(partner.id) }
const otherOrganization = { ...organization, id: organization.id + 1, name: String(organization.id) }

const context = {
  directory: { listProviders: () => [provider, otherProvider] },
  store: factsStore({
    partners: {
      list: () => [partner, otherPartner],
      listOrganizations: () => [organization, otherOrganization],
    },
  }),
} as unknown as Context

test("operations: requireProvider prefers a provider's ref to another provider's id", () => {
  expect(requireProvider(context, String(provider.id))).toBe(otherProvider)
  expect(requireProvider(context, String(otherProvider.id))).toBe(otherProvider)
  expect(requireProvider(context, provider.ref)).toBe(provider)
})

test("operations: requirePartner and requireOrganization prefer a record's name to another record's id", async () => {
  expect(await requirePartner(context, String(partner.id))).toBe(otherPartner)
  expect(await requirePartner(context, String(otherPartner.id))).toBe(otherPartner)
  expect(await requireOrganization(context, String(organization.id))).toBe(otherOrganization)
  expect(await requireOrganization(context, organization.name)).toBe(organization)
})
