import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { actsOf } from '../support/acts'
import { booking, region } from '../support/builders'
import { startService } from '../support/service'
import { words } from '../support/words'
import { expectRefusal, expectSuccess, lookUp, paths } from './contract'

const start = () => startService({ directory: { regions: [region({ id: 31 })], providers: [] } })
let service: Awaited<ReturnType<typeof start>>
beforeAll(async () => {
  service = await start()
})
afterAll(() => service.stop())

describe('contract: the member look-up', () => {
  test('returns the whole member, with and without the trailing slash', async () => {
    const created = await service.post(paths.booking, booking('whole', undefined, { country: 'us' }))
    for (const path of [paths.user, paths.user.slice(0, -1)]) {
      expectSuccess(await service.get(`${path}?external_user_id=whole`), 200, {
        id: created.body.member.id,
        firstName: 'Robin',
        lastName: 'Sample',
        email: 'whole@example.com',
        userType: 'member',
        country: 'US',
        preferredSpokenLanguage: 'English',
        preferredSpokenLanguageCode: 'en',
        externalUserId: 'whole',
      })
    }
  })

  const languages: [code: string, name: string][] = [
    ['fr-CA', 'French (Canada)'],
    ['pa', 'Punjabi'],
  ]
  for (const [code, name] of languages) {
    test(`returns ${name} as the name of the language ${code}`, async () => {
      await service.post(
        paths.booking,
        booking(`speaks-${code}`, undefined, { preferredSpokenLanguage: code }),
      )
      const { body } = await lookUp(service, `speaks-${code}`)
      expect([body.preferredSpokenLanguageCode, body.preferredSpokenLanguage]).toEqual([code, name])
    })
  }

  const odd = [
    'with space',
    ...words`plus+sign amper&sand=equals per%cent%41 slash/dot/../x 東京-😀 __proto__ null`,
    'tab\tline\n',
  ]
  for (const [i, externalUserId] of odd.entries()) {
    test(`finds a new member by the external user id ${JSON.stringify(externalUserId)}`, async () => {
      expectRefusal(await lookUp(service, externalUserId), { status: 404 })
      const body = booking(externalUserId, undefined, { email: `odd-${i}@example.com` })
      expect((await service.post(paths.booking, body)).status).toBe(201)
      const answer = await lookUp(service, externalUserId)
      expect([answer.status, answer.body.externalUserId, answer.body.email]).toEqual([
        200,
        externalUserId,
        `odd-${i}@example.com`,
      ])
    })
  }

  test('reads a plus in the query as a space', async () => {
    await service.post(paths.booking, booking('a b', undefined, { email: 'plus@example.com' }))
    const answer = await service.get(`${paths.user}?external_user_id=a+b`)
    expect([answer.status, answer.body.externalUserId]).toEqual([200, 'a b'])
  })

  test('returns texts unchanged', async () => {
    const memberData = { firstName: '  Zoë "Z" <b> ', lastName: "O'Néill\\😀", email: 'texts@example.com' }
    await service.post(paths.booking, booking('texts', undefined, memberData))
    expect((await lookUp(service, 'texts')).body).toMatchObject(memberData)
  })

  test('ignores unknown parameters', async () => {
    await service.post(paths.booking, booking('known'))
    const answer = await service.get(`${paths.user}?external_user_id=known&page=0&id=7&id=8&user=x`)
    expect([answer.status, answer.body.externalUserId]).toEqual([200, 'known'])
  })
})

describe('contract: the member look-up is refused', () => {
  for (const query of [
    '',
    '?',
    '?externalUserId=x',
    '?External_User_Id=x',
    '?id=1',
    '?user.external_user_id=x',
  ]) {
    test(`with 400 if external_user_id is missing: ${query || 'no query'}`, async () => {
      expectRefusal(await service.get(`${paths.user}${query}`), { status: 400, path: 'external_user_id' })
    })
  }

  test('with 400 if external_user_id is repeated', async () => {
    await service.post(paths.booking, booking('canary-twice'))
    for (const other of ['canary-twice', 'canary-other']) {
      const path = `${paths.user}?external_user_id=canary-twice&external_user_id=${other}`
      expectRefusal(await service.get(path), { status: 400, path: 'external_user_id', absent: ['canary'] })
    }
  })

  const unknown = ['canary-nobody', '%nary-known', '_anary-known', 'canary-known ', 'CANARY-KNOWN']
  for (const externalUserId of unknown) {
    test(`with 404 if no member has the external user id: ${externalUserId}`, async () => {
      await service.post(
        paths.booking,
        booking('canary-known', undefined, { email: 'canary@canary.example' }),
      )
      const answer = await lookUp(service, externalUserId)
      expectRefusal(answer, { status: 404, absent: ['canary', 'CANARY', 'OR ', 'Robin'] })
    })
  }

  test("with 404 for another partner's member and for an internal member id", async () => {
    const other = await service.addPartner('Other Partner')
    const created = await service.post(paths.booking, booking('canary-mine'))
    for (const answer of [
      await lookUp(service, 'canary-mine', other.token),
      await lookUp(service, String(created.body.member.id), other.token),
      await lookUp(service, 'canary-mine@example.com'),
    ]) {
      expectRefusal(answer, { status: 404, absent: ['canary', 'Robin', 'Test Partner'] })
    }
  })

  test('with 403 for a deactivated member', async () => {
    const { body } = await service.post(paths.booking, booking('canary-sleeper'))
    await actsOf(service.context).setMemberActive(body.member.id, false, service.act())
    for (const path of [paths.user, paths.user.slice(0, -1)]) {
      const answer = await service.get(`${path}?external_user_id=canary-sleeper`)
      expectRefusal(answer, { status: 403, absent: ['canary', 'Robin', 'Sample'] })
    }
    await actsOf(service.context).setMemberActive(body.member.id, true, service.act())
    expect((await lookUp(service, 'canary-sleeper')).status).toBe(200)
  })

  test('with 400 or 404 for a value that is not UTF-8', async () => {
    for (const value of ['%FF', '%C3%28', '%ED%A0%80', '%zz', '%00']) {
      const answer = await service.get(`${paths.user}?external_user_id=${value}`)
      expect([400, 404]).toContain(answer.status)
      expectRefusal(answer, { status: answer.status })
    }
  })
})
