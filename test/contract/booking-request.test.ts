import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { actsOf } from '../support/acts'
import { booking, countryWide, provider, region } from '../support/builders'
import { startService } from '../support/service'
import { daily, entryOf, expectRefusal, expectSuccess, lookUp, on, paths, slotsAt } from './contract'

type Provider = ReturnType<typeof provider>

const working = (lastName: string, different: Partial<Provider> = {}): Provider =>
  provider(`ref-${lastName}`, {
    lastName,
    timeZone: 'Etc/UTC',
    workingHours: [daily('09:00', '18:00')],
    ...different,
  })

const directory = (isGone = false) => ({
  regions: [
    region({ id: 31 }),
    region({ id: 12, stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' }),
    region({ id: 7, stateProvinceCode: 'NB', stateProvinceNameLocal: 'New Brunswick', active: false }),
    { ...countryWide('GB', 'United Kingdom'), id: 44 },
  ],
  providers: [
    working('First'),
    working('Second'),
    working('Leaving', { active: !isGone }),
    working('Moving', {
      licenses: [
        { region: 'CA-ON', from: '2020-01-01', until: '2026-12-05' },
        { region: 'CA-QC', from: '2026-12-10', until: '2026-12-12' },
        { region: 'CA-NB', from: '2020-01-01' },
      ],
    }),
    working('Noticed', { minimumNoticeMinutes: 24 * 60 }),
    working('Briton', {
      timeZone: 'Europe/London',
      licenses: [{ region: 'GB', from: '2020-01-01' }],
      workingHours: [on('2026-12-03', '09:00', '09:45')],
    }),
    working('Ottawan', { timeZone: 'America/Toronto', workingHours: [on('2026-12-02', '19:00', '19:45')] }),
  ],
})

const start = () => startService({ directory: directory() })
let service: Awaited<ReturnType<typeof start>>
let ids: Record<string, number>
beforeAll(async () => {
  service = await start()
  const { body } = await service.get(`${paths.providers}?region_id=31`)
  ids = Object.fromEntries(
    body.results.map(({ providerId, details }: { providerId: number; details: { lastName: string } }) => [
      details.lastName,
      providerId,
    ]),
  )
})
afterAll(() => service.stop())

function at(name: string, utcStartTime: string) {
  const providerId = ids[name]
  if (providerId === undefined) throw new Error(`no provider ${name}`)
  return { providerId, utcStartTime }
}

async function isOffered(name: string, utcStartTime: string): Promise<boolean> {
  const { availability } = await entryOf(service, 31, name)
  return availability.some((slot) => Bun.deepEquals(slot, slotsAt(utcStartTime)[0]))
}

const book = (body: unknown, token?: string) => service.post(paths.booking, body, token)

describe('contract: a booking', () => {
  test('answers 201 with the whole undecided booking and an authorization number', async () => {
    const memberData = { phoneNumber: '+1 416 555 0100', preferredModality: 'Couples counseling' }
    const answer = await book(booking('whole', at('First', '2026-12-02T09:00:00Z'), memberData))
    const { id, member, authorizationNumber } = answer.body
    expectSuccess(answer, 201, {
      id,
      providerId: ids.First,
      authorizationNumber,
      phoneNumber: '+1 416 555 0100',
      preferredModality: 'Couples counseling',
      acceptedAt: null,
      declinedAt: null,
      member: { id: member.id, firstName: 'Robin', email: 'whole@example.com' },
      utcStartTime: '2026-12-02T09:00:00Z',
    })
    expect([id, member.id].every((value) => Number.isSafeInteger(value) && value > 0)).toBe(true)
    expect(authorizationNumber).toMatch(/^[\x21-\x7e]+$/)
    expect(await isOffered('First', '2026-12-02T09:00:00Z')).toBe(false)
  })

  test('has an empty phoneNumber and preferredModality if the member has none', async () => {
    const answer = await book(booking('plain', at('First', '2026-12-02T09:45:00Z')))
    expect([answer.status, answer.body.phoneNumber, answer.body.preferredModality]).toEqual([201, '', ''])
  })

  test('ignores query parameters', async () => {
    const answer = await service.post(`${paths.booking}?page=0&page=x&external_user_id=y`, booking('queried'))
    expect([answer.status, (await lookUp(service, 'queried')).body.id]).toEqual([201, answer.body.member.id])
  })

  test('has a unique id and authorization number', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, day) =>
        book(booking('numbered', at('Second', `2026-12-${String(10 + day)}T09:00:00Z`))),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(10)
    expect(new Set(answers.map(({ body }) => body.authorizationNumber)).size).toBe(10)
    expect(new Set(answers.map(({ body }) => body.member.id)).size).toBe(1)
  })
})

describe('contract: booking a slot', () => {
  const rows: { name: string; provider: string; start: string }[] = [
    { name: 'in the past', provider: 'Second', start: '2026-11-30T09:00:00Z' },
    { name: 'that started this morning', provider: 'Second', start: '2026-12-01T11:15:00Z' },
    { name: 'off the grid', provider: 'Second', start: '2026-12-03T09:10:00Z' },
    { name: 'outside the working hours', provider: 'Second', start: '2026-12-03T20:00:00Z' },
    { name: 'across the end of the working hours', provider: 'Second', start: '2026-12-03T17:30:00Z' },
    { name: 'beyond the horizon', provider: 'Second', start: '2027-01-05T09:00:00Z' },
    { name: 'within the minimum notice', provider: 'Noticed', start: '2026-12-01T15:00:00Z' },
    { name: 'between two licenses', provider: 'Moving', start: '2026-12-07T09:00:00Z' },
    { name: 'after the last license in an active region', provider: 'Moving', start: '2026-12-13T09:00:00Z' },
  ]
  for (const { name, provider: who, start: utcStartTime } of rows) {
    test(`${name} is 400 and stores nothing`, async () => {
      const answer = await book(booking('canary-nowhere', at(who, utcStartTime)))
      const absent = ['canary', 'Robin', 'Several days', utcStartTime]
      expectRefusal(answer, { status: 400, path: /(^|\W)bookingData(\.\w+)?: /, absent })
      expect((await lookUp(service, 'canary-nowhere')).status).toBe(404)
    })
  }

  test('is possible within a license of any active region, even on its last day', async () => {
    for (const date of ['2026-12-05', '2026-12-10', '2026-12-12']) {
      const answer = await book(booking('mover', at('Moving', `${date}T09:00:00Z`)))
      expect([date, answer.status]).toEqual([date, 201])
    }
  })

  test('of an unknown provider is 400 and stores nothing', async () => {
    const nobody = { providerId: 99_999, utcStartTime: '2026-12-03T09:00:00Z' }
    const answer = await book(booking('canary-unknown', nobody))
    expectRefusal(answer, {
      status: 400,
      path: 'bookingData.selfSchedulingProviderId',
      absent: ['canary', '99999', '2026-12-03'],
    })
    expect((await lookUp(service, 'canary-unknown')).status).toBe(404)
  })

  test('that another member has booked is 400 slot_unavailable for every partner', async () => {
    const slot = at('First', '2026-12-04T09:00:00Z')
    expect((await book(booking('taker', slot))).status).toBe(201)
    const other = await service.addPartner('Slot Partner')
    for (const token of [undefined, other.token]) {
      const answer = await book(booking('canary-late', slot), token)
      const absent = ['canary', 'taker', 'Robin', slot.utcStartTime]
      expectRefusal(answer, { status: 400, kind: 'slot_unavailable', path: /(^|\W)bookingData/, absent })
      expect((await lookUp(service, 'canary-late', token)).status).toBe(404)
    }
  })

  test.each(['2026-12-08T18:00:00Z', '2026-12-09T08:15:00Z'])(
    'that is next to a booked slot and not offered is 400 slot_unavailable: %s',
    async (utcStartTime) => {
      const day = utcStartTime.slice(0, 10)
      for (const taken of ['09:00', '17:15']) {
        const slot = at('Second', `${day}T${taken}:00Z`)
        expect((await book(booking(`neighbour-${day}-${taken.slice(0, 2)}`, slot))).status).toBe(201)
      }
      const adjacent = booking('next-to-a-taken-slot', at('Second', utcStartTime))
      expectRefusal(await book(adjacent), { status: 400, kind: 'slot_unavailable' })
    },
  )

  test('that the same member already has is 400 slot_already_yours', async () => {
    const slot = at('First', '2026-12-04T10:30:00Z')
    const body = booking('holder', slot)
    expect((await book(body)).status).toBe(201)
    for (let again = 0; again < 2; again++) {
      expectRefusal(await book(body), {
        status: 400,
        kind: 'slot_already_yours',
        path: /(^|\W)bookingData/,
        absent: ['holder', slot.utcStartTime],
      })
    }
    expectRefusal(await book(booking('not-the-holder', slot)), { status: 400, kind: 'slot_unavailable' })
    const namesake = await service.addPartner('Namesake Partner')
    const sameId = booking('holder', slot, { email: 'namesake@example.com' })
    expectRefusal(await book(sameId, namesake.token), { status: 400, kind: 'slot_unavailable' })
  })
})

describe('contract: a second booking request of one member', () => {
  test('updates the same member and adds another booking', async () => {
    const first = await book(
      booking('again', at('First', '2026-12-07T09:00:00Z'), {
        phoneNumber: '+14165550100',
        preferredModality: 'Family counseling',
        preferredSpokenLanguage: 'fr-CA',
      }),
    )
    const second = await book(
      booking('again', at('First', '2026-12-07T09:45:00Z'), {
        email: 'again-new@example.com',
        firstName: 'Rowan',
        lastName: 'Renamed',
        country: 'gb',
        phoneNumber: '+442079460018',
      }),
    )
    expectSuccess(second, 201, {
      id: second.body.id,
      providerId: ids.First,
      authorizationNumber: second.body.authorizationNumber,
      phoneNumber: '+442079460018',
      preferredModality: 'Family counseling',
      acceptedAt: null,
      declinedAt: null,
      member: { id: first.body.member.id, firstName: 'Rowan', email: 'again-new@example.com' },
      utcStartTime: '2026-12-07T09:45:00Z',
    })
    expect(second.body.id).not.toBe(first.body.id)
    expect(second.body.authorizationNumber).not.toBe(first.body.authorizationNumber)
    expectSuccess(await lookUp(service, 'again'), 200, {
      id: first.body.member.id,
      firstName: 'Rowan',
      lastName: 'Renamed',
      email: 'again-new@example.com',
      userType: 'member',
      country: 'GB',
      preferredSpokenLanguage: 'French (Canada)',
      preferredSpokenLanguageCode: 'fr-CA',
      externalUserId: 'again',
    })
  })

  test('keeps omitted optional values and clears empty texts', async () => {
    const call = (memberData: Record<string, unknown>) => book(booking('optional', undefined, memberData))
    const shown: unknown[] = []
    for (const memberData of [
      { phoneNumber: '+14165550100', preferredModality: 'Counseling' },
      {},
      { preferredModality: '' },
      {},
      { preferredModality: 'Coaching', phoneNumber: '+14165550101' },
    ]) {
      const { status, body } = await call(memberData)
      shown.push([status, body.phoneNumber, body.preferredModality])
    }
    expect(shown).toEqual([
      [201, '+14165550100', 'Counseling'],
      [201, '+14165550100', 'Counseling'],
      [201, '+14165550100', ''],
      [201, '+14165550100', ''],
      [201, '+14165550101', 'Coaching'],
    ])
  })

  test('an empty phone number or date of birth removes the stored value, and the audit log names the fields', async () => {
    const call = async (memberData: Record<string, unknown>) =>
      (await book(booking('cleared', undefined, { ...memberData }))).body
    const { member } = await call({ phoneNumber: '+14165550100', dob: '1990-01-02' })
    expect((await call({ phoneNumber: '', dob: '' })).phoneNumber).toBe('')
    expect((await call({ firstName: 'Rowan', suite: '' })).phoneNumber).toBe('')
    const lines = await actsOf(service.context).listAudit(10, { record: `member ${member.id}` })
    expect(lines.map(({ actor, action, outcome }) => [actor, action, outcome])).toEqual([
      ['partner 1', 'member.create', 'done'],
      ['partner 1', 'member.update', 'done: dob, phoneNumber'],
      ['partner 1', 'member.update', 'done: firstName'],
    ])
    const sent = await service.context.store.read(({ requests }) => requests.sentProfilesOf(member.id))
    expect(sent.map(({ before }) => before)).toEqual([
      {},
      { dob: '1990-01-02', phoneNumber: '+14165550100' },
      { firstName: 'Robin' },
    ])
    expect(sent[1]?.sent).toEqual({
      email: 'cleared@example.com',
      firstName: 'Robin',
      lastName: 'Sample',
      country: 'CA',
      phoneNumber: null,
      dob: null,
    })
  })

  test('changes the language only if the request contains a language', async () => {
    const codes: string[] = []
    for (const preferredSpokenLanguage of ['de', undefined, 'pt-BR', undefined]) {
      await book(booking('polyglot', undefined, { preferredSpokenLanguage }))
      codes.push((await lookUp(service, 'polyglot')).body.preferredSpokenLanguageCode)
    }
    expect(codes).toEqual(['de', 'de', 'pt-BR', 'pt-BR'])
  })
})

describe('contract: external user ids are separate for each partner', () => {
  test('two partners can use the same id for different members', async () => {
    const other = await service.addPartner('Namespace Partner')
    const mine = await book(booking('shared-id', undefined, { email: 'mine@example.com', firstName: 'Mine' }))
    const theirs = await book(
      booking('shared-id', undefined, { email: 'theirs@example.com', firstName: 'Theirs' }),
      other.token,
    )
    expect([mine.status, theirs.status]).toEqual([201, 201])
    expect(theirs.body.member.id).not.toBe(mine.body.member.id)
    expect((await lookUp(service, 'shared-id')).body.firstName).toBe('Mine')
    expect((await lookUp(service, 'shared-id', other.token)).body.firstName).toBe('Theirs')
  })
})

describe('contract: an email address of another member', () => {
  const conflicts: { name: string; isOtherPartner: boolean; email: string }[] = [
    { name: 'of this partner', isOtherPartner: false, email: 'canary-owner@example.com' },
    { name: 'of another partner', isOtherPartner: true, email: 'canary-owner@example.com' },
    { name: 'in different case', isOtherPartner: false, email: 'Canary-OWNER@example.com' },
    { name: 'with its domain in different case', isOtherPartner: true, email: 'canary-owner@Example.COM' },
  ]
  let otherToken: string
  beforeAll(async () => {
    otherToken = (await service.addPartner('Email Partner')).token
    const owner = booking('owner', undefined, { email: 'canary-owner@example.com' })
    expect((await book(owner)).status).toBe(201)
  })

  for (const [i, { name, isOtherPartner, email }] of conflicts.entries()) {
    const token = () => (isOtherPartner ? otherToken : undefined)
    const expected = {
      status: 409,
      kind: 'email_taken',
      path: 'memberData.email',
      absent: ['canary', 'Canary', 'example.', 'Robin', 'owner'],
    }

    test(`${name} is 409 and creates no member or booking`, async () => {
      const externalUserId = `newcomer-${i}`
      const slot = at('First', '2026-12-08T09:00:00Z')
      expectRefusal(await book(booking(externalUserId, slot, { email }), token()), expected)
      expectRefusal(await book(booking(externalUserId, undefined, { email }), token()), expected)
      expect((await lookUp(service, externalUserId, token())).status).toBe(404)
      expect(await isOffered('First', '2026-12-08T09:00:00Z')).toBe(true)
    })

    test(`${name} is 409 and leaves the member unchanged`, async () => {
      const externalUserId = `settled-${i}`
      const before = await book(booking(externalUserId, undefined, { phoneNumber: '+14165550100' }), token())
      expect(before.status).toBe(201)
      const known = await lookUp(service, externalUserId, token())
      const changed = { email, firstName: 'Changed', lastName: 'Changed', phoneNumber: '+14165550199' }
      const slot = at('First', '2026-12-08T09:45:00Z')
      expectRefusal(await book(booking(externalUserId, slot, changed), token()), expected)
      expectSuccess(await lookUp(service, externalUserId, token()), 200, known.body)
      expect(await isOffered('First', '2026-12-08T09:45:00Z')).toBe(true)
      const after = await book(booking(externalUserId), token())
      expect([after.status, after.body.phoneNumber]).toEqual([201, '+14165550100'])
      expect((await lookUp(service, 'owner')).body.email).toBe('canary-owner@example.com')
    })
  }

  test('is accepted from the other member, even in different case', async () => {
    for (const email of ['self@example.com', 'Self@Example.com', 'SELF@example.com']) {
      expect((await book(booking('self', undefined, { email }))).status).toBe(201)
      expect((await lookUp(service, 'self')).body.email).toBe(email)
    }
  })

  test('is accepted after the other member has changed to a new address', async () => {
    await book(booking('giver', undefined, { email: 'passed-on@example.com' }))
    const receiver = booking('receiver', undefined, { email: 'passed-on@example.com' })
    expectRefusal(await book(receiver), { status: 409, kind: 'email_taken' })
    expect((await book(booking('giver', undefined, { email: 'kept@example.com' }))).status).toBe(201)
    expect((await book(receiver)).status).toBe(201)
    const back = booking('giver', undefined, { email: 'passed-on@example.com' })
    expectRefusal(await book(back), { status: 409, kind: 'email_taken' })
  })
})

describe('contract: a deactivated member', () => {
  test('gets 403 for a booking and an intake until reactivation', async () => {
    const { body } = await book(booking('sleeper'))
    await actsOf(service.context).setMemberActive(body.member.id, false, service.act())
    const slot = at('First', '2026-12-11T09:00:00Z')
    const changes = { email: 'canary-woken@example.com', firstName: 'Canary' }
    for (const request of [booking('sleeper', slot, changes), booking('sleeper', undefined, changes)]) {
      expectRefusal(await book(request), { status: 403, absent: ['canary', 'Canary', 'sleeper', 'Robin'] })
    }
    expect(await isOffered('First', slot.utcStartTime)).toBe(true)
    expect((await book(booking('waker', undefined, { email: 'canary-woken@example.com' }))).status).toBe(201)

    await actsOf(service.context).setMemberActive(body.member.id, true, service.act())
    expect((await lookUp(service, 'sleeper')).body).toMatchObject({
      firstName: 'Robin',
      email: 'sleeper@example.com',
    })
    expect((await book(booking('sleeper', slot))).status).toBe(201)
  })

  test('still reserves the email address', async () => {
    const { body } = await book(booking('keeper'))
    await actsOf(service.context).setMemberActive(body.member.id, false, service.act())
    const thief = booking('thief', undefined, { email: 'KEEPER@example.com' })
    expectRefusal(await book(thief), { status: 409, kind: 'email_taken', absent: ['KEEPER', 'keeper'] })
  })
})

describe('contract: the order of a booking’s checks', () => {
  const taken = () => at('First', '2026-12-14T09:00:00Z')
  beforeAll(async () => {
    expect((await book(booking('order-owner', taken()))).status).toBe(201)
    const { body } = await book(booking('order-sleeper'))
    await actsOf(service.context).setMemberActive(body.member.id, false, service.act())
  })

  test('invalid fields are refused before the member, the email address and the slot are checked', async () => {
    const body = booking('order-sleeper', taken(), { email: 'order-owner@example.com', firstName: '' })
    expectRefusal(await book(body), { status: 400, path: 'memberData.firstName' })
  })
})
