import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { slotMillis } from '../../src/domain/booking-request'
import { Refusal } from '../../src/domain/errors'
import type { Store } from '../../src/domain/store'
import { entry, furnish, minutes, nine, now, ontario, type Place, quebec } from './store.contract'

const key = (kid: string, issuedAt: number, startsAt = issuedAt) => ({
  kid,
  secret: Buffer.from(`secret of ${kid}`),
  issuedAt,
  startsAt,
})

/** What a promise is refused with; fails where it is not. */
async function refusalOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    return error instanceof Refusal ? error.kind : String(error)
  }
  return 'nothing'
}

/** The actions and records of the audit lines that something leaves. */
async function audited(store: Store, change: () => Promise<unknown>): Promise<(string | null)[][]> {
  const { id } = await store.auditHead()
  await change()
  const lines = await store.listAudit(10_000)
  return lines.filter((line) => line.id > id).map(({ action, record }) => [action, record])
}

async function takenOf(store: Store, providerId: number): Promise<number[]> {
  const { taken } = await store.readDirectory(null)
  return (taken.get(providerId) ?? []).map(({ startsAt }) => startsAt)
}

/** The furniture of a store, with an intake to be assigned. */
async function furnishWithIntake(store: Store) {
  const furniture = await furnish(store)
  const answer = await furniture.intake('robin')
  if (answer.outcome !== 'stored') throw new Error('the intake was not stored')
  const { id, member } = answer.request
  const assign = async (providerId: number, startsAt: number | null, authorizationNumber = 'AUTH-INTAKE') =>
    store.assign(id, {
      providerId,
      startsAt,
      localOffsetMinutes: startsAt === null ? null : 0,
      version: await store.directoryVersion(),
      authorizationNumber,
    })
  return { ...furniture, id, member, assign }
}

/** What the port promises to those who run the service. */
export function storeDoesWhatTheOperatorAsks(open: () => Promise<Place>): void {
  describe('keys', () => {
    test('are listed without their secrets, with when and why they ended', async () => {
      await using place = await open()
      const { store } = place
      const { partner } = await furnish(store)
      await store.addKey(partner.id, key('a', 100))
      await store.addKey(partner.id, key('b', 200, 500))
      await store.addKey(partner.id, key('c', 300, 900))
      await store.noteKeyUses(new Map([['a', 60_000]]))
      const record = { partnerId: partner.id, lastUsedAt: null }
      expect(await store.listKeys()).toEqual([
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

    test('that are revoked end at once, and a successor that waits never begins', async () => {
      await using place = await open()
      const { store } = place
      const { partner } = await furnish(store)
      await store.addKey(partner.id, key('a', 100))
      await store.addKey(partner.id, key('b', 200, 500))
      await store.revokeKeys(partner.id, 300)
      const ends = (await store.listKeys()).map(({ kid, endsAt, endReason }) => [kid, endsAt, endReason])
      expect(ends).toEqual([
        ['a', 300, 'revoked'],
        ['b', 500, 'cancelled'],
      ])
      expect(await refusalOf(store.revokeKeys(partner.id, 400))).toBe('record_unknown')
      await store.addKey(partner.id, key('c', 400))
      const [a, b, c] = await store.listKeys()
      expect([a?.endsAt, b?.endsAt, c?.endsAt]).toEqual([300, 500, null])
    })
  })

  test('records that are not there are record_unknown, and leave no line', async () => {
    await using place = await open()
    const { store } = place
    const { partner, first } = await furnishWithIntake(store)
    const absence = { from: '2026-12-24', until: '2026-12-24' }
    const assignment = {
      providerId: first,
      startsAt: null,
      localOffsetMinutes: null,
      version: 0,
      authorizationNumber: 'AUTH-NONE',
    }
    const nowhere = 4711
    const refused: Record<string, () => Promise<unknown>> = {
      addPartner: () => store.addPartner('New', nowhere, now),
      addKey: () => store.addKey(nowhere, key('z', 100)),
      revokeKeys: () => store.revokeKeys(nowhere, 100),
      setOrganizationActive: () => store.setOrganizationActive(nowhere, true),
      setPartnerActive: () => store.setPartnerActive(nowhere, true),
      setPartnerOrganization: () => store.setPartnerOrganization(nowhere, null),
      'setPartnerOrganization to none that is there': () => store.setPartnerOrganization(partner.id, nowhere),
      setProviderActive: () => store.setProviderActive(nowhere, true),
      addTimeOff: () => store.addTimeOff(nowhere, absence),
      removeTimeOff: () => store.removeTimeOff(nowhere, absence),
      'removeTimeOff of none that is there': () => store.removeTimeOff(first, absence),
      readScreening: () => store.readScreening(nowhere),
      assign: () => store.assign(nowhere, assignment),
      accept: () => store.accept(nowhere, now),
      decline: () => store.decline(nowhere, now),
      setMemberActive: () => store.setMemberActive(nowhere, true),
      exportMember: () => store.exportMember(nowhere),
      eraseMember: () => store.eraseMember(nowhere),
    }
    const before = await store.auditHead()
    const kinds: Record<string, string> = {}
    for (const [name, ask] of Object.entries(refused)) kinds[name] = await refusalOf(ask())
    expect(kinds).toEqual(Object.fromEntries(Object.keys(refused).map((name) => [name, 'record_unknown'])))
    expect(await store.auditHead()).toEqual(before)
    expect([await store.findRequest(nowhere), await store.findMemberById(nowhere)]).toEqual([null, null])
  })

  describe('partners and providers', () => {
    test('a partner is given another organization, and none', async () => {
      await using place = await open()
      const { store } = place
      const { partner } = await furnish(store)
      const other = await store.addOrganization('Other', now)
      await store.setPartnerOrganization(partner.id, other.id)
      expect(await store.listPartners()).toEqual([{ ...partner, organization: other }])
      await store.setPartnerOrganization(partner.id, null)
      expect(await store.listPartners()).toEqual([{ ...partner, organization: null }])
    })

    test('a provider is switched off and on, and their absences come and go', async () => {
      await using place = await open()
      const { store } = place
      const { first } = await furnish(store)
      const before = (await store.readDirectory(null)).providers.find(({ id }) => id === first)
      const absence = { from: '2027-01-04T09:00', until: '2027-01-04T12:00' }
      const since = async (change: () => Promise<void>) => {
        const version = await store.directoryVersion()
        await change()
        return (await store.readDirectory(version)).providers
      }
      expect(await since(() => store.setProviderActive(first, false))).toEqual([
        { ...before, active: false },
      ] as never)
      expect(await since(() => store.setProviderActive(first, true))).toEqual([before] as never)
      expect(await since(() => store.addTimeOff(first, absence))).toEqual([
        { ...before, timeOff: [...(before?.timeOff ?? []), absence] },
      ] as never)
      expect(await since(() => store.removeTimeOff(first, absence))).toEqual([before] as never)
    })

    test('a preview of a directory tells what loading it would do, and does nothing', async () => {
      await using place = await open()
      const { store } = place
      await furnish(store)
      const before = await store.readDirectory(null)
      const head = await store.auditHead()
      const entries = [[ontario], [entry('first', { bio: 'New' }), entry('third')]] as const
      const preview = await store.previewDirectory(...entries)
      expect(preview).toEqual({
        added: ['third'],
        changed: ['first'],
        deactivated: ['CA-QC', 'second'],
        unchanged: 1,
      })
      expect(await store.readDirectory(null)).toEqual(before)
      expect(await store.auditHead()).toEqual(head)
      expect(await store.loadDirectory(...entries)).toEqual(preview)
    })
  })

  describe('requests', () => {
    test('are listed in order, all or intakes or those without a provider', async () => {
      await using place = await open()
      const { store } = place
      const { book, intake, assign, first } = await furnishWithIntake(store)
      await book('kim', nine)
      await intake('lee')
      await assign(first, null)
      const list = async (intakesOnly: boolean, unassignedOnly: boolean) =>
        (await store.listRequests({ intakesOnly, unassignedOnly })).map(({ member, state, isIntake }) => [
          member?.externalUserId,
          state,
          isIntake,
        ])
      const robin = ['robin', 'pending', true]
      const kim = ['kim', 'pending', false]
      const lee = ['lee', 'unassigned', true]
      expect(await list(false, false)).toEqual([robin, kim, lee])
      expect(await list(true, false)).toEqual([robin, lee])
      expect(await list(false, true)).toEqual([lee])
      expect(await list(true, true)).toEqual([lee])
    })

    test('an intake that is assigned is pending, with a number, and holds its slot', async () => {
      await using place = await open()
      const { store } = place
      const { id, member, first, assign } = await furnishWithIntake(store)
      const request = {
        id,
        isIntake: true,
        state: 'unassigned',
        providerId: null,
        authorizationNumber: null,
        startsAt: null,
        acceptedAt: null,
        declinedAt: null,
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
      const { taken } = await store.readDirectory(null)
      expect(taken.get(first)).toEqual([{ requestId: id, startsAt: nine, endsAt: nine + slotMillis }])
    })

    test('an intake that is assigned again is pending again, under its number, and its earlier slot is free', async () => {
      await using place = await open()
      const { store } = place
      const { id, first, second, assign } = await furnishWithIntake(store)
      await assign(first, nine)
      for (const move of [() => store.accept(id, now + 5), () => store.decline(id, now + 6)]) {
        await move()
        const version = await store.directoryVersion()
        expect(await assign(second, nine + minutes(15), 'AUTH-ANOTHER')).toBe('done')
        expect(await store.findRequest(id)).toMatchObject({
          state: 'pending',
          providerId: second,
          authorizationNumber: 'AUTH-INTAKE',
          startsAt: nine + minutes(15),
          acceptedAt: null,
          declinedAt: null,
        })
        expect([await takenOf(store, first), await takenOf(store, second)]).toEqual([
          [],
          [nine + minutes(15)],
        ])
        expect([...(await store.readDirectory(version)).taken.keys()]).toContain(second)
      }
      const version = await store.directoryVersion()
      expect(await assign(first, null)).toBe('done')
      expect([await takenOf(store, first), await takenOf(store, second)]).toEqual([[], []])
      expect([...(await store.readDirectory(version)).taken.keys()]).toContain(second)
      expect(await store.findRequest(id)).toMatchObject({ providerId: first, startsAt: null })
    })

    test('an intake may keep or move within the time that it holds itself, and nobody else’s', async () => {
      await using place = await open()
      const { store } = place
      const { first, assign, book } = await furnishWithIntake(store)
      await book('kim', nine + minutes(90))
      expect(await assign(first, nine)).toBe('done')
      expect(await assign(first, nine)).toBe('done')
      expect(await assign(first, nine + minutes(30))).toBe('done')
      expect(await assign(first, nine + minutes(60))).toBe('slot_taken')
      expect(await takenOf(store, first)).toEqual([nine + minutes(30), nine + minutes(90)])
    })

    test('a booking request is not an intake, and a judgement before a change is stale', async () => {
      await using place = await open()
      const { store } = place
      const { id, first, book } = await furnishWithIntake(store)
      const booked = await book('kim', nine)
      const version = await store.directoryVersion()
      const assignment = {
        providerId: first,
        startsAt: null,
        localOffsetMinutes: null,
        version,
        authorizationNumber: 'AUTH-X',
      }
      const bookedId = booked.outcome === 'stored' ? booked.request.id : Number.NaN
      expect(await store.assign(bookedId, assignment)).toBe('not_an_intake')
      await store.setProviderActive(first, false)
      expect(await store.assign(id, assignment)).toBe('stale')
      expect(await store.findRequest(id)).toMatchObject({ state: 'unassigned', providerId: null })
    })

    test('move as the table of states says and no other way, and a declined one frees its slot', async () => {
      await using place = await open()
      const { store } = place
      const { first, book } = await furnish(store)
      const start = async (name: string) => {
        const answer = await book(name, nine)
        return answer.outcome === 'stored' ? answer.request.id : Number.NaN
      }
      const id = await start('kim')
      await store.accept(id, now + 1)
      expect(await store.findRequest(id)).toMatchObject({
        state: 'accepted',
        acceptedAt: now + 1,
        declinedAt: null,
      })
      expect(await refusalOf(store.accept(id, now + 2))).toBe('move_unknown')
      expect(await takenOf(store, first)).toEqual([nine])
      await store.decline(id, now + 3)
      expect(await store.findRequest(id)).toMatchObject({
        state: 'declined',
        declinedAt: now + 3,
        startsAt: nine,
        providerId: first,
      })
      expect(await takenOf(store, first)).toEqual([])
      expect(await refusalOf(store.accept(id, now + 4))).toBe('move_unknown')
      expect(await refusalOf(store.decline(id, now + 5))).toBe('move_unknown')
      const next = await start('lee')
      await store.decline(next, now + 6)
      expect(await store.findRequest(next)).toMatchObject({ state: 'declined', declinedAt: now + 6 })
    })

    test('an intake without a provider can be neither accepted nor declined', async () => {
      await using place = await open()
      const { store } = place
      const { id } = await furnishWithIntake(store)
      expect(await refusalOf(store.accept(id, now))).toBe('move_unknown')
      expect(await refusalOf(store.decline(id, now))).toBe('move_unknown')
      expect(await store.findRequest(id)).toMatchObject({
        state: 'unassigned',
        acceptedAt: null,
        declinedAt: null,
      })
    })

    test('have screening answers, the reading of which is audited and the sorting by which is not', async () => {
      await using place = await open()
      const { store } = place
      const { id } = await furnishWithIntake(store)
      const answers = [{ question: 'Sleep?', answer: 'Several days' }]
      expect(
        await audited(store, async () => expect(await store.readScreening(id)).toEqual(answers)),
      ).toEqual([['request.read-screening', `request ${id}`]])
      expect(
        await audited(store, async () =>
          expect(await store.sortingAnswers([id])).toEqual(new Map([[id, answers]])),
        ),
      ).toEqual([])
    })
  })

  describe('a member', () => {
    test('is exported with all that is held on them', async () => {
      await using place = await open()
      const { store } = place
      const { id, member, intake } = await furnishWithIntake(store)
      await intake('kim')
      expect(await audited(store, () => store.exportMember(member.id))).toEqual([
        ['member.export', `member ${member.id}`],
      ])
      const held = await store.exportMember(member.id)
      expect(held.member).toEqual(member)
      expect(held.requests.map(({ id: held, screeningAnswers }) => [held, screeningAnswers])).toEqual([
        [id, [{ question: 'Sleep?', answer: 'Several days' }]],
      ])
    })

    test('who is erased is gone, their answers too, and the bare facts of their requests stay', async () => {
      await using place = await open()
      const { store } = place
      const { partner, first, book, intake } = await furnish(store)
      const booked = await book('robin', nine)
      if (booked.outcome !== 'stored') throw new Error('not stored')
      const { id, member } = booked.request
      expect(await audited(store, () => store.eraseMember(member.id))).toEqual([
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
      expect(await takenOf(store, first)).toEqual([nine])
      const again = await intake('robin')
      expect(again.outcome).toBe('stored')
      expect(again.outcome === 'stored' && again.request.member.id).not.toBe(member.id)
    })
  })

  describe('the audit log', () => {
    test('has a line of each change, with who, what and which, in its order', async () => {
      await using place = await open()
      const { store } = place
      const { organization, partner, first, member, id, assign } = await furnishWithIntake(store)
      const absence = { from: '2026-12-24', until: '2026-12-24' }
      const changes: [() => Promise<unknown>, string, string | null][] = [
        [
          () => store.setOrganizationActive(organization.id, false),
          'organization.deactivate',
          `organization ${organization.id}`,
        ],
        [
          () => store.setOrganizationActive(organization.id, true),
          'organization.reactivate',
          `organization ${organization.id}`,
        ],
        [() => store.setPartnerActive(partner.id, false), 'partner.deactivate', `partner ${partner.id}`],
        [() => store.setPartnerActive(partner.id, true), 'partner.reactivate', `partner ${partner.id}`],
        [
          () => store.setPartnerOrganization(partner.id, null),
          'partner.set-organization',
          `partner ${partner.id}`,
        ],
        [() => store.addKey(partner.id, key('a', 100)), 'token.issue', `partner ${partner.id}`],
        [() => store.addKey(partner.id, key('b', 200, 300)), 'token.rotate', `partner ${partner.id}`],
        [() => store.revokeKeys(partner.id, 250), 'token.revoke', `partner ${partner.id}`],
        [() => store.setProviderActive(first, false), 'provider.deactivate', `provider ${first}`],
        [() => store.setProviderActive(first, true), 'provider.reactivate', `provider ${first}`],
        [() => store.addTimeOff(first, absence), 'provider.time-off-add', `provider ${first}`],
        [() => store.removeTimeOff(first, absence), 'provider.time-off-remove', `provider ${first}`],
        [() => assign(first, nine), 'request.assign', `request ${id}`],
        [() => store.accept(id, now), 'request.accept', `request ${id}`],
        [() => store.decline(id, now), 'request.decline', `request ${id}`],
        [() => store.setMemberActive(member.id, false), 'member.deactivate', `member ${member.id}`],
        [() => store.setMemberActive(member.id, true), 'member.reactivate', `member ${member.id}`],
        [() => store.loadDirectory([ontario, quebec], []), 'directory.load', null],
      ]
      for (const [change, action, record] of changes) {
        expect(await audited(store, change)).toEqual([[action, record]])
      }
      const lines = await store.listAudit(10_000)
      expect(lines.map((line) => line.id)).toEqual(lines.map((_, index) => index + 1))
      expect(new Set(lines.map(({ actor, outcome }) => `${actor} ${outcome}`))).toEqual(
        new Set(['test done']),
      )
      expect(await store.listAudit(2)).toEqual(lines.slice(-2))
    })

    test('has no line of what was refused, nor of what a partner submits', async () => {
      await using place = await open()
      const { store } = place
      const { id, intake, book } = await furnishWithIntake(store)
      expect(await audited(store, () => refusalOf(store.accept(id, now)))).toEqual([])
      expect(await audited(store, () => refusalOf(store.addOrganization('Harbour', now)))).toEqual([])
      expect(await audited(store, () => Promise.all([intake('kim'), book('lee', nine)]))).toEqual([])
    })

    test('is intact, goes on from a head that was noted, and is not what another head says', async () => {
      await using place = await open()
      const { store } = place
      expect(await store.verifyAudit(null)).toEqual({ intact: true, head: { id: 0, hash: '0'.repeat(64) } })
      await furnish(store)
      const noted = await store.auditHead()
      await store.appendAudit([
        { at: now, actor: 'server', action: 'authentication.refuse', record: null, outcome: 'token_invalid' },
      ])
      const head = await store.auditHead()
      expect(head.id).toBe(noted.id + 1)
      expect(await store.verifyAudit(noted)).toEqual({ intact: true, head })
      expect(await store.verifyAudit({ ...noted, hash: 'f'.repeat(64) })).toMatchObject({
        intact: false,
        id: noted.id,
      })
      expect(await store.verifyAudit({ id: head.id + 1, hash: head.hash })).toMatchObject({
        intact: false,
        id: head.id + 1,
      })
    })
  })

  describe('health and backup', () => {
    test('a new store is healthy and was never backed up', async () => {
      await using place = await open()
      await furnish(place.store)
      const findings = await place.upkeep.check(now)
      expect(findings.filter(({ state }) => state === 'bad')).toEqual([])
      expect(findings).toContainEqual({ check: 'backup', state: 'note', detail: 'none was made yet' })
    })

    test('a backup is a file of its own, is noted, and never replaces another', async () => {
      await using place = await open()
      const { store, upkeep, freePath } = place
      await furnish(store)
      const act = { actor: 'operator', at: now }
      expect(await audited(store, () => upkeep.backUp(freePath, act))).toEqual([['database.back-up', null]])
      expect(existsSync(freePath)).toBe(true)
      const age = { check: 'backup', state: 'ok', detail: '0 days old' }
      expect(await upkeep.check(now)).toContainEqual(age as never)
      expect(await refusalOf(upkeep.backUp(freePath, { ...act, at: now - 9 * 86_400_000 }))).toBe(
        'database_unusable',
      )
      expect(await upkeep.check(now)).toContainEqual(age as never)
    })
  })
}
