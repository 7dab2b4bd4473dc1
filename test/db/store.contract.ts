import { describe, expect, test } from 'bun:test'
import { slotMillis } from '../../src/domain/booking-request'
import { noRates, unlimited } from '../../src/domain/limits'
import type { Partner } from '../../src/domain/partner'
import type { DirectoryChanges, Version } from '../../src/domain/ports/directory-feed'
import { absencesOf, defaultStaffFields, type Provider } from '../../src/domain/provider'
import { formatDate, parseDate } from '../../src/scheduling/calendar'
import { nextTurn } from '../support/turns'
import {
  act,
  actAt,
  type Connection,
  changesAfter,
  compare,
  draftOf,
  endOf,
  entry,
  everything,
  fill,
  fillWithIntake,
  load,
  minutes,
  nine,
  now,
  ontario,
  type Place,
  quebec,
  stored,
  takenOf,
  unsetProfile,
  update,
  versionOf,
  wholeDirectory,
} from './furniture'

/** The rows that a refused submission could have changed. */
async function shown(place: Connection, partner: Partner, externalUserIds: readonly string[]) {
  const members = await Promise.all(externalUserIds.map((id) => place.store.findMember(partner.id, id)))
  const requests = await place.store.listRequests({})
  return { members, requests, directory: await wholeDirectory(place), head: await place.store.auditHead() }
}

const key = (kid: string, startsAt: number) => ({ kid, secret: Buffer.from(`secret of ${kid}`), startsAt })

/** Contract: tests of the store that every engine must pass. */
export function storeContract(open: () => Promise<Place>): void {
  describe('submitting requests', () => {
    test('an intake creates its member and is unassigned', async () => {
      await using place = await open()
      const { partner, intake } = await fill(place)
      const member = {
        id: expect.any(Number),
        partnerId: partner.id,
        externalUserId: 'robin',
        active: true,
        profile: { ...unsetProfile, ...update },
      }
      expect(await stored(intake('robin'))).toEqual({
        id: expect.any(Number),
        state: 'unassigned',
        providerId: null,
        authorizationNumber: null,
        startsAt: null,
        acceptedAt: null,
        declinedAt: null,
        member,
      })
      expect(await place.store.findMember(partner.id, 'robin')).toEqual(member)
    })

    test('a booking is pending and takes its slot', async () => {
      await using place = await open()
      const { partner, first, second, book } = await fill(place)
      const request = await stored(
        book('robin', nine, { authorizationNumber: 'AUTH-ROBIN', localOffsetMinutes: -300 }),
      )
      expect(request).toEqual({
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
          profile: { ...unsetProfile, ...update },
        },
      })
      const slot = {
        requestId: request.id,
        startsAt: nine,
        endsAt: nine + slotMillis,
        localOffsetMinutes: -300,
      }
      expect([...(await everything(place)).taken]).toEqual([
        [first, [slot]],
        [second, []],
      ])
    })

    test('a second submission with the same external id updates the member and adds a request', async () => {
      await using place = await open()
      const { partner, intake, book } = await fill(place)
      const first = await stored(
        intake('robin', {
          member: { ...update, phoneNumber: '+1 416 555 0100', suite: '5', preferredSpokenLanguage: 'fr-CA' },
        }),
      )
      const second = await stored(
        book('robin', nine, {
          member: { ...update, email: 'ROBIN@new.example.com', firstName: 'Robyn', suite: '' },
        }),
      )
      expect(second.id).not.toBe(first.id)
      expect(second.member).toEqual({
        ...first.member,
        profile: {
          ...unsetProfile,
          ...update,
          email: 'ROBIN@new.example.com',
          firstName: 'Robyn',
          phoneNumber: '+1 416 555 0100',
          suite: '',
          preferredSpokenLanguage: 'fr-CA',
        },
      })
      expect(await place.store.findMember(partner.id, 'robin')).toEqual(second.member)
    })

    test('one external id at two partners belongs to two members', async () => {
      await using place = await open()
      const { partner, intake } = await fill(place)
      const other = await place.store.addPartner('Willow', null, act)
      await intake('robin')
      expect(await place.store.findMember(other.id, 'robin')).toBeNull()
      await stored(
        intake('robin', {
          partnerId: other.id,
          member: { ...update, email: 'other@example.com', firstName: 'Other' },
        }),
      )
      const [mine, theirs] = await Promise.all(
        [partner, other].map(({ id }) => place.store.findMember(id, 'robin')),
      )
      expect(mine?.id).not.toBe(theirs?.id)
      expect([mine?.profile.firstName, theirs?.profile.firstName]).toEqual(['Robin', 'Other'])
    })

    test('external ids that differ in case or whitespace belong to different members', async () => {
      await using place = await open()
      const { partner, intake } = await fill(place)
      await intake('robin')
      expect(await place.store.findMember(partner.id, 'ROBIN')).toBeNull()
      expect(await place.store.findMember(partner.id, 'robin ')).toBeNull()
    })

    test('a booking next to a taken slot is stored, and an overlapping booking is slot_unavailable', async () => {
      await using place = await open()
      const { first, second, book } = await fill(place)
      await book('robin', nine)
      for (const distance of [0, 1, 15, 44, -1, -15, -44]) {
        expect(await endOf(book('kim', nine + minutes(distance))), `${distance} minutes`).toBe(
          'slot_unavailable',
        )
      }
      expect(await endOf(book('kim', nine, { providerId: second }))).toBe('stored')
      expect(await endOf(book('kim', nine + minutes(45)))).toBe('stored')
      expect(await endOf(book('kim', nine - minutes(45)))).toBe('stored')
      expect(await takenOf(place, first)).toEqual([nine - minutes(45), nine, nine + minutes(45)])
    })

    test('a submission with the email address of another member is email_taken, even at another partner', async () => {
      await using place = await open()
      const { intake, book } = await fill(place)
      const other = await place.store.addPartner('Willow', null, act)
      await intake('robin')
      const taken = { member: { ...update, email: 'ROBIN@Example.com' } }
      expect(await endOf(intake('kim', taken))).toBe('email_taken')
      expect(await endOf(intake('robin', { ...taken, partnerId: other.id }))).toBe('email_taken')
      expect(await endOf(book('kim', nine, taken))).toBe('email_taken')
      expect(await endOf(intake('robin', taken))).toBe('stored')
      expect(await endOf(intake('kim', { member: update }))).toBe('email_taken')
      await intake('lee', { member: { ...update, email: 'Lee@Example.com' } })
      expect(await endOf(intake('kim', { member: { ...update, email: 'lee@example.com' } }))).toBe(
        'email_taken',
      )
    })

    test('a refused or stale submission changes nothing', async () => {
      await using place = await open()
      const { store } = place
      const { partner, first, intake, book } = await fill(place)
      await intake('kim')
      await book('robin', nine)
      const gone = await stored(intake('gone'))
      await store.setMemberActive(gone.member.id, false, act)
      const version = await versionOf(place)
      await store.setProviderActive(first, true, act)
      const everyone = ['kim', 'robin', 'gone', 'new']
      const before = await shown(place, partner, everyone)
      const changed = { ...update, firstName: 'Changed', phoneNumber: '+1 416 555 0199' }
      const ends = [
        await endOf(book('gone', nine + minutes(90), { member: { ...changed, email: 'gone@example.com' } })),
        await endOf(book('new', nine + minutes(90), { member: { ...changed, email: 'kim@example.com' } })),
        await endOf(book('new', nine, { member: { ...changed, email: 'new@example.com' } })),
        await endOf(book('robin', nine, { member: { ...changed, email: 'robin@example.com' } })),
        await endOf(book('robin', nine + minutes(90), { slotState: 'not offered', member: changed })),
        await endOf(book('robin', nine + minutes(90), { slotState: 'provider unknown', member: changed })),
        await endOf(book('robin', nine + minutes(90), { version, member: changed })),
      ]
      expect(ends).toEqual([
        'member_deactivated',
        'email_taken',
        'slot_unavailable',
        'slot_already_yours',
        'slot_unavailable',
        'provider_unknown',
        'stale',
      ])
      const { head: _, ...after } = await shown(place, partner, everyone)
      expect({ ...after, head: before.head }).toEqual(before)
      const noted = (await store.listAudit(1_000)).filter(({ id }) => id > before.head.id)
      expect(noted.map(({ actor, at, action, outcome }) => [actor, at, action, outcome])).toEqual([
        [`partner ${partner.id}`, now, 'member.email-conflict', 'email_taken'],
      ])
    })

    test('a booking that overlaps any other slot of the member is slot_conflicts_with_yours', async () => {
      await using place = await open()
      const { store } = place
      const { partner, second, intake, book } = await fill(place)
      const { id } = await stored(book('robin', nine))
      for (const distance of [0, 1, 44, -1, -44]) {
        const overlapping = book('robin', nine + minutes(distance), { providerId: second })
        expect(await endOf(overlapping), `${distance} minutes`).toBe('slot_conflicts_with_yours')
      }
      expect(await endOf(book('kim', nine, { providerId: second }))).toBe('stored')
      expect(await endOf(intake('robin'))).toBe('stored')
      for (const distance of [45, -45]) {
        expect(await endOf(book('robin', nine + minutes(distance), { providerId: second }))).toBe('stored')
      }
      const other = await store.addPartner('Willow', null, act)
      const namesake = { partnerId: other.id, member: { ...update, email: 'theirs@example.com' } }
      expect(await endOf(book('robin', nine + minutes(90), namesake))).toBe('stored')
      await store.decline(id, act)
      const { member } = await stored(book('robin', nine))
      expect(member).toEqual((await store.findMember(partner.id, 'robin')) as typeof member)
    })

    test('a member at the limit of open requests gets too_many_open_requests', async () => {
      await using place = await open()
      const { store } = place
      const { first, second, intake, book, assign } = await fillWithIntake(place)
      const limits = { ...unlimited, openRequests: 3 }
      const slots = [0, 1, 2, 3, 4].map((index) => nine + index * minutes(45)) as [number, ...number[]]
      const limited = (startsAt: number, different = {}) => book('robin', startsAt, { limits, ...different })
      expect(await endOf(limited(slots[0]))).toBe('stored')
      await assign(second, slots[1] as number)
      const { id } = await stored(limited(slots[2] as number) as ReturnType<typeof book>)
      await store.accept(id, act)
      expect(await endOf(limited(slots[3] as number))).toBe('too_many_open_requests')
      const waiting = await stored(intake('robin', { limits }))
      await store.close(waiting.id, act)
      expect(await endOf(book('kim', slots[3] as number, { limits }))).toBe('stored')
      expect(await endOf(limited(slots[4] as number, { submittedAt: nine }))).toBe('stored')
      await store.decline(id, act)
      expect(await endOf(limited(slots[2] as number))).toBe('too_many_open_requests')
      expect(await endOf(limited(slots[2] as number, { submittedAt: nine }))).toBe('stored')
      expect(await takenOf(place, first)).toEqual([0, 2, 3, 4].map((index) => slots[index] as number))
    })

    test('beyond the limit of email conflicts, new addresses get email_conflicts_limited for an hour', async () => {
      await using place = await open()
      const { store } = place
      const { partner, intake } = await fill(place)
      const other = await store.addPartner('Willow', null, act)
      const robin = await stored(intake('robin'))
      await intake('kim')
      const limits = { ...unlimited, emailConflicts: 2 }
      const send = (name: string, email: string, at: number, partnerId = partner.id) =>
        endOf(intake(name, { partnerId, limits, submittedAt: at, member: { ...update, email } }))
      expect(await send('new', 'ROBIN@example.com', now)).toBe('email_taken')
      expect(await send('kim', 'robin@example.com', now + minutes(20))).toBe('email_taken')
      const conflicts = { record: `member ${robin.member.id}`, actions: ['member.email-conflict'] as const }
      const lines = await store.listAudit(1_000, conflicts)
      expect(lines.map(({ actor, at, action, outcome }) => [actor, at, action, outcome])).toEqual([
        [`partner ${partner.id}`, now, 'member.email-conflict', 'email_taken'],
        [`partner ${partner.id}`, now + minutes(20), 'member.email-conflict', 'email_taken'],
      ])
      const ends: string[] = []
      for (const [name, email] of [
        ['new', 'robin@example.com'],
        ['new', 'free@example.com'],
        ['kim', 'robin@example.com'],
        ['kim', 'free@example.com'],
        ['kim', 'KIM@example.com'],
      ] as const) {
        ends.push(await send(name, email, now + minutes(59)))
      }
      expect(ends).toEqual([...Array(4).fill('email_conflicts_limited'), 'stored'])
      expect(await store.listAudit(1_000, conflicts)).toEqual(lines)
      expect(await store.findMember(partner.id, 'new')).toBeNull()
      expect(await send('new', 'robin@example.com', now, other.id)).toBe('email_taken')
      expect(await send('new', 'free@example.com', now + minutes(60))).toBe('stored')
      expect(await send('kim', 'robin@example.com', now + minutes(60))).toBe('email_taken')
      expect(await send('kim', 'robin@example.com', now + minutes(60))).toBe('email_conflicts_limited')
    })

    test('of 50 concurrent email conflicts, only as many as the limit are logged', async () => {
      await using place = await open()
      const { intake } = await fill(place)
      const robin = await stored(intake('robin'))
      const [limits, version] = [{ ...unlimited, emailConflicts: 5 }, await versionOf(place)]
      const ends = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          endOf(intake(`m-${index}`, { limits, version, member: update })),
        ),
      )
      const [limited, taken] = [Array(45).fill('email_conflicts_limited'), Array(5).fill('email_taken')]
      expect(ends.toSorted()).toEqual([...limited, ...taken])
      const conflicts = { record: `member ${robin.member.id}`, actions: ['member.email-conflict'] as const }
      expect(await place.store.listAudit(1_000, conflicts)).toHaveLength(5)
    })

    test('a submission that fails halfway changes nothing and does not affect concurrent submissions', async () => {
      await using place = await open()
      const { store } = place
      const { partner, first, book } = await fill(place)
      await book('robin', nine, { authorizationNumber: 'AUTH-TWICE' })
      const submissions = [
        book('kim', nine + minutes(45)),
        book('failing', nine + minutes(90), { authorizationNumber: 'AUTH-TWICE' }),
        book('lee', nine + minutes(135)),
      ]
      expect(await Promise.all(submissions.map(endOf))).toEqual(['stored', 'slot_unavailable', 'stored'])
      expect(await store.findMember(partner.id, 'failing')).toBeNull()
      expect(await store.findMember(partner.id, 'kim')).not.toBeNull()
      expect(await takenOf(place, first)).toEqual([nine, nine + minutes(45), nine + minutes(135)])
    })

    test('two concurrent submissions of a new member store one member, with the later profile', async () => {
      await using place = await open()
      const { partner, intake } = await fill(place)
      const version = await versionOf(place)
      const [first, second] = await Promise.all([
        stored(intake('robin', { version })),
        stored(intake('robin', { version, member: { ...update, city: 'Sudbury' } })),
      ])
      expect(second.member).toEqual({
        ...first.member,
        profile: { ...first.member.profile, city: 'Sudbury' },
      })
      expect(await place.store.findMember(partner.id, 'robin')).toEqual(second.member)
    })

    test('of 200 concurrent bookings of the same slot exactly one is stored', async () => {
      await using place = await open()
      const { first, book } = await fill(place)
      const version = await versionOf(place)
      const ends = await Promise.all(
        Array.from({ length: 200 }, (_, index) => endOf(book(`member-${index}`, nine, { version }))),
      )
      expect(ends.sort()).toEqual([...Array(199).fill('slot_unavailable'), 'stored'])
      expect(await takenOf(place, first)).toEqual([nine])
    })

    test('of 20 concurrent bookings by one member, only as many as the limit are stored', async () => {
      await using place = await open()
      const { book } = await fill(place)
      const [version, limits] = [await versionOf(place), { ...unlimited, openRequests: 7 }]
      const slots = Array.from({ length: 20 }, (_, index) => nine + minutes(45 * index))
      const ends = await Promise.all(slots.map((slot) => endOf(book('robin', slot, { version, limits }))))
      expect(ends.sort()).toEqual([...Array(7).fill('stored'), ...Array(13).fill('too_many_open_requests')])
    })

    test('concurrent submissions can move an email address from one member to another', async () => {
      await using place = await open()
      const { partner, intake } = await fill(place)
      const version = await versionOf(place)
      const withEmail = (email: string) => ({ version, member: { ...update, email } })
      await intake('robin', withEmail('old@example.com'))
      await Promise.all([
        intake('robin', withEmail('new@example.com')),
        intake('kim', withEmail('old@example.com')).catch(() => {}),
        intake('robin', {
          ...withEmail('new@example.com'),
          member: { ...withEmail('new@example.com').member, city: 'Ajax' },
        }),
      ])
      await intake('kim', withEmail('old@example.com'))
      const robin = await place.store.findMember(partner.id, 'robin')
      const kim = await place.store.findMember(partner.id, 'kim')
      expect([robin?.profile.email, robin?.profile.city]).toEqual(['new@example.com', 'Ajax'])
      expect(kim?.profile.email).toBe('old@example.com')
    })
  })

  describe('taken slots between two instants', () => {
    test('slots of all providers that start in the range are listed in order of time', async () => {
      await using place = await open()
      const { store } = place
      const { first, second, book, intake, assign, id } = await fillWithIntake(place)
      const late = await stored(book('late', nine + minutes(90)))
      const early = await stored(book('early', nine))
      const other = await stored(book('other', nine + minutes(45), { providerId: second }))
      const declined = await stored(book('declined', nine + minutes(180)))
      await store.decline(declined.id, act)
      await store.accept(late.id, act)
      await assign(second, nine + minutes(135))
      await stored(intake('waiting'))
      const head = await store.auditHead()
      const heldOf = async (from: number, until: number) =>
        (await store.listSlotsBetween(from, until)).map(({ requestId }) => requestId)
      expect(await heldOf(nine, nine + minutes(24 * 60))).toEqual([early.id, other.id, late.id, id])
      expect(await heldOf(nine + 1, nine + minutes(45))).toEqual([])
      expect(await heldOf(nine + 1, nine + minutes(90))).toEqual([other.id])
      expect(await heldOf(nine + minutes(45), nine + minutes(91))).toEqual([other.id, late.id])
      expect(await heldOf(nine + 1, Number.MAX_SAFE_INTEGER)).toEqual([other.id, late.id, id])
      const slot = { requestId: early.id, providerId: first, startsAt: nine, endsAt: nine + minutes(45) }
      expect(await store.listSlotsBetween(nine, nine + 1)).toEqual([
        { ...slot, memberId: early.member.id, localOffsetMinutes: expect.any(Number) },
      ])
      expect(await store.auditHead()).toEqual(head)
      await store.eraseMember(early.member.id, act)
      const [erased] = await store.listSlotsBetween(nine, nine + 1)
      expect([erased?.requestId, erased?.memberId]).toEqual([early.id, null])
    })
  })

  test('a provider is found by ref, and each time zone of the providers is listed once', async () => {
    await using place = await open()
    const { first, second } = await fill(place)
    const { store } = place
    const { providers } = await store.read(({ directory }) => directory.findProviders([first, second]))
    const ids = await Promise.all(providers.map(({ ref }) => store.findProviderId(ref)))
    expect(ids).toEqual([first, second])
    expect(await store.findProviderId('nobody')).toBeNull()
    const names = await store.listProviderNames()
    expect(names.toSorted((a, b) => a.id - b.id)).toEqual(
      providers.map(({ id, ref, firstName, lastName }) => ({ id, ref, firstName, lastName })),
    )
    const zones = providers.map(({ timeZone }) => timeZone)
    expect((await store.listTimeZones()).sort()).toEqual([...new Set(zones)].sort())
  })

  describe('decisions on an outdated directory', () => {
    test('a decision is stale if its provider has changed', async () => {
      await using place = await open()
      const { book } = await fill(place)
      const version = await versionOf(place)
      await load(place, [ontario, quebec], [entry('first', { minimumNoticeMinutes: 60 }), entry('second')])
      expect(await endOf(book('robin', nine, { version }))).toBe('stale')
      expect(await endOf(book('robin', nine))).toBe('stored')
    })

    test('a stale decision does not affect a concurrent decision on the new version', async () => {
      await using place = await open()
      const { book, second: providerId } = await fill(place)
      const before = await versionOf(place)
      const changed = { minimumNoticeMinutes: 60 }
      await load(place, [ontario, quebec], [entry('first', changed), entry('second')])
      await load(place, [ontario, quebec], [entry('first', changed), entry('second', changed)])
      const version = await versionOf(place)
      const ends = await Promise.all([
        endOf(book('robin', nine, { version: before })),
        endOf(book('sam', nine, { version, providerId })),
      ])
      expect(ends).toEqual(['stale', 'stored'])
    })

    test('a decision is stale if its version is older than the recorded changes', async () => {
      await using place = await open()
      const { book } = await fill(place)
      const version = await versionOf(place)
      for (const step of [45, 90]) await book('kim', nine + minutes(step))
      expect(await endOf(book('lee', nine + minutes(135), { version }))).toBe('stored')
      await place.forgetChanges()
      expect(await endOf(book('robin', nine, { version }))).toBe('stale')
    })

    test('a decision is not stale if another provider changed or a slot was booked', async () => {
      await using place = await open()
      const { book } = await fill(place)
      const version = await versionOf(place)
      await load(place, [ontario, quebec], [entry('first'), entry('second', { minimumNoticeMinutes: 60 })])
      await book('kim', nine)
      expect(await place.feed.changesSince(version, 0)).not.toBeNull()
      expect(await endOf(book('robin', nine + minutes(45), { version }))).toBe('stored')
      expect(await endOf(book('robin', nine, { version }))).toBe('slot_unavailable')
    })

    test('every decision is stale after a partner, organization or key changed', async () => {
      await using place = await open()
      const { organization, partner, intake, book } = await fill(place)
      for (const change of [
        () => place.store.setPartnerActive(partner.id, true, act),
        () => place.store.setOrganizationActive(organization.id, true, act),
        () => place.store.issueKey(partner.id, { kid: 'a', secret: Buffer.alloc(32), startsAt: now }, act),
        () => place.store.revokeKeys(partner.id, act),
      ]) {
        const version = await versionOf(place)
        await change()
        expect(await endOf(intake('robin', { version }))).toBe('stale')
        expect(await endOf(book('robin', nine, { version }))).toBe('stale')
      }
      expect(await endOf(intake('robin'))).toBe('stored')
    })
  })

  describe('organizations and partners', () => {
    test('new organizations and partners are returned as added, and active', async () => {
      await using place = await open()
      const { store } = place
      const usual = { ...noRates, networks: null }
      const organization = await store.addOrganization('Harbour', act)
      expect(organization).toEqual({ id: expect.any(Number), name: 'Harbour', active: true })
      const partner = await store.addPartner('Harbourlight', organization.id, act)
      expect(partner).toEqual({
        id: expect.any(Number),
        name: 'Harbourlight',
        active: true,
        ...usual,
        organization,
      })
      const alone = await store.addPartner('Alone', null, act)
      expect(alone).toEqual({
        id: expect.any(Number),
        name: 'Alone',
        active: true,
        ...usual,
        organization: null,
      })
      const second = await store.addOrganization('Anchorage', act)
      expect(await store.listOrganizations()).toEqual([organization, second])
      expect(await store.listPartners()).toEqual([partner, alone])
    })

    test('of six partners added at once with the same name, one is stored and five are name_taken', async () => {
      await using place = await open()
      const { store } = place
      const ends = await Promise.all(
        Array.from({ length: 6 }, () => endOf(store.addPartner('One', null, act))),
      )
      expect(ends.sort()).toEqual([...Array(5).fill('name_taken'), 'stored'])
    })

    test('partners and organizations can be deactivated and reactivated', async () => {
      await using place = await open()
      const { store } = place
      const { organization, partner } = await fill(place)
      await store.setPartnerActive(partner.id, false, act)
      expect(await store.listPartners()).toEqual([{ ...partner, active: false }])
      await store.setPartnerActive(partner.id, true, act)
      await store.setOrganizationActive(organization.id, false, act)
      expect(await store.listPartners()).toEqual([
        { ...partner, organization: { ...organization, active: false } },
      ])
    })
  })

  describe('keys in the directory', () => {
    const timesOf = async (place: Connection) => {
      const { keys } = await everything(place)
      return keys?.map(({ kid, startsAt, endsAt }) => [kid, startsAt, endsAt])
    }

    test('the directory has each key with its secret and partner', async () => {
      await using place = await open()
      const { partner } = await fill(place)
      await place.store.issueKey(partner.id, key('a', 100), actAt(90))
      const { keys } = await everything(place)
      expect(
        keys?.map(({ secret, ...rest }) => ({ ...rest, secret: Buffer.from(secret).toString() })),
      ).toEqual([{ kid: 'a', issuedAt: 90, startsAt: 100, endsAt: null, partner, secret: 'secret of a' }])
    })

    test('issuing a key for one partner does not change the key of another partner', async () => {
      await using place = await open()
      const { partner } = await fill(place)
      const other = await place.store.addPartner('Willow', null, act)
      await place.store.issueKey(partner.id, key('a', 100), actAt(100))
      await place.store.issueKey(other.id, key('b', 200), actAt(200))
      expect(await timesOf(place)).toEqual([
        ['a', 100, null],
        ['b', 200, null],
      ])
    })

    test('a rotation to an existing kid is refused, and the current key stays', async () => {
      await using place = await open()
      const { partner } = await fill(place)
      await place.store.issueKey(partner.id, key('a', 100), actAt(100))
      expect(await endOf(place.store.rotateKey(partner.id, key('a', 200), actAt(200)))).not.toBe('stored')
      expect(await timesOf(place)).toEqual([['a', 100, null]])
    })

    test('a key is issued only if the partner has no current or future key', async () => {
      await using place = await open()
      const { store } = place
      const { partner } = await fill(place)
      const ends = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          endOf(store.issueKey(partner.id, key(`k${index}`, 100), actAt(100))),
        ),
      )
      expect(ends.sort()).toEqual(['stored', ...Array(5).fill('token_exists')])
      expect(await timesOf(place)).toEqual([['k0', 100, null]])
      await store.revokeKeys(partner.id, actAt(200))
      await store.issueKey(partner.id, key('waiting', 900), actAt(300))
      expect(await endOf(store.issueKey(partner.id, key('other', 300), actAt(300)))).toBe('token_exists')
    })
  })

  describe('loading a directory', () => {
    const both = [ontario, quebec]

    test('a load adds regions and providers', async () => {
      await using place = await open()
      expect(await load(place, both, [entry('first'), entry('second')])).toEqual({
        added: ['CA-ON', 'CA-QC', 'first', 'second'],
        changed: [],
        deactivated: [],
        unchanged: 0,
      })
      const { regions, providers } = await everything(place)
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
        ...defaultStaffFields,
      }
      expect(providers).toEqual([
        { ...profile, ...tied },
        { ...profile, ref: 'second', ...tied },
      ])
    })

    test('a load updates changed records and keeps every id', async () => {
      await using place = await open()
      await load(place, both, [entry('first'), entry('second')])
      const before = await everything(place)
      const changed = await load(
        place,
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
      expect(changed).toEqual({ added: [], changed: ['CA-QC', 'first'], deactivated: [], unchanged: 2 })
      const [on, qc] = before.regions ?? []
      const [first, second] = before.providers
      const after = await everything(place)
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

    test('a load removes a bio, license or location that is missing in the file', async () => {
      await using place = await open()
      await load(place, both, [entry('first', { bio: 'Old' })])
      await load(place, both, [entry('first', { licenses: [], inPersonRegions: [], timeOff: [] })])
      const [provider] = (await everything(place)).providers
      expect(provider).toMatchObject({ bio: null, licenses: [], inPersonRegionIds: [], timeOff: [] })
    })

    test('a load uses the region ids in the file', async () => {
      await using place = await open()
      const given = [
        { ...ontario, id: 900 },
        { ...quebec, id: 35 },
      ]
      await load(place, given, [entry('first')])
      const { regions, providers } = await everything(place)
      expect(regions?.map(({ code, id }) => [code, id])).toEqual([
        ['QC', 35],
        ['ON', 900],
      ])
      expect(providers[0]?.licenses).toEqual([{ regionId: 900, from: '2020-01-01', until: null }])
    })

    test('a region without an id never gets the id of another region', async () => {
      await using place = await open()
      await load(place, [ontario, { ...quebec, id: 1 }], [])
      const { regions } = await everything(place)
      expect(regions?.map(({ code }) => code).sort()).toEqual(['ON', 'QC'])
      expect(regions?.find(({ code }) => code === 'QC')?.id).toBe(1)
    })

    test('if two loads were compared with the same version, the second load is directory_changed', async () => {
      await using place = await open()
      const { store } = place
      await load(place, both, [entry('first')])
      const [mine, theirs] = [
        await compare(place, both, [entry('first', { bio: 'Mine' })]),
        await compare(place, both, [entry('first', { firstName: 'Theirs' })]),
      ]
      const ends = await Promise.all([mine, theirs].map((one) => endOf(store.loadDirectory(one, act))))
      expect(ends).toEqual(['stored', 'directory_changed'])
      const [provider] = (await everything(place)).providers
      expect(provider).toMatchObject({ bio: 'Mine', firstName: 'Marlow' })
      const lines = (await store.listAudit(100)).filter(({ action }) => action === 'directory.load')
      expect(lines).toHaveLength(2)
    })

    test('a load is directory_changed only after a provider or region has changed', async () => {
      await using place = await open()
      const { store } = place
      const { partner, first, book } = await fill(place)
      const described = [entry('first', { bio: 'New' }), entry('second')]
      const changed = await compare(place, both, described)
      await store.addTimeOff(first, { from: '2027-01-04', until: '2027-01-05' }, act)
      expect(await endOf(store.loadDirectory(changed, act))).toBe('directory_changed')
      const { timeOff, staffTimeOff } = (await everything(place)).providers[0] ?? {}
      expect([timeOff?.length, staffTimeOff?.length]).toEqual([1, 1])

      const forgotten = await compare(place, both, described)
      for (const step of [0, 45]) await book('kim', nine + minutes(step))
      await place.forgetChanges()
      expect(await endOf(store.loadDirectory(forgotten, act))).toBe('directory_changed')

      const unconcerned = await compare(place, both, described)
      await book('robin', nine + minutes(90))
      await store.setPartnerActive(partner.id, false, act)
      expect(await endOf(store.loadDirectory(unconcerned, act))).toBe('stored')
    })

    test('comparing a load takes no lock and waits for no lock', async () => {
      await using place = await open()
      const { first } = await fill(place)
      const finish = await place.beginRenaming(first, 'Later')
      const described = [entry('first', { bio: 'New' }), entry('third')]
      const comparison = await compare(place, [ontario], described)
      expect(comparison.load).toEqual({
        added: ['third'],
        changed: ['first'],
        deactivated: ['CA-QC', 'second'],
        unchanged: 1,
      })
      await finish()
      expect(await endOf(place.store.loadDirectory(comparison, act))).toBe('directory_changed')
    })
  })

  describe('changes since a version', () => {
    const nothing = { keys: null, regions: null, providers: [], unreadable: [], taken: new Map() }

    test('the changes are null if nothing has changed', async () => {
      await using place = await open()
      const { intake, book } = await fill(place)
      const version = await versionOf(place)
      await intake('robin')
      expect(await endOf(book('robin', nine, { slotState: 'not offered' }))).toBe('slot_unavailable')
      await place.store.listRequests({})
      expect(await place.feed.changesSince(version, 0)).toBeNull()
      await book('robin', nine)
      expect(await place.feed.changesSince(version, 0)).not.toBeNull()
    })

    test('a change of one kind of record reports no records of another kind', async () => {
      await using place = await open()
      const { store } = place
      const { partner, first, second, book } = await fill(place)
      const since = async (change: () => Promise<unknown>) => {
        const before = await everything(place)
        await change()
        const changes = await changesAfter(place, before)
        expect(await place.feed.changesSince(changes?.version ?? null, 0)).toBeNull()
        const { version: _, ...changed } = changes ?? { version: null }
        return changed
      }
      const all = () => everything(place)

      const booked = await since(() => book('robin', nine))
      expect(booked).toEqual({ ...nothing, taken: new Map([[first, (await all()).taken.get(first) ?? []]]) })

      const deactivated = await since(() => store.setPartnerActive(partner.id, false, act))
      expect(deactivated).toEqual({ ...nothing, keys: (await all()).keys })

      const issued = await since(() => store.issueKey(partner.id, key('a', 100), actAt(100)))
      expect(issued).toEqual({ ...nothing, keys: (await all()).keys })
      expect((await all()).keys).toHaveLength(1)

      const bio = await since(() =>
        load(place, [ontario, quebec], [entry('first'), entry('second', { bio: 'New' })]),
      )
      const provider = (await all()).providers.filter(({ id }) => id === second)
      expect(provider[0]?.bio).toBe('New')
      expect(bio).toEqual({ ...nothing, providers: provider })

      const renamed = await since(() =>
        load(
          place,
          [ontario, { ...quebec, localName: 'Le Québec' }],
          [entry('first'), entry('second', { bio: 'New' })],
        ),
      )
      expect(renamed).toEqual({ ...nothing, regions: (await all()).regions })
    })

    test('a reader gets missed changes of all kinds in one read', async () => {
      await using place = await open()
      const { store } = place
      const { partner, first, second, book } = await fill(place)
      const before = await everything(place)
      await book('robin', nine)
      await store.setPartnerActive(partner.id, false, act)
      await load(place, [ontario], [entry('first'), entry('second', { bio: 'New' })])
      const changes = await changesAfter(place, before)
      const all = await everything(place)
      expect(changes).toEqual({
        ...all,
        providers: all.providers.filter(({ id }) => id === second),
        taken: new Map([[first, all.taken.get(first) ?? []]]),
      })
    })

    test('a reader of an empty directory gets its first record', async () => {
      await using place = await open()
      const before = await everything(place)
      expect(await wholeDirectory(place)).toEqual({ ...nothing, keys: [], regions: [] })
      await place.store.addPartner('First', null, act)
      const changes = await changesAfter(place, before)
      expect(changes).toEqual({ ...(await everything(place)), regions: null })
    })

    test('a provider that changed several times is reported once', async () => {
      await using place = await open()
      const { first, book } = await fill(place)
      const before = await everything(place)
      for (const bio of ['one', 'two', 'three']) {
        await load(place, [ontario, quebec], [entry('first', { bio }), entry('second')])
      }
      await book('robin', nine)
      await book('kim', nine + minutes(45))
      const changes = await changesAfter(place, before)
      expect(changes?.providers.map(({ id, bio }) => [id, bio])).toEqual([[first, 'three']])
      expect([...(changes?.taken ?? [])].map(([id, slots]) => [id, slots.length])).toEqual([[first, 2]])
    })

    test('a reader gets the complete directory if a missed change is no longer recorded', async () => {
      await using place = await open()
      const { first, book } = await fill(place)
      const early = await versionOf(place)
      await book('robin', nine)
      const late = await everything(place)
      await book('kim', nine + minutes(45))
      await place.forgetChanges()
      const all = await everything(place)
      expect(all.providers).toHaveLength(2)
      expect(await place.feed.changesSince(early, 0)).toEqual(all)
      const changes = await changesAfter(place, late)
      expect(changes).toEqual({
        ...nothing,
        version: all.version,
        taken: new Map([[first, all.taken.get(first) ?? []]]),
      })
    })

    test('the taken slots do not include past slots and slots of declined requests', async () => {
      await using place = await open()
      const { first, book } = await fill(place)
      await book('robin', nine)
      const { id } = await stored(book('kim', nine + minutes(45)))
      await book('lee', nine + minutes(90))
      await place.store.decline(id, act)
      const startsAfter = async (after: number) => {
        const changes = await place.feed.changesSince(null, after)
        return changes?.taken.get(first)?.map(({ startsAt }) => startsAt)
      }
      expect(await startsAfter(nine + minutes(45) - 1)).toEqual([nine, nine + minutes(90)])
      expect(await startsAfter(nine + minutes(45))).toEqual([nine + minutes(90)])
      expect(await startsAfter(nine + minutes(135))).toEqual([])
    })
  })

  describe('taken slots of a reader that follows changes', () => {
    async function follow(place: Place) {
      const { feed } = await place.openAgain()
      let shown = await everything(place)
      return async () => {
        const changed = await changesAfter({ feed }, shown)
        if (changed)
          shown = { ...shown, version: changed.version, taken: new Map([...shown.taken, ...changed.taken]) }
        expect(shown.taken).toEqual((await everything(place)).taken)
      }
    }

    test('equal the stored slots after one change and after many changes', async () => {
      await using place = await open()
      const { store } = place
      const { first, second, id, book, assign, move } = await fillWithIntake(place)
      const [isShown, isShownInTheEnd] = [await follow(place), await follow(place)]
      const requests: number[] = []
      const booking = async (externalUserId: string, startsAt: number) => {
        requests.push((await stored(book(externalUserId, startsAt))).id)
      }
      const idOf = (place: number) => requests[place] as number
      const acts = [
        () => booking('kim', nine + minutes(90)),
        () => booking('lee', nine),
        () => store.decline(idOf(0), act),
        () => booking('kim', nine + minutes(180)),
        () => move(idOf(2), first, nine + minutes(90)),
        () => store.accept(idOf(1), act),
        () => assign(second, nine + minutes(270)),
        () => move(idOf(1), second, nine + minutes(45)),
        () => store.acknowledge(idOf(2), 60, act),
        () => booking('max', nine),
        () => store.declineAll([idOf(2), id], act),
        () => booking('ann', nine + minutes(90)),
      ]
      for (const done of acts) {
        await done()
        await isShown()
      }
      await isShownInTheEnd()
    })

    test('equal the stored slots if a slot was declined and booked again between two reads', async () => {
      await using place = await open()
      const { second, book } = await fill(place)
      const isShown = await follow(place)
      const { id } = await stored(book('robin', nine))
      await stored(book('kim', nine + minutes(90), { providerId: second }))
      await place.store.decline(id, act)
      await stored(book('lee', nine))
      await isShown()
    })
  })

  describe('the commit stamp of a feed', () => {
    test('the stamp changes with each commit on any connection, and never repeats', async () => {
      await using place = await open()
      const { partner, first, book } = await fill(place)
      const other = await place.openAgain()
      const stamps = [place, other].map(({ feed }) => [feed.stamp?.()])
      const commits = [
        () => place.store.setPartnerActive(partner.id, false, act),
        () => other.store.setPartnerActive(partner.id, true, act),
        () => other.store.setProviderActive(first, true, act),
        () => book('robin', nine),
        () => place.store.setProviderActive(first, true, act),
      ]
      for (const commit of commits) {
        await commit()
        for (const [index, { feed }] of [place, other].entries()) stamps[index]?.push(feed.stamp?.())
      }
      const changed = stamps.map((seen) => seen.filter((stamp) => stamp != null))
      for (const seen of changed.filter(({ length }) => length > 0)) {
        expect(new Set(seen).size).toBe(1 + commits.length)
      }
    })

    test('the stamp does not change if nothing is committed', async () => {
      await using place = await open()
      const { first, partner } = await fill(place)
      const stamp = place.feed.stamp?.()
      await everything(place)
      await place.store.findMember(partner.id, 'robin')
      expect(await endOf(place.store.addTimeOff(first + 100, { from: '', until: '' }, act))).toBe(
        'record_unknown',
      )
      expect(place.feed.stamp?.()).toBe(stamp)
    })
  })

  describe('two connections', () => {
    test('each connection sees the commits of the other connection at once', async () => {
      await using place = await open()
      const { partner, first, book } = await fill(place)
      const other = await place.openAgain()
      const before = await everything(other)
      expect(await changesAfter(place, before)).toBeNull()
      await book('robin', nine)
      const changes = await changesAfter(other, before)
      expect([...(changes?.taken.keys() ?? [])]).toEqual([first])
      expect(await other.store.findMember(partner.id, 'robin')).toEqual(
        await place.store.findMember(partner.id, 'robin'),
      )
      await other.store.setPartnerActive(partner.id, false, act)
      expect((await place.store.listPartners())[0]?.active).toBe(false)
    })

    test('two connections cannot both take the same slot or the same email address', async () => {
      await using place = await open()
      const { partner, first, book, intake } = await fill(place)
      const other = await place.openAgain()
      const version = await versionOf(other)
      await book('robin', nine)
      const theirs = draftOf('kim', {
        partnerId: partner.id,
        slot: { providerId: first, startsAt: nine },
        slotState: 'offered',
        localOffsetMinutes: 0,
        authorizationNumber: 'AUTH-OTHER',
        version,
      })
      expect(await endOf(other.store.submit(theirs))).toBe('slot_unavailable')
      await intake('lee')
      const later = { ...theirs, slot: { providerId: first, startsAt: nine + minutes(90) } }
      const leesAddress = { ...update, email: 'LEE@example.com' }
      expect(await endOf(other.store.submit({ ...later, member: leesAddress }))).toBe('email_taken')
    })

    test('email conflicts are counted across connections and restarts', async () => {
      await using place = await open()
      const { partner, intake } = await fill(place)
      await intake('robin')
      const limits = { ...unlimited, emailConflicts: 1 }
      const sent = { limits, member: update }
      expect(await endOf(intake('kim', sent))).toBe('email_taken')
      const { store, feed } = await place.openAgain()
      const version = await versionOf({ feed })
      const theirs = draftOf('kim', { ...sent, partnerId: partner.id, submittedAt: now + 1, version })
      expect(await endOf(store.submit(theirs))).toBe('email_conflicts_limited')
    })

    test('of two concurrent bookings of a member for the same time, one is stored', async () => {
      await using place = await open()
      const { partner, first, second } = await fill(place)
      const other = await place.openAgain()
      const version = await versionOf(other)
      const book = ({ store }: Connection, providerId: number, authorizationNumber: string) =>
        store.submit(
          draftOf('robin', {
            partnerId: partner.id,
            slot: { providerId, startsAt: nine },
            slotState: 'offered',
            localOffsetMinutes: 0,
            authorizationNumber,
            version,
          }),
        )
      const ends = await Promise.all([
        endOf(book(place, first, 'AUTH-HERE')),
        endOf(book(other, second, 'AUTH-THERE')),
      ])
      expect(ends.sort()).toEqual(['slot_conflicts_with_yours', 'stored'])
    })

    test('of two keys issued at once on two connections, one is stored', async () => {
      await using place = await open()
      const { partner } = await fill(place)
      const other = await place.openAgain()
      const ends = await Promise.all(
        [place, other, place, other].map(({ store }, index) =>
          endOf(store.issueKey(partner.id, key(`k${index}`, 100), actAt(100))),
        ),
      )
      expect(ends.sort()).toEqual(['stored', 'token_exists', 'token_exists', 'token_exists'])
    })

    test('a reader sees two overlapping transactions in either commit order', async () => {
      await using place = await open()
      const { first, second } = await fill(place)
      const other = await place.openAgain()
      const reader = await place.openAgain()
      const seen = new Map<number, string>()
      let version: Version | null = await versionOf(reader)
      const look = async () => {
        const changes = await reader.feed.changesSince(version, 0)
        for (const { id, firstName, suspended } of changes?.providers ?? []) {
          seen.set(id, `${firstName} ${!suspended}`)
        }
        version = changes?.version ?? version
      }

      const finish = await place.beginRenaming(first, 'Slow')
      const quick = other.store.setProviderActive(second, false, act)
      for (let looks = 0; looks < 100; looks++) await look()
      expect(seen.has(first)).toBe(false)
      await finish()
      await look()
      await quick
      await look()
      expect(seen).toEqual(
        new Map([
          [first, 'Slow true'],
          [second, 'Marlow false'],
        ]),
      )
    })

    test('a change during a full read is seen in that read or in the next read', async () => {
      await using place = await open()
      await load(
        place,
        [ontario],
        Array.from({ length: 1_200 }, (_, index) => entry(`p-${index}`)),
      )
      const other = await place.openAgain()
      const { id } = (await everything(other)).providers[0] as Provider
      const newYear = parseDate('2027-01-01') as number
      let added = 0
      const write = async () => {
        const date = formatDate(newYear + added++)
        await place.store.addTimeOff(id, { from: date, until: date }, act)
      }
      await write()
      for (let writes = 1; writes <= 8; writes++) {
        const reading = everything(other)
        for (let done = 0; done < writes; done++) await write()
        const read = await reading
        const next = await other.feed.changesSince(read.version, 0)
        const shown = [...read.providers, ...(next?.providers ?? [])].findLast(
          (provider) => provider.id === id,
        )
        expect(absencesOf(shown as Provider)).toHaveLength(1 + added)
      }
    })

    test('concurrent writes on two connections lose no update', async () => {
      await using place = await open()
      const { first } = await fill(place)
      const other = await place.openAgain()
      const reader = await place.openAgain()
      let version: Version | null = await versionOf(reader)
      let found: number[] = []
      const absence = (day: number) => {
        const date = `2027-01-${String(day).padStart(2, '0')}`
        return { from: date, until: date }
      }
      const writes = Array.from({ length: 28 }, (_, index) =>
        (index % 2 ? place : other).store.addTimeOff(first, absence(index + 1), act),
      )
      const isDone = Promise.all(writes).then(() => true)
      for (let done = false; !done; ) {
        done = await Promise.race([isDone, nextTurn().then(() => false)])
        const changes = await reader.feed.changesSince(version, 0)
        version = changes?.version ?? version
        for (const provider of changes?.providers ?? []) found = [...found, absencesOf(provider).length]
      }
      expect(found.at(-1)).toBe(29)
      expect(found).toEqual(found.toSorted((a, b) => a - b))
    })
  })

  describe('closing a store', () => {
    test('a closed store can be opened again with all its data', async () => {
      await using place = await open()
      const { partner, book } = await fill(place)
      await book('robin', nine)
      const member = await place.store.findMember(partner.id, 'robin')
      const before = await everything(place)
      await place.close()
      const again = await place.openAgain()
      expect(member).not.toBeNull()
      expect(await again.store.findMember(partner.id, 'robin')).toEqual(member)
      expect(await everything(again)).toEqual(before)
    })

    test('closing a store completes or refuses each pending submission', async () => {
      await using place = await open()
      const { partner, intake } = await fill(place)
      const version = await versionOf(place)
      const submissions = ['a', 'b', 'c'].map((id) => endOf(intake(id, { version })))
      await place.close()
      const isStored = (await Promise.all(submissions)).map((end) => end === 'stored')
      const again = await place.openAgain()
      const found = await Promise.all(['a', 'b', 'c'].map((id) => again.store.findMember(partner.id, id)))
      expect(found.map((member) => member !== null)).toEqual(isStored)
    })

    test('a closed store can be closed again and refuses submissions', async () => {
      await using place = await open()
      const { intake } = await fill(place)
      const version = await versionOf(place)
      await place.close()
      await place.close()
      await expect(intake('robin', { version })).rejects.toThrow()
    })
  })
}

/** Tests of engines that several processes share. */
export function bookingFeedContract(open: () => Promise<Place>): void {
  test('the changes contain newly booked slots, or all taken slots after a decline', async () => {
    await using place = await open()
    const { store, feed } = place
    const { first, second, book } = await fill(place)
    await book('zoe', nine - minutes(45))
    const startsIn = (map: DirectoryChanges['booked']) =>
      [first, second].map((id) => map?.get(id)?.map(({ startsAt }) => startsAt) ?? null)
    const { version } = await everything(place)
    const { id } = await stored(book('robin', nine))
    await book('kim', nine + minutes(45))
    await book('lee', nine, { providerId: second })
    const afterBookings = await feed.changesSince(version, 0)
    expect(startsIn(afterBookings?.taken)).toEqual([null, null])
    expect(startsIn(afterBookings?.booked)).toEqual([[nine, nine + minutes(45)], [nine]])
    await store.decline(id, act)
    const afterAll = await feed.changesSince(version, 0)
    expect(startsIn(afterAll?.taken)).toEqual([[nine - minutes(45), nine + minutes(45)], null])
    expect(startsIn(afterAll?.booked)).toEqual([null, [nine]])
  })
}
