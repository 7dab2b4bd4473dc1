import { expect, test } from 'bun:test'
import type { Context } from '../../src/operations/context'
import { requireOrganization, requirePartner, requireProvider } from '../../src/operations/find-records'
import { organization, partner, provider } from '../domain/values'
import { factsStore } from '../support/facts-store'

// Of each kind the second is called what the first has as its id.
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

test('a provider is found by ref before one of whom it is the id, who is found by their own ref', () => {
  expect(requireProvider(context, String(provider.id))).toBe(otherProvider)
  expect(requireProvider(context, String(otherProvider.id))).toBe(otherProvider)
  expect(requireProvider(context, provider.ref)).toBe(provider)
})

test('a partner and an organization are found by name before one of which it is the id', async () => {
  expect(await requirePartner(context, String(partner.id))).toBe(otherPartner)
  expect(await requirePartner(context, String(otherPartner.id))).toBe(otherPartner)
  expect(await requireOrganization(context, String(organization.id))).toBe(otherOrganization)
  expect(await requireOrganization(context, organization.name)).toBe(organization)
})
