import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { booking, provider, region } from '../support/builders'
import { startService } from '../support/service'
import { entryOf, expectAbsent, expectSuccess, lookUp, on, paths, slotsAt } from './contract'

const start = () =>
  startService({
    directory: {
      regions: [region({ id: 31 })],
      providers: [
        provider('a', {
          lastName: 'Only',
          timeZone: 'Etc/UTC',
          workingHours: [on('2026-12-03', '09:00', '09:45')],
        }),
      ],
    },
  })
let service: Awaited<ReturnType<typeof start>>
beforeAll(async () => {
  service = await start()
})
afterAll(() => service.stop())

describe('contract: intake', () => {
  test('answers 201 without a provider, authorization number, decision or time', async () => {
    const answer = await service.post(paths.booking, booking('plain'))
    const { id, member } = answer.body
    expectSuccess(answer, 201, {
      id,
      providerId: null,
      authorizationNumber: null,
      phoneNumber: '',
      preferredModality: '',
      acceptedAt: null,
      declinedAt: null,
      member: { id: member.id, firstName: 'Robin', email: 'plain@example.com' },
      utcStartTime: null,
    })
    expect([id, member.id].every((value) => Number.isSafeInteger(value) && value > 0)).toBe(true)
  })

  test('accepts every field of memberData, and no response contains health data', async () => {
    const answer = await service.post(paths.booking, {
      ...booking('full', undefined, {
        preferredName: 'Canary-Preferred',
        preferredPronouns: 'canary/pronouns',
        dob: '1987-06-05',
        gender: 'canary-gender',
        maritalStatus: 'canary-marital',
        clientType: 'canary-client',
        leaveVoicemail: 'No',
        phoneNumber: '+1 (416) 555-0177',
        streetAddress: 'canary-street',
        suite: '',
        city: 'canary-city',
        state: 'canary-state',
        zipCode: 'canary-zip',
        reasonForSeekingSupport: 'canary-reason',
        preferredModality: 'Individual counseling',
        preferredSpokenLanguage: 'fr-CA',
      }),
      phq9Data: [
        { question: 'canary-question', answer: 'canary-answer' },
        { question: 'Feeling down?', answer: 'canary-second' },
      ],
    })
    const { id, member } = answer.body
    expectSuccess(answer, 201, {
      id,
      providerId: null,
      authorizationNumber: null,
      phoneNumber: '+1 (416) 555-0177',
      preferredModality: 'Individual counseling',
      acceptedAt: null,
      declinedAt: null,
      member: { id: member.id, firstName: 'Robin', email: 'full@example.com' },
      utcStartTime: null,
    })
    expectAbsent(answer, ['canary', 'Canary', '1987'])
    expectAbsent(await lookUp(service, 'full'), ['canary', 'Canary', '1987', '555-0177'])
  })

  test('takes no slot', async () => {
    await service.post(paths.booking, booking('slotless'))
    expect((await entryOf(service, 31, 'Only')).availability).toEqual(slotsAt('2026-12-03T09:00:00Z'))
  })

  test('needs only user, phq9Data and four fields of memberData', async () => {
    const answer = await service.post(paths.booking, {
      user: { external_user_id: 'least' },
      memberData: { email: 'least@example.com', firstName: 'L', lastName: 'T', country: 'CA' },
      phq9Data: [],
    })
    expect(answer.status).toBe(201)
    expectSuccess(await lookUp(service, 'least'), 200, {
      id: answer.body.member.id,
      firstName: 'L',
      lastName: 'T',
      email: 'least@example.com',
      userType: 'member',
      country: 'CA',
      preferredSpokenLanguage: 'English',
      preferredSpokenLanguageCode: 'en',
      externalUserId: 'least',
    })
  })
})
