import { describe, expect, test } from 'bun:test'
import {
  decideOrganization,
  decidePartner,
  decidePartnerOrganization,
  decidePartnerRates,
  decideRename,
} from '../../src/domain/decisions/partners'
import { Refusal } from '../../src/domain/errors'
import { noRates } from '../../src/domain/limits'
import { decideState } from '../../src/domain/ports/writes'
import { act, done, now, organization, partner } from './values'

const noOrganization = new Refusal('record_unknown', 'there is no such organization')
const noPartner = new Refusal('record_unknown', 'there is no such partner')
const answer = expect.any(Function)
const usual = { ...noRates, networks: null }

describe('domain: an organization', () => {
  test('is added as active', () => {
    const decided = done(decideOrganization(null, 'Harbour', act))
    expect(decided).toEqual({
      writes: [{ add: 'organization', row: { name: 'Harbour', active: true, createdAt: now } }],
      taken: [],
      audit: { action: 'organization.add', noun: 'organization', id: null },
      answer,
    })
    expect(decided.answer([9])).toEqual({ id: 9, name: 'Harbour', active: true })
  })

  test('is refused if its name is taken', () => {
    expect(decideOrganization(organization, 'Harbour', act)).toEqual(
      new Refusal('name_taken', 'an organization with this name already exists'),
    )
  })
})

describe('domain: a partner', () => {
  test.each([
    ['an organization', organization, 2, 'done: organization 2'],
    ['no organization', null, null, 'done: none'],
  ] as const)('is added as active with %s', (_, theirs, organizationId, outcome) => {
    const decided = done(decidePartner(null, theirs, 'Harbourlight', act))
    expect(decided).toEqual({
      writes: [
        {
          add: 'partner',
          row: { name: 'Harbourlight', organizationId, active: true, ...usual, createdAt: now },
        },
      ],
      taken: [],
      audit: { action: 'partner.add', noun: 'partner', id: null, outcome },
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

  test('is refused if its name is taken or its organization is unknown', () => {
    expect(decidePartner(partner, organization, 'Harbourlight', act)).toEqual(
      new Refusal('name_taken', 'a partner with this name already exists'),
    )
    expect(decidePartner(null, undefined, 'Harbourlight', act)).toEqual(noOrganization)
    expect(decidePartner(partner, undefined, 'Harbourlight', act)).toEqual(noOrganization)
  })

  test.each([
    ['another organization', organization, 2, 'done: organization 2'],
    ['no organization', null, null, 'done: none'],
  ] as const)('can be assigned to %s', (_, theirs, organizationId, outcome) => {
    expect(done(decidePartnerOrganization(partner, theirs))).toEqual({
      writes: [{ set: 'partner', id: 3, to: { organizationId } }],
      taken: [],
      audit: { action: 'partner.set-organization', noun: 'partner', id: 3, outcome },
      answer,
    })
  })

  test('cannot be assigned to an organization if the partner or the organization is unknown', () => {
    expect(decidePartnerOrganization(partner, undefined)).toEqual(noOrganization)
    expect(decidePartnerOrganization(null, organization)).toEqual(noPartner)
    expect(decidePartnerOrganization(null, undefined)).toEqual(noPartner)
  })

  test('gets the given rates and keeps the other rates', () => {
    expect(done(decidePartnerRates(partner, { readsPerMinute: 60, bookingsPerMinute: 'off' }))).toEqual({
      writes: [{ set: 'partner', id: 3, to: { readsPerMinute: 60, bookingsPerMinute: 'off' } }],
      taken: [],
      audit: {
        ...{ action: 'partner.set-rates', noun: 'partner', id: 3 },
        outcome: 'done: reads 60, bookings off per minute, intakes default per hour',
      },
      answer,
    })
    expect(done(decidePartnerRates(partner, { bookingsPerMinute: null })).writes).toEqual([
      { set: 'partner', id: 3, to: { bookingsPerMinute: null } },
    ])
    expect(done(decidePartnerRates(partner, { emailConflictsPerHour: 200 })).audit).toMatchObject({
      outcome:
        'done: reads default, bookings default per minute, intakes default, e-mail conflicts 200 per hour',
    })
    expect(decidePartnerRates(null, { readsPerMinute: 1 })).toEqual(noPartner)
  })
})

describe.each([
  ['organization', 'an organization', organization, noOrganization],
  ['partner', 'a partner', partner, noPartner],
] as const)('domain: an existing %s', (noun, one, record, unknown) => {
  const { id, name } = record
  const decided = (action: string, to: object) => ({
    writes: [{ set: noun, id, to }],
    taken: [],
    audit: { action: `${noun}.${action}`, noun, id },
    answer,
  })

  test('cannot be renamed to a taken name or to its current name', () => {
    expect(done(decideRename(noun, record, null, 'Haven')) as unknown).toEqual(
      decided('rename', { name: 'Haven' }),
    )
    for (const known of [record, { ...record, id: 9 }]) {
      expect(decideRename(noun, record, known, name)).toEqual(
        new Refusal('name_taken', `${one} with this name already exists`),
      )
    }
    expect(decideRename(noun, null, null, 'Haven')).toEqual(unknown)
  })

  test.each([
    [false, 'deactivate'],
    [true, 'reactivate'],
  ] as const)('can be set to active = %p, with one audit line', (active, action) => {
    expect(done(decideState(noun, record, active)) as unknown).toEqual(decided(action, { active }))
    expect(decideState(noun, null, active)).toEqual(unknown)
  })
})
