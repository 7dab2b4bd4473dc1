import { describe, expect, test } from 'bun:test'
import {
  decideOrganization,
  decideOrganizationRename,
  decideOrganizationState,
  decidePartner,
  decidePartnerOrganization,
  decidePartnerRates,
  decidePartnerRename,
  decidePartnerState,
} from '../../src/domain/decide-onboarding'
import { Refusal } from '../../src/domain/errors'
import { act, done, now, organization, partner } from './values'

const noOrganization = new Refusal('record_unknown', 'there is no such organization')
const noPartner = new Refusal('record_unknown', 'there is no such partner')
const answer = expect.any(Function)
const usual = { readsPerMinute: null, bookingsPerMinute: null }

describe('an organization', () => {
  test('is added, active', () => {
    const decided = done(decideOrganization(null, 'Harbour', act))
    expect(decided).toEqual({
      writes: [{ add: 'organization', row: { name: 'Harbour', active: true, createdAt: now } }],
      taken: [],
      audit: { action: 'organization.add', noun: 'organization', id: null },
      answer,
    })
    expect(decided.answer([9])).toEqual({ id: 9, name: 'Harbour', active: true })
  })

  test('is not added under a name that one has', () => {
    expect(decideOrganization(organization, 'Harbour', act)).toEqual(
      new Refusal('name_taken', 'there is an organization of that name'),
    )
  })

  test('is renamed, to a name that none has, itself included', () => {
    expect(done(decideOrganizationRename(organization, null, 'Haven'))).toEqual({
      writes: [{ set: 'organization', id: 2, to: { name: 'Haven' } }],
      taken: [],
      audit: { action: 'organization.rename', noun: 'organization', id: 2 },
      answer,
    })
    const taken = new Refusal('name_taken', 'there is an organization of that name')
    for (const known of [organization, { ...organization, id: 9 }]) {
      expect(decideOrganizationRename(organization, known, known.name)).toEqual(taken)
    }
    expect(decideOrganizationRename(null, null, 'Haven')).toEqual(noOrganization)
  })

  test.each([
    [false, 'organization.deactivate'],
    [true, 'organization.reactivate'],
  ] as const)('active or not: %p', (active, action) => {
    expect(done(decideOrganizationState(organization, active))).toEqual({
      writes: [{ set: 'organization', id: 2, to: { active } }],
      taken: [],
      audit: { action, noun: 'organization', id: 2 },
      answer,
    })
    expect(decideOrganizationState(null, active)).toEqual(noOrganization)
  })
})

describe('a partner', () => {
  test.each([
    ['an organization', organization, 2],
    ['none', null, null],
  ] as const)('is added, active, for %s', (_, theirs, organizationId) => {
    const decided = done(decidePartner(null, theirs, 'Harbourlight', act))
    expect(decided).toEqual({
      writes: [
        {
          add: 'partner',
          row: { name: 'Harbourlight', organizationId, active: true, ...usual, createdAt: now },
        },
      ],
      taken: [],
      audit: { action: 'partner.add', noun: 'partner', id: null },
      answer,
    })
    expect(decided.answer([9])).toEqual({
      id: 9,
      name: 'Harbourlight',
      active: true,
      ...usual,
      organization: theirs,
    })
  })

  test('is added neither under a name that one has nor for an organization that is not there', () => {
    expect(decidePartner(partner, organization, 'Harbourlight', act)).toEqual(
      new Refusal('name_taken', 'there is a partner of that name'),
    )
    expect(decidePartner(null, undefined, 'Harbourlight', act)).toEqual(noOrganization)
    expect(decidePartner(partner, undefined, 'Harbourlight', act)).toEqual(noOrganization)
  })

  test('is renamed, to a name that none has, itself included', () => {
    expect(done(decidePartnerRename(partner, null, 'Haven'))).toEqual({
      writes: [{ set: 'partner', id: 3, to: { name: 'Haven' } }],
      taken: [],
      audit: { action: 'partner.rename', noun: 'partner', id: 3 },
      answer,
    })
    const taken = new Refusal('name_taken', 'there is a partner of that name')
    for (const known of [partner, { ...partner, id: 9 }]) {
      expect(decidePartnerRename(partner, known, known.name)).toEqual(taken)
    }
    expect(decidePartnerRename(null, null, 'Haven')).toEqual(noPartner)
  })

  test.each([
    [false, 'partner.deactivate'],
    [true, 'partner.reactivate'],
  ] as const)('active or not: %p', (active, action) => {
    expect(done(decidePartnerState(partner, active))).toEqual({
      writes: [{ set: 'partner', id: 3, to: { active } }],
      taken: [],
      audit: { action, noun: 'partner', id: 3 },
      answer,
    })
    expect(decidePartnerState(null, active)).toEqual(noPartner)
  })

  test.each([
    ['another organization', organization, 2],
    ['none', null, null],
  ] as const)('is given %s', (_, theirs, organizationId) => {
    expect(done(decidePartnerOrganization(partner, theirs))).toEqual({
      writes: [{ set: 'partner', id: 3, to: { organizationId } }],
      taken: [],
      audit: { action: 'partner.set-organization', noun: 'partner', id: 3 },
      answer,
    })
  })

  test('is given no organization that is not there, and has to be there', () => {
    expect(decidePartnerOrganization(partner, undefined)).toEqual(noOrganization)
    expect(decidePartnerOrganization(null, organization)).toEqual(noPartner)
    expect(decidePartnerOrganization(null, undefined)).toEqual(noPartner)
  })

  test('is held to other rates; those that are not given stay', () => {
    expect(done(decidePartnerRates(partner, { readsPerMinute: 60, bookingsPerMinute: 'off' }))).toEqual({
      writes: [{ set: 'partner', id: 3, to: { readsPerMinute: 60, bookingsPerMinute: 'off' } }],
      taken: [],
      audit: { action: 'partner.set-rates', noun: 'partner', id: 3 },
      answer,
    })
    expect(done(decidePartnerRates(partner, { bookingsPerMinute: null })).writes).toEqual([
      { set: 'partner', id: 3, to: { bookingsPerMinute: null } },
    ])
    expect(decidePartnerRates(null, { readsPerMinute: 1 })).toEqual(noPartner)
  })
})
