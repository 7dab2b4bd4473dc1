import { describe, expect, test } from 'bun:test'
import { type AuditAction, type AuditFilter, auditStart } from '../../src/domain/audit'
import { slotMillis } from '../../src/domain/booking-request'
import type { RequestFilter, RequestPart } from '../../src/domain/ports/store'
import type { Write } from '../../src/domain/ports/writes'
import type { Provider } from '../../src/domain/provider'
import type { ActingStore } from '../support/acts'
import {
  act,
  actAt,
  answers,
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
  update,
  versionOf,
  wholeDirectory,
} from './furniture'

const key = (kid: string, startsAt: number) => ({ kid, secret: Buffer.from(`secret of ${kid}`), startsAt })

/** Runs a change. Returns the action and record of each new audit line. */
async function audited(store: ActingStore, change: () => Promise<unknown>): Promise<(string | null)[][]> {
  const { id } = await store.auditHead()
  await change()
  const lines = await store.listAudit(10_000)
  // PostgreSQL appends the lines of submissions later.
  const ofStaff = lines.filter((line) => line.id > id && line.action !== 'member.create')
  return ofStaff.map(({ action, record }) => [action, record])
}

/** Tests of the operator commands for every engine. */
export function operatorContract(open: () => Promise<Place>): void {
  describe('partner keys', () => {
    test('keys are listed without secrets, and with the time and reason of their end', async () => {
      await using place = await open()
      const { store } = place
      const { partner } = await fill(place)
      await store.issueKey(partner.id, key('a', 100), actAt(100))
      await store.rotateKey(partner.id, key('b', 500), actAt(200))
      await store.rotateKey(partner.id, key('c', 900), actAt(300))
      await store.noteKeyUses(new Map([['a', 60_000]]))
      const record = { id: expect.any(Number), partnerId: partner.id, lastUsedAt: null }
      const keys: unknown = await store.listKeys()
      expect(keys).toEqual([
        {
          ...record,
          kid: 'a',
          issuedAt: 100,
          startsAt: 100,
          endsAt: 900,
          endReason: 'rotated',
          lastUsedAt: 60_000,
        },
        { ...record, kid: 'b', issuedAt: 200, startsAt: 500, endsAt: 500, endReason: 'cancelled' },
        { ...record, kid: 'c', issuedAt: 300, startsAt: 900, endsAt: null, endReason: null },
      ])
    })

    test('the last use of a key is the latest reported use, even if uses are reported out of order', async () => {
      await using place = await open()
      const { store } = place
      const { partner } = await fill(place)
      await store.issueKey(partner.id, key('a', 100), actAt(100))
      const { version } = await everything(place)
      for (const at of [120_000, 60_000]) {
        await store.noteKeyUses(
          new Map([
            ['a', at],
            ['nobody', at],
          ]),
        )
      }
      expect((await store.listKeys()).map(({ lastUsedAt }) => lastUsedAt)).toEqual([120_000])
      // Using a key does not change the directory, so other processes need not reload it.
      expect(await place.feed.changesSince(version, 0)).toBeNull()
    })

    test('after a cutover is cancelled, the new key never starts and the current key has no end', async () => {
      await using place = await open()
      const { store } = place
      const { partner } = await fill(place)
      await store.issueKey(partner.id, key('a', 100), actAt(100))
      await store.rotateKey(partner.id, key('b', 500), actAt(200))
      await store.cancelCutover(partner.id, actAt(300))
      const ends = async () =>
        (await store.listKeys()).map(({ kid, endsAt, endReason }) => [kid, endsAt, endReason])
      expect(await ends()).toEqual([
        ['a', null, null],
        ['b', 500, 'cancelled'],
      ])
      expect(await endOf(store.cancelCutover(partner.id, actAt(400)))).toBe('record_unknown')
      await store.rotateKey(partner.id, key('c', 600), actAt(400))
      expect(await endOf(store.cancelCutover(partner.id, actAt(600)))).toBe('record_unknown')
      expect(await ends()).toEqual([
        ['a', 600, 'rotated'],
        ['b', 500, 'cancelled'],
        ['c', null, null],
      ])
    })
  })

  test('changes to unknown records fail with record_unknown and add no audit line', async () => {
    await using place = await open()
    const { store } = place
    const { partner, first, id } = await fillWithIntake(place)
    const absence = { from: '2026-12-24', until: '2026-12-24' }
    const assignment = {
      providerId: first,
      startsAt: null,
      localOffsetMinutes: null,
      version: await versionOf(place),
      authorizationNumber: 'AUTH-NONE',
    }
    const nowhere = 4711
    const refused: Record<string, () => Promise<unknown>> = {
      addPartner: () => store.addPartner('New', nowhere, act),
      issueKey: () => store.issueKey(nowhere, key('z', 100), actAt(100)),
      rotateKey: () => store.rotateKey(nowhere, key('z', 100), actAt(100)),
      revokeKeys: () => store.revokeKeys(nowhere, act),
      cancelCutover: () => store.cancelCutover(nowhere, act),
      renameOrganization: () => store.renameOrganization(nowhere, 'New', act),
      renamePartner: () => store.renamePartner(nowhere, 'New', act),
      setOrganizationActive: () => store.setOrganizationActive(nowhere, true, act),
      setPartnerActive: () => store.setPartnerActive(nowhere, true, act),
      setPartnerRates: () => store.setPartnerRates(nowhere, { readsPerMinute: 1 }, act),
      setPartnerNetworks: () => store.setPartnerNetworks(nowhere, null, act),
      setPartnerOrganization: () => store.setPartnerOrganization(nowhere, null, act),
      'setPartnerOrganization to an unknown organization': () =>
        store.setPartnerOrganization(partner.id, nowhere, act),
      setProviderActive: () => store.setProviderActive(nowhere, true, act),
      addTimeOff: () => store.addTimeOff(nowhere, absence, act),
      removeTimeOff: () => store.removeTimeOff(nowhere, absence, act),
      'removeTimeOff of an unknown absence': () => store.removeTimeOff(first, absence, act),
      readScreening: () => store.readScreening(nowhere, act),
      assign: () => store.assign(nowhere, assignment, act),
      'assign to an unknown provider': () => store.assign(id, { ...assignment, providerId: nowhere }, act),
      move: () => store.move(nowhere, { ...assignment, startsAt: nine, localOffsetMinutes: 0 }, act),
      close: () => store.close(nowhere, act),
      accept: () => store.accept(nowhere, act),
      decline: () => store.decline(nowhere, act),
      acknowledge: () => store.acknowledge(nowhere, 0, act),
      addNote: () => store.addNote(nowhere, 'Called back', act),
      readNotes: () => store.readNotes(nowhere, act),
      setMemberActive: () => store.setMemberActive(nowhere, true, act),
      exportMember: () => store.exportMember(nowhere, act),
      eraseMember: () => store.eraseMember(nowhere, act),
      editMember: () => store.editMember(nowhere, { email: '' }, act),
    }
    const before = await store.auditHead()
    const kinds: Record<string, string> = {}
    for (const [name, ask] of Object.entries(refused)) kinds[name] = await endOf(ask())
    expect(kinds).toEqual(Object.fromEntries(Object.keys(refused).map((name) => [name, 'record_unknown'])))
    expect(await store.auditHead()).toEqual(before)
    expect([await store.findRequest(nowhere), await store.findMemberById(nowhere)]).toEqual([null, null])
  })

  describe('partners and providers', () => {
    test('a partner can be moved to another organization, or removed from its organization', async () => {
      await using place = await open()
      const { store } = place
      const { partner } = await fill(place)
      const other = await store.addOrganization('Other', act)
      await store.setPartnerOrganization(partner.id, other.id, act)
      expect(await store.listPartners()).toEqual([{ ...partner, organization: other }])
      await store.setPartnerOrganization(partner.id, null, act)
      expect(await store.listPartners()).toEqual([{ ...partner, organization: null }])
    })

    test('organizations and partners can be renamed to an unused name, and the directory shows the new name', async () => {
      await using place = await open()
      const { store } = place
      const { organization, partner } = await fill(place)
      await store.issueKey(partner.id, key('a', 100), actAt(100))
      const other = await store.addOrganization('Other', act)
      const another = await store.addPartner('Another', other.id, act)
      const version = await versionOf(place)
      await store.renameOrganization(organization.id, 'Harbour West', act)
      await store.renamePartner(partner.id, 'Harbourlight West', act)
      const renamed = {
        ...partner,
        name: 'Harbourlight West',
        organization: { ...organization, name: 'Harbour West' },
      }
      expect(await store.listOrganizations()).toEqual([{ ...organization, name: 'Harbour West' }, other])
      expect(await store.listPartners()).toEqual([renamed, another])
      const changes = await place.feed.changesSince(version, 0)
      expect(changes?.keys?.map((one) => one.partner)).toEqual([renamed])
      for (const name of ['Other', 'Harbour West']) {
        expect(await endOf(store.renameOrganization(organization.id, name, act))).toBe('name_taken')
      }
      for (const name of ['Another', 'Harbourlight West']) {
        expect(await endOf(store.renamePartner(partner.id, name, act))).toBe('name_taken')
      }
      expect(await store.listPartners()).toEqual([renamed, another])
      // The previous name of a renamed partner can be used again.
      expect((await store.addPartner(partner.name, null, act)).name).toBe(partner.name)
    })

    test('each rate limit of a partner can be set and cleared, and the directory shows it', async () => {
      await using place = await open()
      const { store } = place
      const { partner } = await fill(place)
      await store.issueKey(partner.id, key('a', 100), actAt(100))
      const version = await versionOf(place)
      await store.setPartnerRates(partner.id, { readsPerMinute: 60, bookingsPerMinute: 'off' }, act)
      const limited = { ...partner, readsPerMinute: 60, bookingsPerMinute: 'off' as const }
      expect(await store.listPartners()).toEqual([limited])
      const changes = await place.feed.changesSince(version, 0)
      expect(changes?.keys?.map((one) => one.partner)).toEqual([limited])
      await store.setPartnerRates(partner.id, { readsPerMinute: null }, act)
      expect(await store.listPartners()).toEqual([{ ...limited, readsPerMinute: null }])
      await store.setPartnerNetworks(partner.id, '10.0.0.0/8,2001:db8::/32', act)
      expect((await store.listPartners())[0]?.networks).toBe('10.0.0.0/8,2001:db8::/32')
      const later = await place.feed.changesSince(version, 0)
      expect(later?.keys?.map((one) => one.partner.networks)).toEqual(['10.0.0.0/8,2001:db8::/32'])
    })

    test('a provider can be deactivated and reactivated, and time off added and removed', async () => {
      await using place = await open()
      const { store } = place
      const { first } = await fill(place)
      const before = (await everything(place)).providers.find(({ id }) => id === first)
      const absence = { from: '2027-01-04T09:00', until: '2027-01-04T12:00' }
      const since = async (change: () => Promise<unknown>): Promise<unknown> => {
        const version = await versionOf(place)
        await change()
        return (await place.feed.changesSince(version, 0))?.providers
      }
      expect(await since(() => store.setProviderActive(first, false, act))).toEqual([
        { ...before, suspended: true },
      ])
      expect(await since(() => store.setProviderActive(first, true, act))).toEqual([before])
      expect(await since(() => store.addTimeOff(first, absence, act))).toEqual([
        { ...before, staffTimeOff: [absence] },
      ])
      // Only staff can undo a change by staff.
      await store.setProviderActive(first, false, act)
      await load(place, [ontario, quebec], [entry('first', { bio: 'New' }), entry('second')])
      const loaded = (await everything(place)).providers.find(({ id }) => id === first)
      expect(loaded).toEqual({
        ...(before as Provider),
        bio: 'New',
        suspended: true,
        staffTimeOff: [absence],
      })
      await load(place, [ontario, quebec], [entry('first'), entry('second')])
      await store.setProviderActive(first, true, act)
      expect(await since(() => store.removeTimeOff(first, absence, act))).toEqual([before])
    })
  })

  describe('booking requests', () => {
    test('requests are listed in order: all, only intakes, or only unassigned intakes', async () => {
      await using place = await open()
      const { store } = place
      const { book, intake, assign, first } = await fillWithIntake(place)
      await book('kim', nine)
      await intake('lee')
      await assign(first, null)
      const list = async (intakesOnly: boolean, isUnassigned: boolean) =>
        (await store.listRequests({ intakesOnly, state: isUnassigned ? 'unassigned' : undefined })).map(
          ({ member, state, isIntake }) => [member?.externalUserId, state, isIntake],
        )
      const robin = ['robin', 'pending', true]
      const kim = ['kim', 'pending', false]
      const lee = ['lee', 'unassigned', true]
      expect(await list(false, false)).toEqual([robin, kim, lee])
      expect(await list(true, false)).toEqual([robin, lee])
      expect(await list(false, true)).toEqual([lee])
      expect(await list(true, true)).toEqual([lee])
    })

    test('requests are filtered, counted and paged', async () => {
      await using place = await open()
      const { store } = place
      const { book, intake, first, second, partner } = await fillWithIntake(place)
      const day = minutes(24 * 60)
      await book('late', nine + day, { localOffsetMinutes: 0, submittedAt: now + 1 })
      await book('soon', nine, { providerId: second, localOffsetMinutes: -600, submittedAt: now + 2 })
      const { id: accepted } = await stored(book('done', nine + minutes(90), { submittedAt: now + 3 }))
      await store.accept(accepted, act)
      const other = await store.addPartner('Other', null, act)
      await intake('theirs', { partnerId: other.id, submittedAt: now + 4 })
      const ids = await store.listRequestIds({})
      const [robin, late, soon, done, theirs] = ids as [number, number, number, number, number]
      expect(ids).toHaveLength(5)
      const { member } = (await store.findRequest(robin)) ?? {}
      const today = Math.floor(nine / day)
      const asked: [RequestFilter, number[], number | null][] = [
        [{}, ids, now],
        [{ intakesOnly: true }, [robin, theirs], now],
        [{ state: 'waiting' }, [robin, late, soon, theirs], now],
        [{ state: 'unassigned' }, [robin, theirs], now],
        [{ state: 'pending' }, [late, soon], now + 1],
        [{ state: 'accepted' }, [done], null],
        [{ state: 'closed' }, [], null],
        [{ providerId: second }, [soon], now + 2],
        [{ providerId: first, state: 'accepted' }, [done], null],
        [{ partnerId: partner.id }, [robin, late, soon, done], now],
        [{ partnerId: other.id }, [theirs], now + 4],
        [{ memberId: member?.id }, [robin], now],
        [{ memberId: member?.id, state: 'closed' }, [], null],
        [{ ids: [] }, [], null],
        [{ ids: [done, late, 4711] }, [late, done], now + 1],
        [{ ids: [done, late], state: 'accepted' }, [done], null],
        [{ slotDay: today }, [done], null],
        [{ slotDay: today - 1 }, [soon], now + 2],
        [{ slotDay: today + 1 }, [late], now + 1],
        [{ submittedFrom: now + 2 }, [soon, done, theirs], now + 2],
        [{ submittedUntil: now + 2 }, [robin, late, soon], now],
        [{ submittedFrom: now + 1, submittedUntil: now + 1, state: 'waiting' }, [late], now + 1],
      ]
      for (const [filter, expected, oldestAt] of asked) {
        const found = await store.listRequests(filter)
        expect(
          found.map(({ id }) => id),
          JSON.stringify(filter),
        ).toEqual(expected)
        expect(await store.listRequestIds(filter)).toEqual(expected)
        const waiting = found.filter(({ state }) => state === 'unassigned' || state === 'pending')
        expect(await store.countWaiting(filter)).toEqual({ count: waiting.length, oldestAt })
      }
      const part = async (order: RequestPart['order'], offset: number, most: number) =>
        (await store.listRequests({}, { order, offset, most })).map(({ id }) => id)
      expect(await part('submission', 0, 2)).toEqual([robin, late])
      expect(await part('submission', 4, 2)).toEqual([theirs])
      expect(await part('submission', 5, 2)).toEqual([])
      expect(await part('slot', 0, 5)).toEqual([soon, done, late, robin, theirs])
      expect(await part('slot', 2, 2)).toEqual([late, robin])
    })

    test('an assigned intake is pending, has an authorization number and takes its slot', async () => {
      await using place = await open()
      const { store } = place
      const { id, member, first, assign } = await fillWithIntake(place)
      const request = {
        id,
        isIntake: true,
        state: 'unassigned',
        providerId: null,
        authorizationNumber: null,
        startsAt: null,
        acceptedAt: null,
        declinedAt: null,
        cancelledAt: null,
        submittedAt: now,
        localOffsetMinutes: null,
        member,
      }
      expect((await store.findRequest(id)) as unknown).toEqual(request)
      expect(await assign(first, nine)).toBe('done')
      expect((await store.findRequest(id)) as unknown).toEqual({
        ...request,
        state: 'pending',
        providerId: first,
        authorizationNumber: 'AUTH-INTAKE',
        startsAt: nine,
        localOffsetMinutes: 0,
      })
      const { taken } = await everything(place)
      expect(taken.get(first)).toEqual([
        { requestId: id, startsAt: nine, endsAt: nine + slotMillis, localOffsetMinutes: 0 },
      ])
    })

    test('an intake that is assigned again keeps its authorization number, frees its earlier slot and is pending', async () => {
      await using place = await open()
      const { store } = place
      const { id, first, second, assign } = await fillWithIntake(place)
      const changedProviders = async (version: Awaited<ReturnType<typeof versionOf>>) => [
        ...((await place.feed.changesSince(version, 0))?.taken.keys() ?? []),
      ]
      await assign(first, nine)
      for (const move of [() => store.accept(id, actAt(now + 5)), () => store.decline(id, actAt(now + 6))]) {
        await move()
        const version = await versionOf(place)
        expect(await assign(second, nine + minutes(15), 'AUTH-ANOTHER')).toBe('done')
        expect(await store.findRequest(id)).toMatchObject({
          state: 'pending',
          providerId: second,
          authorizationNumber: 'AUTH-INTAKE',
          startsAt: nine + minutes(15),
          acceptedAt: null,
          declinedAt: null,
        })
        expect([await takenOf(place, first), await takenOf(place, second)]).toEqual([
          [],
          [nine + minutes(15)],
        ])
        expect(await changedProviders(version)).toContain(second)
      }
      const version = await versionOf(place)
      expect(await assign(first, null)).toBe('done')
      expect([await takenOf(place, first), await takenOf(place, second)]).toEqual([[], []])
      expect(await changedProviders(version)).toContain(second)
      expect(await store.findRequest(id)).toMatchObject({ providerId: first, startsAt: null })
    })

    test.each(['pending', 'accepted'] as const)(
      '%s requests that move become pending, keep their numbers and free their earlier slots',
      async (state) => {
        await using place = await open()
        const { store } = place
        const { first, second, book, move } = await fillWithIntake(place)
        const { id, authorizationNumber } = await stored(book('kim', nine))
        if (state === 'accepted') await store.accept(id, actAt(now + 1))
        const before = await store.findRequest(id)
        const version = await versionOf(place)
        expect(await audited(store, () => move(id, second, nine + minutes(15)))).toEqual([
          ['request.move', `request ${id}`],
        ])
        expect((await store.findRequest(id)) as unknown).toEqual({
          ...before,
          state: 'pending',
          providerId: second,
          startsAt: nine + minutes(15),
          localOffsetMinutes: 60,
          acceptedAt: null,
          authorizationNumber,
        })
        expect([await takenOf(place, first), await takenOf(place, second)]).toEqual([
          [],
          [nine + minutes(15)],
        ])
        const { taken } = (await place.feed.changesSince(version, 0)) ?? {}
        expect([...(taken?.keys() ?? [])].sort()).toEqual([first, second].sort())
        const lee = await stored(book('lee', nine))
        expect(lee.providerId).toBe(first)
      },
    )

    test('an unassigned intake can be closed, and stays closed', async () => {
      await using place = await open()
      const { store } = place
      const { id, member, first, move } = await fillWithIntake(place)
      const before = await store.findRequest(id)
      expect(await audited(store, () => store.close(id, actAt(now + 4)))).toEqual([
        ['request.close', `request ${id}`],
      ])
      const closed = { ...before, state: 'closed', declinedAt: now + 4 }
      expect((await store.findRequest(id)) as unknown).toEqual(closed)
      expect(await endOf(move(id, first, nine))).toBe('move_unknown')
      expect(await store.declineAll([id], act)).toBe(0)
      expect((await store.findRequest(id)) as unknown).toEqual(closed)
      expect(await store.listRequests({ state: 'unassigned' })).toEqual([])
      expect(await store.eraseMember(member.id, act)).toEqual([])
      expect((await store.findRequest(id)) as unknown).toEqual({ ...closed, member: null })
    })

    test('a request keeps notes in order, and the reason of a decline or closing', async () => {
      await using place = await open()
      const { store } = place
      const { id, intake, book } = await fillWithIntake(place)
      const [first, second] = [await stored(book('kim', nine)), await stored(book('lee', nine + minutes(45)))]
      const noteId = await store.addNote(id, 'Rings after six.\n\u00c9t\u00e9', actAt(now + 1))
      await store.close(id, { actor: 'ada', at: now + 2 }, 'Sent twice.')
      await store.addNote(id, 'They know.', actAt(now + 3))
      expect((await store.readNotes(id, act)) as unknown).toEqual([
        { id: noteId, kind: 'note', at: now + 1, actor: 'olive', text: 'Rings after six.\n\u00c9t\u00e9' },
        { id: expect.any(Number), kind: 'close', at: now + 2, actor: 'ada', text: 'Sent twice.' },
        { id: expect.any(Number), kind: 'note', at: now + 3, actor: 'olive', text: 'They know.' },
      ])
      await store.decline(first.id, act, 'Moved away.')
      expect(await store.declineAll([first.id, second.id], act, 'Flood.')).toBe(1)
      const texts = async (requestId: number) =>
        (await store.readNotes(requestId, act)).map(({ kind, text }) => [kind, text])
      expect([await texts(first.id), await texts(second.id)]).toEqual([
        [['decline', 'Moved away.']],
        [['decline', 'Flood.']],
      ])
      const other = await stored(intake('mia'))
      expect(await texts(other.id)).toEqual([])
      expect(await endOf(store.close(other.id, act, ' '))).toBe('field_invalid')
      expect(await endOf(store.addNote(other.id, '', act))).toBe('field_invalid')
      expect(await store.findRequest(other.id)).toMatchObject({ state: 'unassigned' })
    })

    test('declining many requests adds an audit line for each declined request and skips other requests', async () => {
      await using place = await open()
      const { store } = place
      const { first, second, id: unassigned, assign, book, intake } = await fillWithIntake(place)
      const slots = [0, 1, 2].map((index) => nine + index * minutes(45)) as [number, number, number]
      const pending = await stored(book('robin', slots[0]))
      const accepted = await stored(book('kim', slots[1], { providerId: second }))
      const declined = await stored(book('kim', slots[2]))
      const withoutSlot = await stored(intake('lee'))
      await store.accept(accepted.id, act)
      await store.decline(declined.id, act)
      await assign(first, null)
      const ids = [pending.id, accepted.id, declined.id, withoutSlot.id, 4711]
      const lines = await audited(store, async () => {
        expect(await store.declineAll(ids, actAt(now + 9))).toBe(2)
      })
      expect(lines).toEqual([pending, accepted].map(({ id }) => ['request.decline', `request ${id}`]))
      const records = await Promise.all([...ids.slice(0, 4), unassigned].map((id) => store.findRequest(id)))
      expect(records.map((request) => [request?.state, request?.declinedAt])).toEqual([
        ['declined', now + 9],
        ['declined', now + 9],
        ['declined', now],
        ['unassigned', null],
        ['pending', null],
      ])
      expect([await takenOf(place, first), await takenOf(place, second)]).toEqual([[], []])
      expect(await store.declineAll(ids, act)).toBe(0)
    })

    test('requests submitted since an instant are listed in any state, except requests of erased members', async () => {
      await using place = await open()
      const { store } = place
      const { partner, book, intake } = await fill(place)
      const other = await store.addPartner('Willow', null, act)
      await intake('early', { submittedAt: now - 1 })
      const first = await stored(intake('robin', { submittedAt: now }))
      const second = await stored(book('kim', nine, { submittedAt: now + 1 }))
      await intake('theirs', { partnerId: other.id, submittedAt: now + 1 })
      await store.decline(second.id, act)
      const erased = await stored(intake('erased', { submittedAt: now + 1 }))
      await store.eraseMember(erased.member.id, act)
      const listed = await store.listSubmitted(partner.id, now)
      expect(listed.map(({ id, state }) => [id, state])).toEqual([
        [first.id, 'unassigned'],
        [second.id, 'declined'],
      ])
      expect(await store.listSubmitted(4711, 0)).toEqual([])
    })

    test('an intake is not assigned a slot that overlaps another slot of its member', async () => {
      await using place = await open()
      const { first, second, id, assign, book } = await fillWithIntake(place)
      const booked = await stored(book('robin', nine))
      expect(await endOf(assign(second, nine + minutes(44)))).toBe('slot_conflicts_with_yours')
      expect(await endOf(assign(second, nine - minutes(44)))).toBe('slot_conflicts_with_yours')
      expect(await place.store.findRequest(id)).toMatchObject({ state: 'unassigned', startsAt: null })
      expect(await endOf(assign(second, nine + minutes(45)))).toBe('stored')
      // A new slot may overlap the request's current slot.
      expect(await endOf(assign(first, nine + minutes(60)))).toBe('stored')
      await place.store.decline(booked.id, act)
      expect(await endOf(assign(second, nine))).toBe('stored')
    })

    test('acknowledging a slot after a time zone change stores the new offset', async () => {
      await using place = await open()
      const { store } = place
      const { first, book } = await fill(place)
      const { id } = await stored(book('kim', nine, { localOffsetMinutes: -300 }))
      const version = await versionOf(place)
      await store.acknowledge(id, -240, act)
      expect(await store.findRequest(id)).toMatchObject({ localOffsetMinutes: -240, startsAt: nine })
      const { taken } = (await place.feed.changesSince(version, 0)) ?? {}
      expect(taken?.get(first)?.map(({ localOffsetMinutes }) => localOffsetMinutes)).toEqual([-240])
    })

    test('reading screening answers adds an audit line, and sorting requests does not', async () => {
      await using place = await open()
      const { store } = place
      const { id } = await fillWithIntake(place)
      expect(
        await audited(store, async () => expect(await store.readScreening(id, act)).toEqual(answers)),
      ).toEqual([['request.read-screening', `request ${id}`]])
      expect(
        await audited(store, async () =>
          expect(await store.sortingAnswers([id])).toEqual(new Map([[id, answers]])),
        ),
      ).toEqual([])
    })
  })

  describe('members', () => {
    test('notes of a member are listed and exported oldest first, and erased with the member', async () => {
      await using place = await open()
      const { store } = place
      const { id, member } = await fillWithIntake(place)
      await store.addNote(id, 'Called back', act)
      await store.addNote(id, 'Prefers mornings', { actor: 'other', at: now + 1 })
      const first = {
        id: expect.any(Number),
        kind: 'note',
        at: act.at,
        actor: act.actor,
        text: 'Called back',
      }
      const second = { ...first, at: now + 1, actor: 'other', text: 'Prefers mornings' }
      expect(await store.countNotes(id)).toBe(2)
      const notes: unknown = await store.readNotes(id, act)
      expect(notes).toEqual([first, second])
      const { requests } = await store.exportMember(member.id, act)
      expect(requests.map((request): unknown => request.notes)).toEqual([[first, second]])
      await store.eraseMember(member.id, act)
      expect(await store.readNotes(id, act)).toEqual([])
      expect(await endOf(store.addNote(id, 'Too late', act))).toBe('move_unknown')
    })

    test('an export contains everything stored about a member', async () => {
      await using place = await open()
      const { store } = place
      const { id, member, intake, book, first } = await fillWithIntake(place)
      await intake('kim')
      const sent = { ...update, phoneNumber: '+1 416 555 0100' }
      const change = { submittedAt: now + 7, screeningAnswers: [], member: sent }
      const booked = await stored(book('robin', nine, change))
      expect(await audited(store, () => store.exportMember(member.id, act))).toEqual([
        ['member.export', `member ${member.id}`],
      ])
      const request = {
        id,
        isIntake: true,
        state: 'unassigned',
        providerId: null,
        authorizationNumber: null,
        startsAt: null,
        localOffsetMinutes: null,
        acceptedAt: null,
        declinedAt: null,
        cancelledAt: null,
        submittedAt: now,
        screeningAnswers: answers,
        sentProfile: { sent: update, before: {} },
        notes: [],
      }
      const held: unknown = await store.exportMember(member.id, act)
      expect(held).toEqual({
        member: booked.member,
        createdAt: now,
        updatedAt: now + 7,
        requests: [
          request,
          {
            ...request,
            id: booked.id,
            isIntake: false,
            state: 'pending',
            providerId: first,
            authorizationNumber: booked.authorizationNumber,
            startsAt: nine,
            localOffsetMinutes: 0,
            submittedAt: now + 7,
            screeningAnswers: [],
            sentProfile: { sent, before: { phoneNumber: null } },
          },
        ],
      })
    })

    test('a member is found only by their own email address, in upper or lower case', async () => {
      await using place = await open()
      const { store } = place
      const { intake } = await fill(place)
      const { member } = await stored(intake('robin'))
      await intake('kim')
      expect(await store.findMemberByEmail('ROBIN@Example.COM', act)).toEqual(member)
      expect(await store.findMemberByEmail('nobody@example.com', act)).toBeNull()
      expect(await store.findMemberByEmail('', act)).toBeNull()
    })

    test('a released email address can be used by another member', async () => {
      await using place = await open()
      const { store } = place
      const { intake } = await fill(place)
      const { member } = await stored(intake('robin'))
      const kim = await stored(intake('kim'))
      await store.editMember(member.id, { email: '' }, actAt(now + 1))
      const released = { ...member, profile: { ...member.profile, email: '' } }
      expect(await store.findMemberById(member.id)).toEqual(released)
      expect(await store.exportMember(member.id, act)).toMatchObject({ updatedAt: now + 1 })
      expect(await endOf(store.editMember(member.id, { email: '' }, act))).toBe('move_unknown')
      // Several members may have no email address.
      await store.editMember(kim.member.id, { email: '' }, act)
      const rightful = await stored(intake('lee', { member: member.profile }))
      expect(await store.findMemberByEmail('robin@example.com', act)).toEqual(rightful.member)
      expect(await endOf(intake('robin'))).toBe('email_taken')
      const newProfile = { ...member.profile, email: 'new@example.com' }
      expect((await stored(intake('robin', { member: newProfile }))).member).toEqual({
        ...member,
        profile: newProfile,
      })
    })

    test('an edited member is found by the new email address only, and the old one is free', async () => {
      await using place = await open()
      const { store } = place
      const { intake } = await fill(place)
      const { member } = await stored(intake('robin'))
      const kim = await stored(intake('kim'))
      const edit = { email: 'new@example.com', phoneNumber: '+1 416 555 0100' }
      expect(await audited(store, () => store.editMember(member.id, edit, actAt(now + 1), member))).toEqual([
        ['member.edit', `member ${member.id}`],
      ])
      const edited = { ...member, profile: { ...member.profile, ...edit } }
      expect(await store.findMemberByEmail('NEW@example.com', act)).toEqual(edited)
      expect(await store.findMemberByEmail('robin@example.com', act)).toBeNull()
      const taken = { email: 'New@example.com' }
      expect(await endOf(store.editMember(kim.member.id, taken, act))).toBe('email_taken')
      await store.editMember(kim.member.id, { email: 'robin@example.com' }, act)
      expect(await store.findMemberById(kim.member.id)).toMatchObject({
        profile: { email: 'robin@example.com' },
      })
      await store.editMember(member.id, { email: '' }, act, edited)
      expect(await store.findMemberByEmail('new@example.com', act)).toBeNull()
    })

    test('members are listed in pages, the newest first', async () => {
      await using place = await open()
      const { store } = place
      const { intake } = await fill(place)
      const members = []
      for (const name of ['robin', 'kim', 'lee']) members.push((await stored(intake(name))).member)
      const [first, second, third] = members
      expect<unknown>(await store.listMembers(Number.MAX_SAFE_INTEGER, 2)).toEqual([third, second])
      expect<unknown>(await store.listMembers(second?.id as number, 2)).toEqual([first])
      expect(await store.listMembers(first?.id as number, 2)).toEqual([])
    })

    test('erasing a member removes all personal data and keeps the requests', async () => {
      await using place = await open()
      const { store } = place
      const { partner, first, book, intake } = await fill(place)
      const { id, member } = await stored(book('robin', nine))
      expect(await audited(store, () => store.eraseMember(member.id, act))).toEqual([
        ['member.erase', `member ${member.id}`],
      ])
      expect(await store.findMember(partner.id, 'robin')).toBeNull()
      expect(await store.findMemberById(member.id)).toBeNull()
      expect(await store.findRequest(id)).toMatchObject({
        id,
        state: 'pending',
        startsAt: nine,
        member: null,
      })
      expect(await store.sortingAnswers([id])).toEqual(new Map([[id, []]]))
      expect(await takenOf(place, first)).toEqual([nine])
      expect((await stored(intake('robin'))).member.id).not.toBe(member.id)
    })

    test('members are due once their last request ended, and are erased unless a request is open', async () => {
      await using place = await open()
      const { store } = place
      const { intake, book, first } = await fill(place)
      const closed = async (name: string, submittedAt: number) => {
        const { id, member } = await stored(intake(name, { submittedAt }))
        await store.close(id, actAt(submittedAt + 5))
        await store.addNote(id, 'Rings back.', act)
        return { id, memberId: member.id }
      }
      const robin = await closed('robin', now)
      await closed('robin', now + 10)
      const kim = await stored(intake('kim', { submittedAt: now }))
      const lee = await stored(book('lee', nine))
      await store.decline(lee.id, act)
      const late = await closed('late', now + 20)
      const end = nine + minutes(45)
      expect(await store.membersDue(now + 15)).toEqual([
        { id: kim.member.id, endedAt: now, openRequest: kim.id },
      ])
      expect(await store.membersDue(now + 16)).toEqual([
        { id: robin.memberId, endedAt: now + 15, openRequest: null },
        { id: kim.member.id, endedAt: now, openRequest: kim.id },
      ])
      const all = await store.membersDue(end + 1)
      expect(all.find(({ id }) => id === lee.member.id)?.endedAt).toBe(end)
      const ids = all.map(({ id }) => id)
      expect(await audited(store, () => store.eraseDue(ids, now + 16, act))).toEqual([
        ['member.erase', `member ${robin.memberId}`],
      ])
      expect(await store.findMemberById(robin.memberId)).toBeNull()
      expect(await store.findRequest(robin.id)).toMatchObject({ state: 'closed', member: null })
      expect([await store.countNotes(robin.id), await store.countNotes(late.id)]).toEqual([0, 1])
      const left = (await store.membersDue(end + 1)).map(({ id }) => id)
      expect(left).toEqual([kim.member.id, lee.member.id, late.memberId])
      expect((await store.eraseDue(left, end + 1, act)).erased).toEqual([lee.member.id, late.memberId])
      expect(await takenOf(place, first)).toEqual([])
      expect(await store.membersDue(end + 1)).toHaveLength(1)
    })

    test('one transaction can change two requests of one member', async () => {
      await using place = await open()
      const { store } = place
      const { first, book } = await fill(place)
      const ids = [nine, nine + minutes(60)].map(async (at) => (await stored(book('robin', at))).id)
      const [one, other] = (await Promise.all(ids)) as [number, number]
      const to = (localOffsetMinutes: number) => ({ localOffsetMinutes })
      const writes: Write[] = [
        { set: 'request', id: one, to: to(-240) },
        { set: 'request', id: other, to: to(60) },
      ]
      const decision = { writes, taken: [first], audit: null, answer: () => undefined }
      await store.change(
        null,
        () => [],
        () => decision,
      )
      const offsets = [one, other].map(async (id) => (await store.findRequest(id))?.localOffsetMinutes)
      expect(await Promise.all(offsets)).toEqual([-240, 60])
    })

    test('erasing a member erases all requests of the member and no other request', async () => {
      await using place = await open()
      const { store } = place
      const { intake } = await fill(place)
      const screeningAnswers = [{ question: 'Q', answer: 'A' }]
      const ids: number[] = []
      for (const index of [0, 1, 2]) {
        const retry = { key: `${index}`, body: '' }
        ids.push((await stored(intake('robin', { screeningAnswers, retry }))).id)
      }
      const { member } = (await store.findRequest(ids[0] as number)) ?? {}
      const other = await stored(intake('lee', { screeningAnswers, retry: { key: 'lee', body: '' } }))
      for (const id of ids) await store.addNote(id, 'Rings back.', act)
      await store.eraseMember(member?.id as number, act)
      for (const id of ids) expect(await store.findRequest(id)).toMatchObject({ member: null })
      const kept = await store.sortingAnswers([...ids, other.id])
      expect(ids.map((id) => kept.get(id))).toEqual([[], [], []])
      expect(kept.get(other.id)).toEqual(screeningAnswers)
      expect(await Promise.all(ids.map((id) => store.countNotes(id)))).toEqual([0, 0, 0])
      expect(await store.forgetReplays(now + 2 * minutes(24 * 60), 9)).toBe(1)
    })
  })

  describe('the audit log', () => {
    test('each change adds one audit line with actor, action and record, in order', async () => {
      await using place = await open()
      const { store } = place
      const { organization, partner, first, member, id, assign, move, intake } = await fillWithIntake(place)
      const waiting = await stored(intake('lee'))
      const absence = { from: '2026-12-24', until: '2026-12-24' }
      const thisOrganization = `organization ${organization.id}`
      const thisPartner = `partner ${partner.id}`
      const thisProvider = `provider ${first}`
      const thisMember = `member ${member.id}`
      const thisRequest = `request ${id}`
      const changes: [() => Promise<unknown>, string, string | null][] = [
        [
          () => store.setOrganizationActive(organization.id, false, act),
          'organization.deactivate',
          thisOrganization,
        ],
        [
          () => store.setOrganizationActive(organization.id, true, act),
          'organization.reactivate',
          thisOrganization,
        ],
        [
          () => store.renameOrganization(organization.id, 'Renamed', act),
          'organization.rename',
          thisOrganization,
        ],
        [() => store.renamePartner(partner.id, 'Renamed', act), 'partner.rename', thisPartner],
        [() => store.setPartnerActive(partner.id, false, act), 'partner.deactivate', thisPartner],
        [() => store.setPartnerActive(partner.id, true, act), 'partner.reactivate', thisPartner],
        [() => store.setPartnerOrganization(partner.id, null, act), 'partner.set-organization', thisPartner],
        [
          () => store.setPartnerRates(partner.id, { readsPerMinute: 1 }, act),
          'partner.set-rates',
          thisPartner,
        ],
        [() => store.setPartnerNetworks(partner.id, null, act), 'partner.set-networks', thisPartner],
        [() => store.issueKey(partner.id, key('a', 100), actAt(100)), 'token.issue', thisPartner],
        [() => store.rotateKey(partner.id, key('b', 300), actAt(200)), 'token.rotate', thisPartner],
        [() => store.cancelCutover(partner.id, actAt(220)), 'token.cancel', thisPartner],
        [() => store.revokeKeys(partner.id, actAt(250)), 'token.revoke', thisPartner],
        [() => store.setProviderActive(first, false, act), 'provider.deactivate', thisProvider],
        [() => store.setProviderActive(first, true, act), 'provider.reactivate', thisProvider],
        [() => store.addTimeOff(first, absence, act), 'provider.time-off-add', thisProvider],
        [() => store.removeTimeOff(first, absence, act), 'provider.time-off-remove', thisProvider],
        [() => assign(first, nine), 'request.assign', thisRequest],
        [() => store.accept(id, act), 'request.accept', thisRequest],
        [() => store.acknowledge(id, 60, act), 'request.acknowledge', thisRequest],
        [() => move(id, first, nine + minutes(45)), 'request.move', thisRequest],
        [() => store.addNote(id, 'Called.', act), 'request.note', thisRequest],
        [() => store.readNotes(id, act), 'request.read-notes', thisRequest],
        [() => store.decline(id, act, 'Moved away.'), 'request.decline', thisRequest],
        [() => store.close(waiting.id, act, 'Sent twice.'), 'request.close', `request ${waiting.id}`],
        [() => store.setMemberActive(member.id, false, act), 'member.deactivate', thisMember],
        [() => store.setMemberActive(member.id, true, act), 'member.reactivate', thisMember],
        [() => store.findMemberByEmail(member.profile.email, act), 'member.find', thisMember],
        [() => store.editMember(member.id, { email: '' }, act), 'member.edit', thisMember],
        [() => store.findMemberByEmail(member.profile.email, act), 'member.find', null],
        [() => load(place, [ontario, quebec], []), 'directory.load', null],
      ]
      for (const [change, action, record] of changes) {
        expect(await audited(store, change)).toEqual([[action, record]])
      }
      const added = await store.addOrganization('Added', act)
      const theirs = await store.addPartner('Added', added.id, act)
      const lines = await store.listAudit(10_000)
      expect(lines.slice(-2).map(({ action, record }) => [action, record])).toEqual([
        ['organization.add', `organization ${added.id}`],
        ['partner.add', `partner ${theirs.id}`],
      ])
      expect(lines.map((line) => line.id)).toEqual(lines.map((_, index) => index + 1))
      const ofStaff = lines.filter(({ actor }) => !actor.startsWith('partner '))
      expect(new Set(ofStaff.map(({ actor }) => actor))).toEqual(new Set(['olive']))
      const details = ofStaff.filter(({ outcome }) => outcome !== 'done')
      expect(details.map(({ action, outcome }) => [action, outcome])).toEqual([
        ['partner.add', `done: organization ${organization.id}`],
        ['partner.set-organization', 'done: none'],
        ['partner.set-rates', 'done: reads 1, bookings default per minute, intakes default per hour'],
        ['partner.set-networks', 'done: calls from any address'],
        ['request.assign', `done: provider ${first}`],
        ['request.move', `done: provider ${first}`],
        ['member.edit', 'done: email'],
        ['partner.add', `done: organization ${added.id}`],
      ])
      expect(await store.listAudit(2)).toEqual(lines.slice(-2))
    })

    test('audit lines have the correct actor and time even if two people use one store', async () => {
      await using place = await open()
      const { store } = place
      const { organization } = await fill(place)
      const { id } = await store.auditHead()
      const [alice, bob] = [
        { actor: 'alice', at: now + 1 },
        { actor: 'bob', at: now + 2 },
      ]
      await Promise.all([
        store.setOrganizationActive(organization.id, false, alice),
        store.setOrganizationActive(organization.id, true, bob),
        store.addPartner('Of Alice', null, alice),
      ])
      const lines = (await store.listAudit(10)).filter((line) => line.id > id)
      expect(lines.map(({ actor, at, action }) => [actor, at, action])).toEqual([
        ['alice', now + 1, 'organization.deactivate'],
        ['bob', now + 2, 'organization.reactivate'],
        ['alice', now + 1, 'partner.add'],
      ])
    })

    test('refused changes and submissions of partners add no audit line of staff', async () => {
      await using place = await open()
      const { store } = place
      const { id, intake, book } = await fillWithIntake(place)
      expect(await audited(store, () => endOf(store.accept(id, act)))).toEqual([])
      expect(await audited(store, () => endOf(store.addOrganization('Harbour', act)))).toEqual([])
      expect(await audited(store, () => Promise.all([intake('kim'), book('lee', nine)]))).toEqual([])
    })

    test('verification passes with a recorded head and fails with a foreign head', async () => {
      await using place = await open()
      const { store } = place
      expect(await store.verifyAudit(null)).toEqual({ intact: true, head: auditStart })
      await fill(place)
      const noted = await store.auditHead()
      await store.appendAudit([
        { at: now, actor: 'server', action: 'member.look-up', record: null, outcome: 'done' },
        { at: now, actor: '::1', action: 'authentication.refuse', record: null, outcome: 'token_invalid' },
      ])
      const head = await store.auditHead()
      // The chain of refused authentications may be pruned earlier than the other chain.
      expect(head.id).toBe(noted.id + 1)
      expect(await store.verifyAudit(noted)).toEqual({ intact: true, head })
      expect(await store.verifyAudit({ ...noted, hash: 'f'.repeat(64) })).toMatchObject({
        intact: false,
        id: noted.id,
      })
      expect(await store.verifyAudit({ id: head.id + 9, hash: head.hash })).toMatchObject({
        intact: false,
        fault: 'the lines up to the given head are missing',
      })
    })

    test('a log of thousands of lines is completely verified and listed', async () => {
      await using place = await open()
      const { store } = place
      const line = {
        at: now,
        action: 'member.look-up',
        record: 'member 1',
        outcome: 'done',
      } as const
      const noted = 2_345
      await store.appendAudit(Array.from({ length: noted }, (_, index) => ({ ...line, actor: `${index}` })))
      await store.appendAudit([{ ...line, actor: 'last' }])
      const head = await store.auditHead()
      expect(head.id).toBe(noted + 1)
      expect(await store.verifyAudit(head)).toEqual({ intact: true, head })
      const lines = await store.listAudit(10_000)
      expect(lines.map(({ actor }) => actor)).toEqual([
        ...Array.from({ length: noted }, (_, index) => `${index}`),
        'last',
      ])
      const paged = []
      for (let page = await store.listAudit(500, { after: 0 }); page.length > 0; ) {
        paged.push(...page)
        page = await store.listAudit(500, { after: page.at(-1)?.id })
      }
      expect(paged).toEqual(lines)
    })

    test('audit lines are filtered by time, actor and record', async () => {
      await using place = await open()
      const { store } = place
      const actors = ['olive', 'pat', 'olive', 'pat', 'olive']
      await store.appendAudit(
        actors.map((actor, index) => {
          const record = index % 3 === 0 ? 'member 1' : null
          return { at: now + index, actor, action: 'member.show', record, outcome: 'done' } as const
        }),
      )
      const ids = async (limit: number, filter: AuditFilter) =>
        (await store.listAudit(limit, filter)).map(({ id }) => id)
      expect(await ids(9, {})).toEqual([1, 2, 3, 4, 5])
      expect(await ids(2, {})).toEqual([4, 5])
      expect(await ids(9, { since: now + 1, until: now + 3 })).toEqual([2, 3])
      expect(await ids(1, { since: now + 1, until: now + 4 })).toEqual([4])
      expect(await ids(9, { actor: 'pat' })).toEqual([2, 4])
      expect(await ids(9, { record: 'member 1' })).toEqual([1, 4])
      expect(await ids(2, { after: 0 })).toEqual([1, 2])
      expect(await ids(2, { after: 2, actor: 'olive' })).toEqual([3, 5])
      expect(await ids(9, { since: now + 1, actor: 'olive', record: 'member 1' })).toEqual([])
      expect(await ids(9, { after: 5 })).toEqual([])
    })
  })

  describe('searches of the audit log', () => {
    const lineOf = (at: number, actor: string, action: AuditAction, record: string | null) =>
      ({ at, actor, action, record, outcome: 'done' }) as const

    test('lines are filtered by one or more actions and by one or more subjects', async () => {
      await using place = await open()
      const { store } = place
      await store.appendAudit([
        lineOf(now, 'olive', 'request.show', 'request 1'),
        lineOf(now, 'pat', 'member.show', 'member 1'),
        lineOf(now, 'partner 1', 'member.look-up', 'member 1'),
        lineOf(now, 'partner 1', 'member.look-up', 'partner 1'),
        lineOf(now, 'olive', 'request.list', null),
        lineOf(now, 'olive', 'request.show', 'request 2'),
        lineOf(now, 'olive', 'token.rotate', 'partner 1'),
      ])
      const ids = async (filter: AuditFilter, limit = 9) =>
        (await store.listAudit(limit, filter)).map(({ id }) => id)
      expect(await ids({ actions: ['request.show'] })).toEqual([1, 6])
      expect(await ids({ actions: ['request.show', 'member.show'] })).toEqual([1, 2, 6])
      expect(await ids({ actions: [] })).toEqual([])
      expect(await ids({ actions: ['request.show', 'member.show'] }, 2)).toEqual([2, 6])
      expect(await ids({ actions: ['request.show', 'member.show'], after: 1 }, 1)).toEqual([2])
      expect(await ids({ actor: 'olive', actions: ['request.show'], record: 'request 2' })).toEqual([6])
      const ofPartner = [{ record: 'partner 1' }, { actor: 'partner 1' }]
      expect(await ids({ anyOf: ofPartner })).toEqual([3, 4, 7])
      expect(await ids({ anyOf: ofPartner }, 2)).toEqual([4, 7])
      expect(await ids({ anyOf: ofPartner, after: 3 }, 1)).toEqual([4])
      expect(await ids({ anyOf: ofPartner, actor: 'olive' })).toEqual([7])
      expect(await ids({ anyOf: [{ record: 'request 2' }, { record: 'member 1' }] })).toEqual([2, 3, 6])
      expect(await ids({ anyOf: [] })).toEqual([])
    })

    test('filtered lines are paged in order of time, even if they were appended out of order', async () => {
      await using place = await open()
      const { store } = place
      const instants = [5, 1, 3, 3, 2, 9]
      await store.appendAudit(instants.map((at) => lineOf(now + at, 'olive', 'member.show', 'member 1')))
      const ids = async (limit: number, filter: AuditFilter) =>
        (await store.listAudit(limit, filter)).map(({ id }) => id)
      const filters = [{ actor: 'olive' }, { since: now }, { until: now + 10, record: 'member 1' }]
      for (const filter of filters) {
        expect(await ids(9, filter)).toEqual([2, 5, 3, 4, 1, 6])
        expect(await ids(2, filter)).toEqual([1, 6])
        expect(await ids(2, { ...filter, after: 5 })).toEqual([3, 4])
        expect(await ids(2, { ...filter, after: 3 })).toEqual([4, 1])
        expect(await ids(2, { ...filter, after: 6 })).toEqual([])
        expect(await ids(2, { ...filter, after: 0 })).toEqual([2, 5])
      }
      expect(await ids(9, {})).toEqual([1, 2, 3, 4, 5, 6])
    })

    test('refused authentications are counted by partner and reason, most frequent first', async () => {
      await using place = await open()
      const { store } = place
      const refusal = (at: number, record: string | null, outcome: string) =>
        ({ ...lineOf(now + at, '::1', 'authentication.refuse', record), outcome }) as const
      const claimed = 'token_invalid, claimed'
      await store.appendAudit([
        refusal(0, 'partner 1', 'partner_inactive'),
        refusal(1, 'partner 1', claimed),
        refusal(2, 'partner 1', 'partner_inactive'),
        refusal(3, 'partner 1', claimed),
        refusal(4, 'partner 1', claimed),
        refusal(5, 'partner 11', claimed),
        refusal(6, null, 'partner_not_found'),
        lineOf(now + 7, 'olive', 'token.rotate', 'partner 1'),
      ])
      const countOf = (
        partnerId: number | null,
        outcome: string,
        lines: number,
        at: number,
        count = lines,
      ) => {
        const [reason = '', isClaimed] = outcome.split(', ')
        return { partnerId, reason, isClaimed: isClaimed !== undefined, count, lines, lastAt: now + at }
      }
      const nobodys = countOf(null, 'partner_not_found', 1, 6)
      const [theirs, others] = [countOf(1, 'partner_inactive', 2, 2), countOf(11, claimed, 1, 5)]
      const of = (since: number, most: number, partnerId?: number) =>
        store.countRefusals({ since: now + since, most, partnerId })
      expect(await of(0, 9)).toEqual([countOf(1, claimed, 3, 4), theirs, nobodys, others])
      expect(await of(0, 3)).toEqual([nobodys, countOf(1, claimed, 1, 4), others])
      expect(await of(7, 9)).toEqual([])
      expect(await of(0, 9, 1)).toEqual([countOf(1, claimed, 3, 4), theirs])
      expect(await of(0, 2, 1)).toEqual([countOf(1, claimed, 2, 4)])
      expect(await of(4, 9, 1)).toEqual([countOf(1, claimed, 1, 4)])
      expect(await of(0, 9, 2)).toEqual([])
      // A line can stand for several refusals.
      await store.appendAudit([
        refusal(8, 'partner 11', `${claimed}, 40 more`),
        refusal(7, 'partner 11', `${claimed}, 2 more`),
        refusal(8, 'partner 11', `${claimed}, 2 more`),
      ])
      expect((await of(0, 12))[0]).toEqual(countOf(11, claimed, 4, 8, 45))
    })

    test('e-mail conflicts and people refused by their limit are counted by partner', async () => {
      await using place = await open()
      const { store } = place
      const lineOf = (at: number, actor: string, isConflict: boolean, outcome: string) => ({
        ...{ at: now + at, actor, record: isConflict ? `member ${at}` : actor, outcome },
        action: isConflict ? ('member.email-conflict' as const) : ('partner.email-limit' as const),
      })
      await store.appendAudit([
        lineOf(0, 'partner 1', true, 'email_taken'),
        lineOf(1, 'partner 1', true, 'email_taken'),
        lineOf(2, 'partner 1', true, 'email_taken'),
        lineOf(3, 'partner 1', false, 'email_conflicts_limited'),
        lineOf(4, 'partner 1', false, 'email_conflicts_limited, 7 more'),
        lineOf(5, 'partner 2', true, 'email_taken'),
        { ...lineOf(6, 'partner 1', true, 'done'), action: 'member.look-up' },
      ])
      const of = async (after: number) =>
        (await store.countEmailConflicts(now + after))
          .map(({ partnerId, reason, count }) => [partnerId, reason, count])
          .sort()
      const others = [2, 'email_taken', 1]
      expect(await of(0)).toEqual([[1, 'email_conflicts_limited', 8], [1, 'email_taken', 2], others])
      expect(await of(4)).toEqual([others])
    })

    test('a log search finds the request ids of a member until the member is erased', async () => {
      await using place = await open()
      const { store } = place
      const { member, id, book } = await fillWithIntake(place)
      const second = await stored(book('robin', nine))
      await stored(book('kim', nine + slotMillis))
      expect(await store.listRequestIdsOf(member.id)).toEqual([id, second.id])
      expect(await store.listRequestIdsOf(4711)).toEqual([])
      await store.eraseMember(member.id, act)
      expect(await store.listRequestIdsOf(member.id)).toEqual([])
    })
  })

  describe('screening risk', () => {
    test('an audit line shows that staff have read the screening answers of a request', async () => {
      await using place = await open()
      const { store } = place
      const { intake } = await fill(place)
      const ids: number[] = []
      for (const name of ['robin', 'kim', 'lee', 'max']) ids.push((await stored(intake(name))).id)
      const [read, seen, shown, tried] = ids as [number, number, number, number]
      await store.readScreening(read, act)
      const line = (action: AuditAction, id: number, outcome = 'done') =>
        store.appendAudit([{ ...act, action, record: `request ${id}`, outcome }])
      await line('request.read-risk', seen)
      await line('request.show', shown)
      await line('request.read-screening', tried, 'record_unknown')
      expect(await store.listLookedAt(ids)).toEqual([read])
      expect(await store.listLookedAt([shown])).toEqual([])
      expect(await store.listLookedAt([])).toEqual([])
    })
  })

  describe('maintenance', () => {
    test('a server is listed while it is registered', async () => {
      await using place = await open()
      const { maintenance } = place
      if (!maintenance) return
      expect(await maintenance.listServers()).toEqual([])
      const note = { host: '127.0.0.1', port: 8080, version: '1.0.0', startedAt: now }
      await maintenance.noteServer(note)
      await maintenance.noteServer({ ...note, port: 8081 })
      const [server, ...others] = await maintenance.listServers()
      expect([server?.note, others]).toEqual([{ ...note, port: 8081 }, []])
      await maintenance.noteServer(null)
      expect(await maintenance.listServers()).toEqual([])
    })

    test('the times of the last backup and drill are reported, and an old backup is bad', async () => {
      await using place = await open()
      const { maintenance, freeTarget } = place
      await fill(place)
      if (!maintenance || freeTarget === null) return
      const backup = async (at: number, oldest?: number) =>
        (await maintenance.check(at, oldest)).find(({ check }) => check === 'backup')
      expect(await maintenance.findLastBackups()).toEqual({ backedUpAt: null, drilledAt: null })
      expect(await backup(now, minutes(60))).toMatchObject({ state: 'bad', detail: 'no backup was made yet' })
      await maintenance.backUp(freeTarget, null, act)
      await maintenance.noteDrill(actAt(now + 1))
      expect(await maintenance.findLastBackups()).toEqual({ backedUpAt: now, drilledAt: now + 1 })
      expect(await backup(now + minutes(60), minutes(60))).toMatchObject({ state: 'ok' })
      expect(await backup(now + minutes(60) + 1, minutes(60))).toMatchObject({
        state: 'bad',
      })
      expect(await backup(now + minutes(60) + 1)).toMatchObject({ state: 'ok' })
    })

    test('the check of a new database finds nothing bad and reports that no backup was made', async () => {
      await using place = await open()
      await fill(place)
      if (!place.maintenance || place.freeTarget === null) return
      const findings = await place.maintenance.check(now)
      expect(findings.filter(({ state }) => state === 'bad')).toEqual([])
      expect(findings).toContainEqual({ check: 'settings', state: 'ok', detail: 'correct' })
      expect(findings).toContainEqual({ check: 'integrity', state: 'ok', detail: 'no faults' })
      expect(findings).toContainEqual({ check: 'backup', state: 'note', detail: 'no backup was made yet' })
    })

    test('the most recently recorded zone data is returned', async () => {
      await using place = await open()
      if (!place.maintenance) return
      expect(await place.maintenance.findZoneData()).toBeNull()
      await place.maintenance.noteZoneData({ edition: '2026f', folder: null })
      await place.maintenance.noteZoneData({ edition: '2027a', folder: '/zones' })
      expect(await place.maintenance.findZoneData()).toEqual({ edition: '2027a', folder: '/zones' })
    })

    test('a backup has the content of the database, is logged, and overwrites no file', async () => {
      await using place = await open()
      const { store, maintenance, freeTarget } = place
      const { partner, book, intake } = await fill(place)
      await book('robin', nine)
      await intake('kim')
      await store.issueKey(partner.id, key('a', 100), actAt(100))
      if (!maintenance || freeTarget === null) return
      const held = async ({ store, feed }: Pick<Place, 'store' | 'feed'>) => ({
        shown: await wholeDirectory({ feed }),
        partners: await store.listPartners(),
        requests: await store.listRequests({}),
        members: await Promise.all(['robin', 'kim'].map((id) => store.findMember(partner.id, id))),
      })
      const before = await held(place)
      const head = await store.auditHead()
      const lines = await audited(store, () => maintenance.backUp(freeTarget, null, act))
      expect(lines).toEqual([['database.back-up', null]])
      const untried = '0 days old; no drill yet (anteroom backup drill)'
      const age = { check: 'backup', state: 'ok' as const, detail: untried }
      expect(await maintenance.check(now)).toContainEqual(age)
      expect(await endOf(maintenance.backUp(freeTarget, null, actAt(now - 9 * 86_400_000)))).toBe(
        'database_unusable',
      )
      expect(await maintenance.check(now)).toContainEqual(age)
      const copy = await place.openAgain(freeTarget)
      expect(await held(copy)).toEqual(before)
      expect([before.requests.length, before.members.filter((member) => member).length]).toEqual([2, 2])
      expect(await copy.store.verifyAudit(head)).toMatchObject({ intact: true })
      await copy.store.setPartnerActive(partner.id, false, act)
      expect(await held(place)).toEqual(before)
    })

    test('a drill is logged as a drill and does not count as a backup', async () => {
      await using place = await open()
      const { store, maintenance, freeTarget } = place
      await fill(place)
      if (!maintenance || freeTarget === null) return
      const lines = await audited(store, () => maintenance.backUp(freeTarget, null, act, { isDrill: true }))
      expect(lines).toEqual([['database.drill', null]])
      await maintenance.noteDrill(actAt(now - 3 * 86_400_000))
      expect(await maintenance.check(now)).toContainEqual({
        check: 'backup',
        state: 'note',
        detail: 'no backup was made yet',
      })
      await maintenance.backUp(`${freeTarget}.kept`, null, act)
      expect(await maintenance.check(now)).toContainEqual({
        check: 'backup',
        state: 'ok',
        detail: '0 days old; last drill 3 days ago',
      })
    })

    test('an engine without backups refuses to make a backup and adds no audit line', async () => {
      await using place = await open()
      const { store, maintenance, freeTarget } = place
      if (!maintenance || freeTarget !== null) return
      const refused = async () =>
        expect(await endOf(maintenance.backUp('copy', null, act))).toBe('database_unusable')
      expect(await audited(store, refused)).toEqual([])
      expect(await maintenance.findLastBackups()).toEqual({
        backedUpAt: null,
        drilledAt: null,
        isByServer: true,
      })
    })

    test('a purge removes deleted rows if no reader blocks it', async () => {
      await using place = await open()
      const { book } = await fill(place)
      const { member } = await stored(book('robin', nine))
      await place.store.eraseMember(member.id, act)
      expect((await place.maintenance?.purge()) ?? true).toBe(true)
    })
  })
}
