import { describe, expect, test } from 'bun:test'
import { slotMillis } from '../../src/domain/booking-request'
import { Refusal } from '../../src/domain/errors'
import type { MemberUpdate } from '../../src/domain/member'
import type { Partner } from '../../src/domain/partner'
import type { JudgedSubmission, ProviderEntry, RegionEntry, Store } from '../../src/domain/store'
import type { Upkeep } from '../../src/domain/upkeep'

/** A store to be tested, and what only its engine knows how to do. Leaving its scope removes it. */
export interface Place extends AsyncDisposable {
  readonly store: Store
  readonly upkeep: Upkeep
  /** Another connection to the same data. */
  openAgain(): Promise<Store>
  /** Drops the record of all changes but the newest. */
  forgetChanges(): Promise<void>
  /** A path where nothing is. */
  readonly freePath: string
}

export const now = Date.UTC(2026, 11, 1, 12)
export const nine = Date.UTC(2026, 11, 2, 9)
export const minutes = (count: number) => count * 60_000

export const ontario: RegionEntry = {
  id: null,
  countryCode: 'CA',
  code: 'ON',
  localName: 'Ontario',
  label: 'Province',
  active: true,
}
export const quebec: RegionEntry = { ...ontario, code: 'QC', localName: 'Québec' }

export function entry(ref: string, different: Partial<ProviderEntry> = {}): ProviderEntry {
  return {
    ref,
    firstName: 'Marlow',
    lastName: 'Fernhill',
    credentials: null,
    pronouns: null,
    gender: null,
    bio: null,
    timeZone: 'America/Toronto',
    languagesSpoken: ['en', 'fr-CA'],
    modalities: ['in-video'],
    workingHours: [{ weekdays: ['monday'], start: '09:00', end: '17:00', stepMinutes: 60 }],
    overrides: [{ date: '2026-12-24', windows: [] }],
    timeOff: [{ from: '2026-12-27', until: '2026-12-31' }],
    minimumNoticeMinutes: 30,
    active: true,
    licenses: [{ region: 'CA-ON', from: '2020-01-01', until: null }],
    inPersonRegions: ['CA-ON'],
    ...different,
  }
}

const update: MemberUpdate = {
  email: 'robin@example.com',
  firstName: 'Robin',
  lastName: 'Sample',
  country: 'CA',
}

const untold = {
  preferredName: null,
  preferredPronouns: null,
  dob: null,
  gender: null,
  maritalStatus: null,
  clientType: null,
  leaveVoicemail: null,
  phoneNumber: null,
  streetAddress: null,
  suite: null,
  city: null,
  state: null,
  zipCode: null,
  reasonForSeekingSupport: null,
  preferredModality: null,
  preferredSpokenLanguage: 'en',
}

/** Two regions, two providers and a partner, and what submits to them. */
export async function furnish(store: Store) {
  await store.loadDirectory([ontario, quebec], [entry('first'), entry('second')])
  const organization = await store.addOrganization('Harbour', now)
  const partner = await store.addPartner('Harbourlight', organization.id, now)
  const { providers, regions } = await store.readDirectory(null)
  const [first, second] = providers.map(({ id }) => id) as [number, number]
  let numbers = 0
  const intake = async (externalUserId: string, different: Partial<JudgedSubmission> = {}) =>
    store.submit({
      partnerId: partner.id,
      externalUserId,
      member: { ...update, email: `${externalUserId}@example.com` },
      slot: null,
      slotOffered: null,
      localOffsetMinutes: different.slot ? 0 : null,
      authorizationNumber: null,
      screeningAnswers: [{ question: 'Sleep?', answer: 'Several days' }],
      submittedAt: now,
      version: await store.directoryVersion(),
      ...different,
    })
  const book = (
    externalUserId: string,
    startsAt: number,
    different: Partial<JudgedSubmission> & { providerId?: number } = {},
  ) => {
    const { providerId = first, ...rest } = different
    return intake(externalUserId, {
      slot: { providerId, startsAt },
      slotOffered: true,
      authorizationNumber: `AUTH-${++numbers}`,
      ...rest,
    })
  }
  return { organization, partner, first, second, regions: regions ?? [], intake, book }
}

/** All that a refused submission could have changed. */
async function shown(store: Store, partner: Partner, externalUserIds: readonly string[]) {
  const members = await Promise.all(externalUserIds.map((id) => store.findMember(partner.id, id)))
  return { members, directory: await store.readDirectory(null) }
}

async function takenOf(store: Store, providerId: number): Promise<number[]> {
  const { taken } = await store.readDirectory(null)
  return (taken.get(providerId) ?? []).map(({ startsAt }) => startsAt)
}

/** What the port promises, whichever engine stands behind it. */
export function storeKeepsItsPromises(open: () => Promise<Place>): void {
  describe('submitting', () => {
    test('an intake makes the member and is unassigned', async () => {
      await using place = await open()
      const { partner, intake } = await furnish(place.store)
      const member = {
        id: expect.any(Number),
        partnerId: partner.id,
        externalUserId: 'robin',
        active: true,
        profile: { ...untold, ...update },
      }
      expect(await intake('robin')).toEqual({
        outcome: 'stored',
        request: {
          id: expect.any(Number),
          state: 'unassigned',
          providerId: null,
          authorizationNumber: null,
          startsAt: null,
          acceptedAt: null,
          declinedAt: null,
          member,
        },
      })
      expect(await place.store.findMember(partner.id, 'robin')).toEqual(member)
    })

    test('a booking is pending and holds its slot', async () => {
      await using place = await open()
      const { partner, first, second, book } = await furnish(place.store)
      const answer = await book('robin', nine, { authorizationNumber: 'AUTH-ROBIN' })
      expect(answer).toEqual({
        outcome: 'stored',
        request: {
          id: expect.any(Number),
          state: 'pending',
          providerId: first,
          authorizationNumber: 'AUTH-ROBIN',
          startsAt: nine,
          acceptedAt: null,
          declinedAt: null,
          member: {
            id: expect.any(Number),
            partnerId: partner.id,
            externalUserId: 'robin',
            active: true,
            profile: { ...untold, ...update },
          },
        },
      })
      const requestId = answer.outcome === 'stored' ? answer.request.id : Number.NaN
      const { taken } = await place.store.readDirectory(null)
      expect([...taken]).toEqual([
        [first, [{ requestId, startsAt: nine, endsAt: nine + slotMillis }]],
        [second, []],
      ])
    })

    test('another call for the same id is the same member, told anew, and another request', async () => {
      await using place = await open()
      const { partner, intake, book } = await furnish(place.store)
      const first = await intake('robin', {
        member: { ...update, phoneNumber: '+1 416 555 0100', suite: '5', preferredSpokenLanguage: 'fr-CA' },
      })
      const second = await book('robin', nine, {
        member: { ...update, email: 'ROBIN@new.example.com', firstName: 'Robyn', suite: '' },
      })
      if (first.outcome !== 'stored' || second.outcome !== 'stored') throw new Error('not stored')
      expect(second.request.id).not.toBe(first.request.id)
      expect(second.request.member).toEqual({
        ...first.request.member,
        profile: {
          ...untold,
          ...update,
          email: 'ROBIN@new.example.com',
          firstName: 'Robyn',
          phoneNumber: '+1 416 555 0100',
          suite: '',
          preferredSpokenLanguage: 'fr-CA',
        },
      })
      expect(await place.store.findMember(partner.id, 'robin')).toEqual(second.request.member)
    })

    test('two partners have a member each under one id', async () => {
      await using place = await open()
      const { partner, intake } = await furnish(place.store)
      const other = await place.store.addPartner('Willow', null, now)
      await intake('robin')
      expect(await place.store.findMember(other.id, 'robin')).toBeNull()
      const answer = await intake('robin', {
        partnerId: other.id,
        member: { ...update, email: 'other@example.com', firstName: 'Other' },
      })
      expect(answer.outcome).toBe('stored')
      const [mine, theirs] = await Promise.all(
        [partner, other].map(({ id }) => place.store.findMember(id, 'robin')),
      )
      expect(mine?.id).not.toBe(theirs?.id)
      expect([mine?.profile.firstName, theirs?.profile.firstName]).toEqual(['Robin', 'Other'])
    })

    test('ids that differ in case or space are different members', async () => {
      await using place = await open()
      const { partner, intake } = await furnish(place.store)
      await intake('robin')
      expect(await place.store.findMember(partner.id, 'ROBIN')).toBeNull()
      expect(await place.store.findMember(partner.id, 'robin ')).toBeNull()
    })

    test('of an instant that a request of the provider touches is slot_taken, and beside it is stored', async () => {
      await using place = await open()
      const { first, second, book } = await furnish(place.store)
      await book('robin', nine)
      for (const distance of [0, 1, 15, 44, -1, -15, -44]) {
        expect(await book('kim', nine + minutes(distance)), `${distance} minutes`).toEqual({
          outcome: 'slot_taken',
        })
      }
      expect((await book('kim', nine, { providerId: second })).outcome).toBe('stored')
      expect((await book('kim', nine + minutes(45))).outcome).toBe('stored')
      expect((await book('kim', nine - minutes(45))).outcome).toBe('stored')
      expect(await takenOf(place.store, first)).toEqual([nine - minutes(45), nine, nine + minutes(45)])
    })

    test('of a slot that is not offered is slot_taken, free or not', async () => {
      await using place = await open()
      const { book } = await furnish(place.store)
      expect(await book('robin', nine, { slotOffered: false })).toEqual({ outcome: 'slot_taken' })
      expect(await book('robin', nine, { slotOffered: false, providerId: 4711 })).toEqual({
        outcome: 'slot_taken',
      })
    })

    test('of exactly the slot that the member holds is slot_already_yours, offered or not', async () => {
      await using place = await open()
      const { partner, intake, book } = await furnish(place.store)
      const other = await place.store.addPartner('Willow', null, now)
      await book('robin', nine)
      expect(await book('robin', nine)).toEqual({ outcome: 'slot_already_yours' })
      expect(await book('robin', nine, { slotOffered: false })).toEqual({ outcome: 'slot_already_yours' })
      expect(await book('robin', nine + minutes(15))).toEqual({ outcome: 'slot_taken' })
      const theirs = { partnerId: other.id, member: { ...update, email: 'theirs@example.com' } }
      expect(await book('robin', nine, theirs)).toEqual({ outcome: 'slot_taken' })
      expect((await intake('robin')).outcome).toBe('stored')
      expect(other.id).not.toBe(partner.id)
    })

    test('with an address of another member is email_taken, whatever its case and whoever the partner', async () => {
      await using place = await open()
      const { intake, book } = await furnish(place.store)
      const other = await place.store.addPartner('Willow', null, now)
      await intake('robin')
      const taken = { member: { ...update, email: 'ROBIN@Example.com' } }
      expect(await intake('kim', taken)).toEqual({ outcome: 'email_taken' })
      expect(await intake('robin', { ...taken, partnerId: other.id })).toEqual({ outcome: 'email_taken' })
      expect(await book('kim', nine, taken)).toEqual({ outcome: 'email_taken' })
      expect((await intake('robin', taken)).outcome).toBe('stored')
    })

    test('with an address that its member has given up is stored', async () => {
      await using place = await open()
      const { intake } = await furnish(place.store)
      await intake('robin')
      await intake('robin', { member: { ...update, email: 'new@example.com' } })
      expect((await intake('kim', { member: update })).outcome).toBe('stored')
      expect(await intake('robin', { member: update })).toEqual({ outcome: 'email_taken' })
    })

    test('for a deactivated member is member_deactivated until they are reactivated', async () => {
      await using place = await open()
      const { partner, intake, book } = await furnish(place.store)
      await intake('robin')
      const member = await place.store.findMember(partner.id, 'robin')
      await place.store.setMemberActive(member?.id as number, false)
      expect(await intake('robin')).toEqual({ outcome: 'member_deactivated' })
      expect(await book('robin', nine)).toEqual({ outcome: 'member_deactivated' })
      await place.store.setMemberActive(member?.id as number, true)
      expect((await book('robin', nine)).outcome).toBe('stored')
    })

    test('tells the deactivated member before the address, and the address before the slot', async () => {
      await using place = await open()
      const { partner, intake, book } = await furnish(place.store)
      await intake('kim')
      await book('robin', nine)
      const kim = { member: { ...update, email: 'kim@example.com' } }
      expect(await book('robin', nine, kim)).toEqual({ outcome: 'email_taken' })
      expect(await book('robin', nine + minutes(15), { ...kim, slotOffered: false })).toEqual({
        outcome: 'email_taken',
      })
      const member = await place.store.findMember(partner.id, 'robin')
      await place.store.setMemberActive(member?.id as number, false)
      expect(await book('robin', nine, kim)).toEqual({ outcome: 'member_deactivated' })
    })

    test('with an outcome other than stored changes nothing', async () => {
      await using place = await open()
      const { store } = place
      const { partner, intake, book } = await furnish(store)
      await intake('kim')
      await book('robin', nine)
      await intake('gone')
      await store.setMemberActive((await store.findMember(partner.id, 'gone'))?.id as number, false)
      const everyone = ['kim', 'robin', 'gone', 'new']
      const before = await shown(store, partner, everyone)
      const told = { ...update, firstName: 'Changed', phoneNumber: '+1 416 555 0199' }
      const outcomes = [
        await book('gone', nine + minutes(90), { member: { ...told, email: 'gone@example.com' } }),
        await book('new', nine + minutes(90), { member: { ...told, email: 'kim@example.com' } }),
        await book('new', nine, { member: { ...told, email: 'new@example.com' } }),
        await book('robin', nine, { member: { ...told, email: 'robin@example.com' } }),
        await book('robin', nine + minutes(90), { slotOffered: false, member: told }),
        await book('robin', nine + minutes(90), { version: 0, member: told }),
      ]
      expect(outcomes.map(({ outcome }) => outcome)).toEqual([
        'member_deactivated',
        'email_taken',
        'slot_taken',
        'slot_already_yours',
        'slot_taken',
        'stale',
      ])
      expect(await shown(store, partner, everyone)).toEqual(before)
    })

    test('that fails in the middle changes nothing, and hurts no other of the same moment', async () => {
      await using place = await open()
      const { store } = place
      const { partner, first, book } = await furnish(store)
      await book('robin', nine, { authorizationNumber: 'AUTH-TWICE' })
      // The number stands already: the member is written before that comes out.
      const answers = await Promise.allSettled([
        book('kim', nine + minutes(45)),
        book('failing', nine + minutes(90), { authorizationNumber: 'AUTH-TWICE' }),
        book('lee', nine + minutes(135)),
      ])
      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(await store.findMember(partner.id, 'failing')).toBeNull()
      expect(await store.findMember(partner.id, 'kim')).not.toBeNull()
      expect(await takenOf(store, first)).toEqual([nine, nine + minutes(45), nine + minutes(135)])
    })

    test('200 times at once for one slot is stored once', async () => {
      await using place = await open()
      const { first, book } = await furnish(place.store)
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => book(`member-${index}`, nine)),
      )
      const outcomes = answers.map(({ outcome }) => outcome).sort()
      expect(outcomes).toEqual([...Array(199).fill('slot_taken'), 'stored'].sort())
      expect(await takenOf(place.store, first)).toEqual([nine])
    })

    test('100 times at once for one new member makes one member', async () => {
      await using place = await open()
      const { intake } = await furnish(place.store)
      const answers = await Promise.all(Array.from({ length: 100 }, () => intake('robin')))
      const stored = answers.flatMap((answer) => (answer.outcome === 'stored' ? [answer.request] : []))
      expect(new Set(stored.map(({ id }) => id)).size).toBe(100)
      expect(new Set(stored.map(({ member }) => member.id)).size).toBe(1)
    })
  })

  describe('a judgement is stale', () => {
    test('once its provider has changed', async () => {
      await using place = await open()
      const { book } = await furnish(place.store)
      const version = await place.store.directoryVersion()
      await place.store.loadDirectory(
        [ontario, quebec],
        [entry('first', { minimumNoticeMinutes: 60 }), entry('second')],
      )
      expect(await book('robin', nine, { version })).toEqual({ outcome: 'stale' })
      expect((await book('robin', nine)).outcome).toBe('stored')
    })

    test('once any region has changed', async () => {
      await using place = await open()
      const { book } = await furnish(place.store)
      const version = await place.store.directoryVersion()
      await place.store.loadDirectory(
        [ontario, { ...quebec, active: false }],
        [entry('first'), entry('second')],
      )
      expect(await book('robin', nine, { version })).toEqual({ outcome: 'stale' })
    })

    test('once it is so old that nobody knows what has changed', async () => {
      await using place = await open()
      const { book } = await furnish(place.store)
      const version = 1
      await place.forgetChanges()
      expect(await book('robin', nine, { version })).toEqual({ outcome: 'stale' })
    })

    test('not through another provider, a booking or a partner', async () => {
      await using place = await open()
      const { organization, book } = await furnish(place.store)
      const version = await place.store.directoryVersion()
      await place.store.loadDirectory(
        [ontario, quebec],
        [entry('first'), entry('second', { minimumNoticeMinutes: 60 })],
      )
      await book('kim', nine)
      await place.store.setOrganizationActive(organization.id, false)
      expect(await place.store.directoryVersion()).toBeGreaterThan(version)
      expect((await book('robin', nine + minutes(45), { version })).outcome).toBe('stored')
      expect(await book('robin', nine, { version })).toEqual({ outcome: 'slot_taken' })
    })

    test('never for an intake, which is judged by none', async () => {
      await using place = await open()
      const { intake } = await furnish(place.store)
      expect((await intake('robin', { version: 0 })).outcome).toBe('stored')
    })
  })

  describe('organizations and partners', () => {
    test('are told back as they were added, active', async () => {
      await using place = await open()
      const organization = await place.store.addOrganization('Harbour', now)
      expect(organization).toEqual({ id: expect.any(Number), name: 'Harbour', active: true })
      const partner = await place.store.addPartner('Harbourlight', organization.id, now)
      expect(partner).toEqual({ id: expect.any(Number), name: 'Harbourlight', active: true, organization })
      const alone = await place.store.addPartner('Alone', null, now)
      expect(alone).toEqual({ id: expect.any(Number), name: 'Alone', active: true, organization: null })
      expect(await place.store.listPartners()).toEqual([partner, alone])
    })

    test('have names that no other has', async () => {
      await using place = await open()
      const { store } = place
      await store.addOrganization('Harbour', now)
      await store.addPartner('Harbour', null, now)
      await expect(store.addOrganization('Harbour', now)).rejects.toThrow(
        new Refusal('name_taken', 'there is an organization of that name'),
      )
      await expect(store.addPartner('Harbour', null, now)).rejects.toThrow(
        new Refusal('name_taken', 'there is a partner of that name'),
      )
      expect(await store.listPartners()).toHaveLength(1)
    })

    test('are deactivated and reactivated', async () => {
      await using place = await open()
      const { store } = place
      const { organization, partner } = await furnish(store)
      await store.setPartnerActive(partner.id, false)
      expect(await store.listPartners()).toEqual([{ ...partner, active: false }])
      await store.setPartnerActive(partner.id, true)
      await store.setOrganizationActive(organization.id, false)
      expect(await store.listPartners()).toEqual([
        { ...partner, organization: { ...organization, active: false } },
      ])
    })

    test('that are not there are record_unknown, and nothing is noted', async () => {
      await using place = await open()
      const { store } = place
      const version = await store.directoryVersion()
      const kindOf = (error: unknown) => (error as Refusal).kind
      expect(await store.setPartnerActive(4711, false).catch(kindOf)).toBe('record_unknown')
      expect(await store.setOrganizationActive(4711, false).catch(kindOf)).toBe('record_unknown')
      expect(await store.setMemberActive(4711, false).catch(kindOf)).toBe('record_unknown')
      expect(await store.directoryVersion()).toBe(version)
    })
  })

  describe('keys', () => {
    const key = (kid: string, issuedAt: number, startsAt = issuedAt) => ({
      kid,
      secret: Buffer.from(`secret of ${kid}`),
      issuedAt,
      startsAt,
    })
    const timesOf = async (store: Store) => {
      const { keys } = await store.readDirectory(null)
      return keys?.map(({ kid, startsAt, endsAt }) => [kid, startsAt, endsAt])
    }

    test('come back whole, with their partner', async () => {
      await using place = await open()
      const { partner } = await furnish(place.store)
      await place.store.addKey(partner.id, key('a', 100))
      const { keys } = await place.store.readDirectory(null)
      expect(
        keys?.map(({ secret, ...rest }) => ({ ...rest, secret: Buffer.from(secret).toString() })),
      ).toEqual([{ kid: 'a', issuedAt: 100, startsAt: 100, endsAt: null, partner, secret: 'secret of a' }])
    })

    test('the one in force ends where its successor starts', async () => {
      await using place = await open()
      const { partner } = await furnish(place.store)
      await place.store.addKey(partner.id, key('a', 100))
      await place.store.addKey(partner.id, key('b', 200, 500))
      expect(await timesOf(place.store)).toEqual([
        ['a', 100, 500],
        ['b', 500, null],
      ])
    })

    test('a successor that still waits is never in force once another takes its place', async () => {
      await using place = await open()
      const { partner } = await furnish(place.store)
      await place.store.addKey(partner.id, key('a', 100))
      await place.store.addKey(partner.id, key('b', 200, 500))
      await place.store.addKey(partner.id, key('c', 300, 900))
      expect(await timesOf(place.store)).toEqual([
        ['a', 100, 900],
        ['b', 500, 500],
        ['c', 900, null],
      ])
      await place.store.addKey(partner.id, key('d', 400, 400))
      expect(await timesOf(place.store)).toEqual([
        ['a', 100, 400],
        ['b', 500, 500],
        ['c', 900, 900],
        ['d', 400, null],
      ])
    })

    test('what has ended keeps its end', async () => {
      await using place = await open()
      const { partner } = await furnish(place.store)
      await place.store.addKey(partner.id, key('a', 100))
      await place.store.addKey(partner.id, key('b', 200))
      await place.store.addKey(partner.id, key('c', 300))
      expect(await timesOf(place.store)).toEqual([
        ['a', 100, 200],
        ['b', 200, 300],
        ['c', 300, null],
      ])
    })

    test('of which at no instant two are in force, and after the first always one, in whatever order', async () => {
      await using place = await open()
      const { partner } = await furnish(place.store)
      const issues: [number, number][] = [
        [100, 100],
        [150, 400],
        [160, 160],
        [170, 900],
        [180, 300],
        [350, 350],
        [350, 350],
        [351, 2000],
      ]
      for (const [index, [issuedAt, startsAt]] of issues.entries()) {
        await place.store.addKey(partner.id, key(`k${index}`, issuedAt, startsAt))
      }
      const { keys } = await place.store.readDirectory(null)
      for (let instant = 100; instant < 2_500; instant++) {
        const inForce = keys?.filter(
          ({ startsAt, endsAt }) => startsAt <= instant && (endsAt === null || instant < endsAt),
        )
        expect(inForce?.length, `at ${instant}`).toBe(1)
      }
    })

    test('of one partner leave another partner alone', async () => {
      await using place = await open()
      const { partner } = await furnish(place.store)
      const other = await place.store.addPartner('Willow', null, now)
      await place.store.addKey(partner.id, key('a', 100))
      await place.store.addKey(other.id, key('b', 200))
      expect(await timesOf(place.store)).toEqual([
        ['a', 100, null],
        ['b', 200, null],
      ])
    })

    test('with an id that stands already are refused, and the one in force goes on', async () => {
      await using place = await open()
      const { partner } = await furnish(place.store)
      await place.store.addKey(partner.id, key('a', 100))
      await expect(place.store.addKey(partner.id, key('a', 200))).rejects.toThrow()
      expect(await timesOf(place.store)).toEqual([['a', 100, null]])
    })
  })

  describe('loading a directory', () => {
    const both = [ontario, quebec]

    test('adds regions and providers', async () => {
      await using place = await open()
      expect(await place.store.loadDirectory(both, [entry('first'), entry('second')])).toEqual({
        added: ['CA-ON', 'CA-QC', 'first', 'second'],
        changed: [],
        deactivated: [],
        unchanged: 0,
      })
      const { regions, providers } = await place.store.readDirectory(null)
      expect(regions).toEqual([
        { ...ontario, id: expect.any(Number) },
        { ...quebec, id: expect.any(Number) },
      ])
      const { licenses: _, inPersonRegions: __, ...profile } = entry('first')
      const regionId = regions?.[0]?.id as number
      const tied = {
        id: expect.any(Number),
        licenses: [{ regionId, from: '2020-01-01', until: null }],
        inPersonRegionIds: [regionId],
      }
      expect(providers).toEqual([
        { ...profile, ...tied },
        { ...profile, ref: 'second', ...tied },
      ])
    })

    test('again changes nothing', async () => {
      await using place = await open()
      await place.store.loadDirectory(both, [entry('first'), entry('second')])
      const before = await place.store.readDirectory(null)
      expect(await place.store.loadDirectory(both, [entry('first'), entry('second')])).toEqual({
        added: [],
        changed: [],
        deactivated: [],
        unchanged: 4,
      })
      expect(await place.store.readDirectory(null)).toEqual(before)
    })

    test('with changes keeps every id and changes what differs', async () => {
      await using place = await open()
      await place.store.loadDirectory(both, [entry('first'), entry('second')])
      const before = await place.store.readDirectory(null)
      const load = await place.store.loadDirectory(
        [{ ...quebec, localName: 'Le Québec' }, ontario],
        [
          entry('second'),
          entry('first', {
            bio: 'New',
            licenses: [
              { region: 'CA-QC', from: '2021-01-01', until: '2027-01-01' },
              { region: 'CA-ON', from: '2020-01-01', until: null },
            ],
            inPersonRegions: ['CA-QC', 'CA-ON'],
          }),
        ],
      )
      expect(load).toEqual({ added: [], changed: ['CA-QC', 'first'], deactivated: [], unchanged: 2 })
      const [on, qc] = before.regions ?? []
      const [first, second] = before.providers
      const after = await place.store.readDirectory(null)
      expect(after.regions).toEqual([on, { ...qc, localName: 'Le Québec' }] as typeof after.regions)
      expect(after.providers).toEqual([
        {
          ...first,
          bio: 'New',
          licenses: [
            { regionId: qc?.id, from: '2021-01-01', until: '2027-01-01' },
            { regionId: on?.id, from: '2020-01-01', until: null },
          ],
          inPersonRegionIds: [on?.id, qc?.id],
        },
        second,
      ] as typeof after.providers)
    })

    test('deactivates what is left out, and brings it back under its old id', async () => {
      await using place = await open()
      const { store } = place
      await store.loadDirectory(both, [entry('first'), entry('second')])
      const before = await store.readDirectory(null)
      expect(await store.loadDirectory([ontario], [entry('first')])).toEqual({
        added: [],
        changed: [],
        deactivated: ['CA-QC', 'second'],
        unchanged: 2,
      })
      const activity = async () => {
        const { regions, providers } = await store.readDirectory(null)
        return [...(regions ?? []), ...providers].map(({ active }) => active)
      }
      expect(await activity()).toEqual([true, false, true, false])
      expect(await store.loadDirectory([ontario], [entry('first')])).toEqual({
        added: [],
        changed: [],
        deactivated: [],
        unchanged: 4,
      })
      await store.loadDirectory(both, [entry('first'), entry('second')])
      const after = await store.readDirectory(null)
      expect({ ...after, version: 0 }).toEqual({ ...before, version: 0 })
    })

    test('takes ids of regions where they are given', async () => {
      await using place = await open()
      await place.store.loadDirectory(
        [
          { ...ontario, id: 900 },
          { ...quebec, id: 35 },
        ],
        [entry('first')],
      )
      const { regions, providers } = await place.store.readDirectory(null)
      expect(regions?.map(({ code, id }) => [code, id])).toEqual([
        ['QC', 35],
        ['ON', 900],
      ])
      expect(providers[0]?.licenses).toEqual([{ regionId: 900, from: '2020-01-01', until: null }])
    })

    test('refuses an id that a region cannot have, and changes nothing', async () => {
      await using place = await open()
      await place.store.loadDirectory([{ ...ontario, id: 900 }], [entry('first')])
      const before = await place.store.readDirectory(null)
      await expect(place.store.loadDirectory([{ ...ontario, id: 901 }], [])).rejects.toThrow(
        new Refusal('directory_invalid', 'regions[0].id: the region has another id already'),
      )
      await expect(place.store.loadDirectory([ontario, { ...quebec, id: 900 }], [])).rejects.toThrow(
        new Refusal('directory_invalid', 'regions[1].id: another region has this id'),
      )
      expect(await place.store.readDirectory(null)).toEqual(before)
    })

    test('never gives a region without an id the id of one that has it', async () => {
      await using place = await open()
      await place.store.loadDirectory([ontario, { ...quebec, id: 1 }], [])
      const { regions } = await place.store.readDirectory(null)
      expect(regions?.map(({ code }) => code).sort()).toEqual(['ON', 'QC'])
      expect(regions?.find(({ code }) => code === 'QC')?.id).toBe(1)
    })

    test('tells what changed of a provider who stays deactivated', async () => {
      await using place = await open()
      await place.store.loadDirectory(both, [entry('first', { active: false })])
      expect(await place.store.loadDirectory(both, [entry('first', { active: false, bio: 'New' })])).toEqual({
        added: [],
        changed: ['first'],
        deactivated: [],
        unchanged: 2,
      })
    })

    test('leaves bookings of a provider who goes in place', async () => {
      await using place = await open()
      const { first, book } = await furnish(place.store)
      await book('robin', nine)
      await place.store.loadDirectory([ontario], [])
      expect(await takenOf(place.store, first)).toEqual([nine])
    })

    test('that fails changes nothing', async () => {
      await using place = await open()
      await place.store.loadDirectory(both, [entry('first')])
      const before = await place.store.readDirectory(null)
      const impossible = entry('second', { licenses: [{ region: 'XX-YY', from: '2020-01-01', until: null }] })
      await expect(
        place.store.loadDirectory(
          [{ ...ontario, localName: 'Other' }],
          [entry('first', { bio: 'New' }), impossible],
        ),
      ).rejects.toThrow()
      expect(await place.store.readDirectory(null)).toEqual(before)
    })
  })

  describe('what has changed since a version', () => {
    const nothing = { keys: null, regions: null, providers: [], taken: new Map() }

    test('is nothing where nothing has', async () => {
      await using place = await open()
      await furnish(place.store)
      const version = await place.store.directoryVersion()
      expect(await place.store.readDirectory(version)).toEqual({ version, ...nothing })
    })

    test('is told of each kind alone', async () => {
      await using place = await open()
      const { store } = place
      const { partner, first, second, book } = await furnish(store)
      const since = async (change: () => Promise<unknown>) => {
        const version = await store.directoryVersion()
        await change()
        const { version: reached, ...changes } = await store.readDirectory(version)
        expect(reached).toBe(await store.directoryVersion())
        expect(reached).toBeGreaterThan(version)
        return changes
      }
      const all = () => store.readDirectory(null)

      const booked = await since(() => book('robin', nine))
      expect(booked).toEqual({ ...nothing, taken: new Map([[first, (await all()).taken.get(first) ?? []]]) })

      const deactivated = await since(() => store.setPartnerActive(partner.id, false))
      expect(deactivated).toEqual({ ...nothing, keys: (await all()).keys })

      const bio = await since(() =>
        store.loadDirectory([ontario, quebec], [entry('first'), entry('second', { bio: 'New' })]),
      )
      const provider = (await all()).providers.filter(({ id }) => id === second)
      expect(provider[0]?.bio).toBe('New')
      expect(bio).toEqual({ ...nothing, providers: provider })

      const renamed = await since(() =>
        store.loadDirectory(
          [ontario, { ...quebec, localName: 'Le Québec' }],
          [entry('first'), entry('second', { bio: 'New' })],
        ),
      )
      expect(renamed).toEqual({ ...nothing, regions: (await all()).regions })
    })

    test('has each provider once, however often it changed', async () => {
      await using place = await open()
      const { store } = place
      const { first, book } = await furnish(store)
      const version = await store.directoryVersion()
      for (const bio of ['one', 'two', 'three']) {
        await store.loadDirectory([ontario, quebec], [entry('first', { bio }), entry('second')])
      }
      await book('robin', nine)
      await book('kim', nine + minutes(45))
      const { providers, taken } = await store.readDirectory(version)
      expect(providers.map(({ id, bio }) => [id, bio])).toEqual([[first, 'three']])
      expect([...taken].map(([id, slots]) => [id, slots.length])).toEqual([[first, 2]])
    })

    test('is everything where some of the changes are no longer known', async () => {
      await using place = await open()
      const { store } = place
      const { book } = await furnish(store)
      await book('robin', nine)
      await place.forgetChanges()
      const everything = await store.readDirectory(null)
      expect(everything.providers).toHaveLength(2)
      expect(await store.readDirectory(1)).toEqual(everything)
      expect(await store.readDirectory(everything.version - 2)).toEqual(everything)
      // The version right before the oldest change that is kept misses nothing.
      const { providers, taken } = await store.readDirectory(everything.version - 1)
      expect([providers.length, taken.size]).toEqual([0, 1])
    })

    test('has a version that grows with every change and with nothing else', async () => {
      await using place = await open()
      const { store } = place
      const { intake, book } = await furnish(store)
      const version = await store.directoryVersion()
      await intake('robin')
      await book('robin', nine, { slotOffered: false })
      await store.readDirectory(null)
      expect(await store.directoryVersion()).toBe(version)
      await book('robin', nine)
      expect(await store.directoryVersion()).toBeGreaterThan(version)
    })
  })

  describe('two connections', () => {
    test('see what the other has committed, at once', async () => {
      await using place = await open()
      const { partner, first, book } = await furnish(place.store)
      const other = await place.openAgain()
      const version = await other.directoryVersion()
      expect(version).toBe(await place.store.directoryVersion())
      await book('robin', nine)
      expect(await other.directoryVersion()).toBeGreaterThan(version)
      expect([...(await other.readDirectory(version)).taken.keys()]).toEqual([first])
      expect(await other.findMember(partner.id, 'robin')).toEqual(
        await place.store.findMember(partner.id, 'robin'),
      )
      await other.setPartnerActive(partner.id, false)
      expect((await place.store.listPartners())[0]?.active).toBe(false)
    })

    test('cannot both take one slot, nor one address', async () => {
      await using place = await open()
      const { partner, first, book, intake } = await furnish(place.store)
      const other = await place.openAgain()
      const version = await other.directoryVersion()
      await book('robin', nine)
      const theirs = {
        partnerId: partner.id,
        externalUserId: 'kim',
        member: { ...update, email: 'kim@example.com' },
        slot: { providerId: first, startsAt: nine },
        slotOffered: true,
        localOffsetMinutes: 0,
        authorizationNumber: 'AUTH-OTHER',
        screeningAnswers: [],
        submittedAt: now,
        version,
      }
      expect(await other.submit(theirs)).toEqual({ outcome: 'slot_taken' })
      await intake('lee')
      expect(await other.submit({ ...theirs, member: { ...update, email: 'LEE@example.com' } })).toEqual({
        outcome: 'email_taken',
      })
    })
  })

  describe('closing', () => {
    test('leaves everything there for the next who opens', async () => {
      await using place = await open()
      const { partner, book } = await furnish(place.store)
      await book('robin', nine)
      const member = await place.store.findMember(partner.id, 'robin')
      const before = await place.store.readDirectory(null)
      await place.store.close()
      const again = await place.openAgain()
      expect(member).not.toBeNull()
      expect(await again.findMember(partner.id, 'robin')).toEqual(member)
      expect(await again.readDirectory(null)).toEqual(before)
    })

    test('refuses or stores what is under way, and tells truly which', async () => {
      await using place = await open()
      const { partner, intake } = await furnish(place.store)
      const version = await place.store.directoryVersion()
      const answers = ['a', 'b', 'c'].map((id) =>
        intake(id, { version }).then(
          () => true,
          () => false,
        ),
      )
      await place.store.close()
      const stored = await Promise.all(answers)
      const again = await place.openAgain()
      const found = await Promise.all(['a', 'b', 'c'].map((id) => again.findMember(partner.id, id)))
      expect(found.map((member) => member !== null)).toEqual(stored)
    })

    test('twice does no harm, and what comes after is refused', async () => {
      await using place = await open()
      const { intake } = await furnish(place.store)
      await place.store.close()
      await place.store.close()
      await expect(intake('robin', { version: 0 })).rejects.toThrow()
    })
  })
}
