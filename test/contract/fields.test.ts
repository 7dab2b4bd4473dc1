import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { emptyProfile } from '../../src/domain/member'
import { actsOf } from '../support/acts'
import { booking, provider, region } from '../support/builders'
import { type Answer, startService } from '../support/service'
import { words } from '../support/words'
import { daily, endOf, entryOf, expectAbsent, expectRefusal, expectSuccess, lookUp, paths } from './contract'

const start = () =>
  startService({
    directory: {
      regions: [region({ id: 31 })],
      providers: [
        provider('clock', {
          lastName: 'Clock',
          timeZone: 'Etc/UTC',
          workingHours: [{ ...daily('09:00', '18:00'), from: '2026-12-03', until: '2026-12-03' }],
        }),
      ],
    },
  })
let service: Awaited<ReturnType<typeof start>>
let providerId: number
beforeAll(async () => {
  service = await start()
  providerId = (await entryOf(service, 31, 'Clock')).providerId
})
afterAll(() => service.stop())

const slot = '2026-12-03T09:00:00Z'

/** Marks a field that the body does not contain. */
const absentMember = Symbol('left out')

/** A valid request with one value replaced. Its texts are unusual, so that the test notices an echo. */
function request(externalUserId: string, path: string, value: unknown, isBooking = false) {
  const body: unknown = {
    ...booking(externalUserId, isBooking ? { providerId, utcStartTime: slot } : undefined, {
      email: `${externalUserId}@canary.example`,
      firstName: 'Canary-First',
      lastName: 'Canary-Last',
      reasonForSeekingSupport: 'canary-reason',
      phoneNumber: '+1 416 555 0177',
      dob: '1987-06-05',
    }),
    phq9Data: [
      { question: 'canary-question-1', answer: 'canary-answer-1' },
      { question: 'canary-question-2', answer: 'canary-answer-2' },
    ],
  }
  const steps = path.split(/[.[\]]+/).filter(Boolean)
  const last = steps.pop() ?? ''
  let holder = body as Record<string, unknown>
  for (const step of steps) holder = holder[step] as Record<string, unknown>
  if (value === absentMember) delete holder[last]
  else holder[last] = value
  return body
}

const canaries = ['canary', 'Canary', '555 0177', '1987-06-05']

const notStrings: unknown[] = [null, 5, 0, true, {}, { canary: 1 }, [], ['canary']]
const notTexts = ['canary\u0000', '\u0000', 'canary-\ud83d', '\ude00-canary', '\ude00\ud83d']

interface Field {
  readonly path: string
  readonly maxLength: number
  readonly isRequired?: boolean
}

const names = ['firstName', 'lastName', 'preferredName']
const texts = words`
  preferredPronouns gender maritalStatus clientType streetAddress suite city state zipCode
  preferredModality
`
const fields: Field[] = [
  { path: 'user.external_user_id', maxLength: 255, isRequired: true },
  ...names.map((name) => ({
    path: `memberData.${name}`,
    maxLength: 200,
    isRequired: name !== 'preferredName',
  })),
  ...texts.map((name) => ({ path: `memberData.${name}`, maxLength: 500 })),
  { path: 'memberData.reasonForSeekingSupport', maxLength: 4000 },
]

describe('contract: a text field', () => {
  for (const { path, maxLength, isRequired } of fields) {
    test(`${path} is 400 if it is not a text or is too long, and nothing is stored`, async () => {
      const wrong = [
        ...notStrings,
        ...notTexts,
        'canary'.padEnd(maxLength + 1, '-'),
        `canary${'😀'.repeat(maxLength - 5)}`,
        ...(isRequired ? ['', ' \t\u00a0', absentMember] : []),
      ]
      for (const value of wrong) {
        const answer = await service.post(paths.booking, request('canary-text', path, value))
        expectRefusal(answer, { status: 400, path, absent: canaries })
      }
      expect((await lookUp(service, 'canary-text')).status).toBe(404)
    })

    test(`${path} may have ${maxLength} characters, counted as code points`, async () => {
      const right = [
        'x'.repeat(maxLength),
        'é'.repeat(maxLength),
        '😀'.repeat(maxLength),
        `${'x'.repeat(maxLength - 1)}😀`,
        'tab\tand\nline',
        '‎شكرا 東京',
        ...(isRequired ? [] : ['', absentMember]),
      ]
      for (const [i, value] of right.entries()) {
        const externalUserId = `right-${path.replaceAll(/\W/g, '')}-${i}`
        const answer = await service.post(paths.booking, request(externalUserId, path, value))
        expect([value, answer.status]).toEqual([value, 201])
      }
    })
  }
})

describe('contract: memberData.email', () => {
  const domain = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(57)}.com`
  const longest = `${'l'.repeat(64)}@${domain}`

  test('is 400 if it is not an email address, and nothing is stored', async () => {
    const wrong = [
      ...notStrings,
      ...notTexts,
      absentMember,
      '',
      'canary',
      'canary@',
      'canary@@canary.example',
      'canary@canary.example\n',
      'canary@canary.example, other@canary.example',
      `c${longest}`,
    ]
    for (const value of wrong) {
      const answer = await service.post(paths.booking, request('canary-mail', 'memberData.email', value))
      expectRefusal(answer, { status: 400, path: 'memberData.email', absent: canaries })
    }
    expect((await lookUp(service, 'canary-mail')).status).toBe(404)
  })

  test('may be any email address of up to 254 characters and is stored unchanged', async () => {
    expect(longest.length).toBe(254)
    const right = [longest, 'first.last+tag@sub.domain.example', 'UPPER.Case@Example.Com']
    for (const [i, email] of right.entries()) {
      const answer = await service.post(paths.booking, request(`mail-${i}`, 'memberData.email', email))
      expect([answer.status, answer.body.member?.email]).toEqual([201, email])
      expect((await lookUp(service, `mail-${i}`)).body.email).toBe(email)
    }
  })
})

describe('contract: memberData fields with a format', () => {
  const rows: { path: string; wrong: unknown[]; right: unknown[] }[] = [
    {
      path: 'memberData.country',
      wrong: [absentMember, '', 'CAN', 'XX', 'UK', 'canary', ' CA'],
      right: ['CA', 'ca', 'AQ'],
    },
    {
      path: 'memberData.dob',
      wrong: ['1990-02-31', '2026-12-03', '19900101', '1990-01-01T00:00:00Z', 'canary-date'],
      right: [absentMember, '', '2000-02-29', '2026-11-30'],
    },
    {
      path: 'memberData.phoneNumber',
      wrong: ['+123456', '14165550100', '+1 800 CANARY 0', '+1 416 555 0100 ext 5', '+14165550100\n'],
      right: [absentMember, '', '+1234567', '+123456789012345', '+44 (20) 7946.0018'],
    },
    {
      path: 'memberData.leaveVoicemail',
      wrong: ['', 'yes', 'NO', 'Y', 'Maybe', 'true', 'Yes ', 'canary'],
      right: [absentMember, 'Yes', 'No'],
    },
    {
      path: 'memberData.preferredSpokenLanguage',
      wrong: ['', 'x', 'en_US', 'canary-languages', '*'],
      right: [absentMember, 'en', 'fr-CA', 'zh-Hant-TW'],
    },
  ]
  for (const { path, wrong, right } of rows) {
    test(`${path} is 400 if it is invalid, and nothing is stored`, async () => {
      for (const value of [...notStrings, ...notTexts, ...wrong]) {
        const answer = await service.post(paths.booking, request('canary-form', path, value))
        const absent = [...canaries, ...(typeof value === 'string' && value.length > 7 ? [value] : [])]
        expectRefusal(answer, { status: 400, path, absent })
      }
      expect((await lookUp(service, 'canary-form')).status).toBe(404)
    })

    test(`${path} may be ${right.map(String).join(' | ')}`, async () => {
      for (const [i, value] of right.entries()) {
        const externalUserId = `form-${path.replaceAll(/\W/g, '')}-${i}`
        const answer = await service.post(paths.booking, request(externalUserId, path, value))
        expect([String(value), answer.status]).toEqual([String(value), 201])
      }
    })
  }

  test('the phone number keeps its spaces, dots, hyphens and parentheses', async () => {
    for (const [i, phoneNumber] of ['+1 (416) 555-0100', '+44 20.7946-0018'].entries()) {
      const body = request(`phone-${i}`, 'memberData.phoneNumber', phoneNumber)
      expect((await service.post(paths.booking, body)).body.phoneNumber).toBe(phoneNumber)
    }
  })

  test('the country is stored in upper case', async () => {
    await service.post(paths.booking, request('country-case', 'memberData.country', 'gb'))
    expect((await lookUp(service, 'country-case')).body.country).toBe('GB')
  })
})

const pathsOf = ({ body }: Answer) => body.message.split('; ').map((fault: string) => fault.split(': ')[0])

describe('contract: user, memberData and the body', () => {
  const rows: { path: string; wrong: unknown[]; message?: RegExp }[] = [
    {
      path: 'user',
      wrong: [absentMember, ...notStrings.filter((value) => value !== 0), 'canary'],
      message: /(^|\W)user(\.external_user_id)?: /,
    },
    {
      path: 'memberData',
      wrong: [absentMember, ...notStrings, 'canary'],
      message: /(^|\W)memberData(\.\w+)?: /,
    },
  ]
  for (const { path, wrong, message = path } of rows) {
    test(`${path} is 400 if it is missing, null or not an object`, async () => {
      for (const value of wrong) {
        const answer = await service.post(paths.booking, request('canary-part', path, value))
        expectRefusal(answer, { status: 400, path: message, absent: canaries })
      }
      expect((await lookUp(service, 'canary-part')).status).toBe(404)
    })
  }

  test('a refusal lists all invalid fields by path, at most 20', async () => {
    const faulty = booking('faulty', undefined, { email: 'canary', dob: '1987-02-30' })
    const answer = await service.post(paths.booking, { ...faulty, phq9Data: null })
    expectRefusal(answer, { status: 400, kind: 'field_invalid', absent: ['canary', '1987'] })
    expect(pathsOf(answer)).toEqual(['memberData.email', 'memberData.dob', 'phq9Data'])
    const many = await service.post(paths.booking, { ...faulty, phq9Data: Array(50).fill({}) })
    expect(pathsOf(many)).toHaveLength(20)
  })

  test('a body that is not an object is 400', async () => {
    for (const body of ['null', '[]', '"canary"', '5', 'true', '[{"user":"canary"}]', '{}']) {
      const answer = await service.post(paths.booking, body)
      expectRefusal(answer, { status: 400, absent: canaries })
    }
  })
})

describe('contract: phq9Data', () => {
  const element = { question: 'canary-question', answer: 'canary-answer' }
  test.each<[name: string, value: unknown, path: string]>([
    ['missing', absentMember, 'phq9Data'],
    ['null', null, 'phq9Data'],
    ['an object', element, 'phq9Data'],
    ['a string', 'canary', 'phq9Data'],
    ['of 101 elements', Array(101).fill(element), 'phq9Data'],
    ['with an element that is null', [element, null], 'phq9Data[1]'],
    ['without a question', [{ answer: 'canary' }], 'phq9Data[0].question'],
    ['with an answer of 3', [{ ...element, answer: 3 }], 'phq9Data[0].answer'],
    [
      'with a question of 1,001 characters',
      [{ ...element, question: 'canary'.padEnd(1001, '?') }],
      'phq9Data[0].question',
    ],
    [
      'with an answer of 1,001 characters',
      [element, element, { ...element, answer: '😀'.repeat(1001) }],
      'phq9Data[2].answer',
    ],
    ['with NUL in an answer', [{ ...element, answer: 'canary\u0000' }], 'phq9Data[0].answer'],
    [
      'with a lone surrogate in a question',
      [{ ...element, question: 'canary\ud800' }],
      'phq9Data[0].question',
    ],
  ])('%s is 400, and the message contains the path and no answers', async (_, value, path) => {
    const answer = await service.post(paths.booking, request('canary-phq9', 'phq9Data', value))
    expectRefusal(answer, { status: 400, path, absent: canaries })
    expect((await lookUp(service, 'canary-phq9')).status).toBe(404)
  })

  const right: { name: string; value: unknown }[] = [
    { name: 'empty', value: [] },
    { name: 'of 100 elements', value: Array(100).fill(element) },
    {
      name: 'of questions and answers of 1,000 characters',
      value: [
        { question: 'q'.repeat(1000), answer: 'a'.repeat(1000) },
        { question: '😀'.repeat(1000), answer: '😀'.repeat(1000) },
      ],
    },
    { name: 'with unknown fields', value: [{ ...element, score: 3, note: 'x' }] },
    { name: 'with a repeated question', value: [element, element] },
  ]
  for (const [i, { name, value }] of right.entries()) {
    test(`may be ${name}, and no response contains the answers`, async () => {
      const answer = await service.post(paths.booking, request(`phq9-${i}`, 'phq9Data', value))
      expect(answer.status).toBe(201)
      expectAbsent(answer, ['canary-question', 'canary-answer'])
      expectAbsent(await lookUp(service, `phq9-${i}`), ['canary-question', 'canary-answer'])
    })
  }
})

describe('contract: bookingData', () => {
  const rows: { path: string; wrong: unknown[]; message?: RegExp }[] = [
    {
      path: 'bookingData',
      wrong: [null, [], {}, 'canary', 5, true, false, [{ canary: 1 }]],
      message: /(^|\W)bookingData(\.\w+)?: /,
    },
    {
      path: 'bookingData.selfSchedulingProviderId',
      wrong: [absentMember, null, '', '1', 1.5, 0, -1, 2 ** 53, true, [1], {}, 987_654_321],
    },
    {
      path: 'bookingData.utcStartTime',
      wrong: [
        absentMember,
        null,
        '',
        'canary',
        Date.parse(slot),
        [slot],
        '2026-12-03',
        '2026-12-03T09:00:00',
        '2026-12-03T09:00:00z',
        '2026-12-03T09:00:00+00:00',
        '2026-12-03T09:00:00Z\n',
        '2026-12-03T09:00:00.001Z',
        '2026-12-03T09:00:60Z',
        '2026-02-30T09:00:00Z',
        '+002026-12-03T09:00:00Z',
      ],
    },
    {
      path: 'bookingData.utcEndTime',
      wrong: [
        absentMember,
        null,
        '',
        Date.parse(endOf(slot)),
        ...words`2026-12-03T09:45:00 2026-12-03T09:45:00+00:00 2026-12-03T09:45:00.5Z 2026-12-03T09:44:59Z
          2026-12-03T09:45:01Z 2026-12-03T09:00:00Z 2026-12-04T09:45:00Z`,
      ],
    },
  ]
  for (const { path, wrong, message = path } of rows) {
    test(`${path} is 400 if it is invalid, and nothing is stored`, async () => {
      for (const value of wrong) {
        const answer = await service.post(paths.booking, request('canary-slot', path, value, true))
        const absent = [...canaries, ...(typeof value === 'string' && value.length > 7 ? [value] : [])]
        expectRefusal(answer, { status: 400, path: message, absent })
      }
      expect((await lookUp(service, 'canary-slot')).status).toBe(404)
      expect((await entryOf(service, 31, 'Clock')).availability).toContainEqual({
        utcStartTime: slot,
        utcEndTime: endOf(slot),
      })
    })
  }

  test('a provider id of 1.0 is the same as 1', async () => {
    const { body } = { body: JSON.stringify(request('float', 'x', 1, true)) }
    const answer = await service.post(
      paths.booking,
      body.replace(`"selfSchedulingProviderId":${providerId}`, `"selfSchedulingProviderId":${providerId}.0`),
    )
    expect([answer.status, answer.body.providerId]).toEqual([201, providerId])
  })

  const forms = [
    { utcStartTime: '2026-12-03T09:45:00.0Z', utcEndTime: '2026-12-03T10:30:00Z' },
    { utcStartTime: '2026-12-03T10:30:00.000Z', utcEndTime: '2026-12-03T11:15:00.000Z' },
    { utcStartTime: '2026-12-03T11:15:00Z', utcEndTime: '2026-12-03T12:00:00.000000Z' },
  ]
  for (const { utcStartTime, utcEndTime } of forms) {
    test(`${utcStartTime} to ${utcEndTime} books the slot, and the response has whole seconds`, async () => {
      const body = {
        ...booking(`form-of-${utcStartTime.slice(11, 13)}`),
        bookingData: { selfSchedulingProviderId: providerId, utcStartTime, utcEndTime },
      }
      const answer = await service.post(paths.booking, body)
      expect([answer.status, answer.body.utcStartTime]).toEqual([201, `${utcStartTime.slice(0, 19)}Z`])
    })
  }
})

describe('contract: unknown fields of a body', () => {
  test('are ignored with any value and are not stored', async () => {
    const odd = {
      canary: [null, { deep: ['\u0000', '\ud800'] }],
      id: -1,
      $ref: '#',
      constructor: 5,
      toString: null,
    }
    const right = booking('with-unknown', undefined, { ...odd, memberId: 1, userType: 'admin' })
    const answer = await service.post(paths.booking, {
      ...right,
      ...odd,
      user: { ...right.user, ...odd, organization: 1, partnerId: 2 },
      phq9Data: [{ ...right.phq9Data[0], ...odd }],
      acceptedAt: '2026-12-01T12:00:00Z',
      authorizationNumber: 'canary',
    })
    expectSuccess(answer, 201, {
      id: answer.body.id,
      providerId: null,
      authorizationNumber: null,
      phoneNumber: '',
      preferredModality: '',
      acceptedAt: null,
      declinedAt: null,
      member: { id: answer.body.member.id, firstName: 'Robin', email: 'with-unknown@example.com' },
      utcStartTime: null,
    })
    expect((await lookUp(service, 'with-unknown')).body.userType).toBe('member')
    // The service must not store personal data that the contract does not ask for.
    const { member, requests } = await actsOf(service.context).exportMember(
      answer.body.member.id,
      service.act(),
    )
    const { email, firstName, lastName, country } = right.memberData
    expect(member.profile).toEqual({ ...emptyProfile, email, firstName, lastName, country })
    expect(requests.map(({ screeningAnswers }) => screeningAnswers)).toEqual([right.phq9Data])
  })

  const whole = JSON.stringify(booking('by-proto'))
  const { user, memberData } = booking('by-proto')
  const json = JSON.stringify
  const tricks: { name: string; body: string; path: RegExp }[] = [
    { name: 'the whole body', body: `{"__proto__":${whole}}`, path: /(^|\W)user(\.\w+)?: / },
    {
      name: 'external_user_id by constructor',
      body: `{"user":{"constructor":{"prototype":${json(user)}}},"memberData":${json(memberData)},"phq9Data":[]}`,
      path: /(^|\W)user\.external_user_id: /,
    },
    {
      name: 'one member of memberData',
      body: `{"user":${json(user)},"memberData":${json({ ...memberData, lastName: undefined }).replace('{', '{"__proto__":{"lastName":"X"},')},"phq9Data":[]}`,
      path: /(^|\W)memberData\.lastName: /,
    },
    {
      name: 'an answer',
      body: `{"user":${json(user)},"memberData":${json(memberData)},"phq9Data":[{"__proto__":{"question":"q","answer":"a"}}]}`,
      path: /(^|\W)phq9Data\[0\]\.(question|answer): /,
    },
  ]
  for (const { name, body, path } of tricks) {
    test(`__proto__ and constructor do not replace ${name}`, async () => {
      expectRefusal(await service.post(paths.booking, body), { status: 400, path, absent: ['by-proto', '@'] })
      expect((await lookUp(service, 'by-proto')).status).toBe(404)
      expect(({} as Record<string, unknown>).user).toBeUndefined()
    })
  }

  test('__proto__ adds no bookingData and no optional field', async () => {
    const bookingData = json({
      selfSchedulingProviderId: providerId,
      utcStartTime: '2026-12-03T15:00:00Z',
      utcEndTime: '2026-12-03T15:45:00Z',
    })
    const body = json(booking('proto-extra'))
      .replace('{', `{"__proto__":{"bookingData":${bookingData}},`)
      .replace('"memberData":{', '"memberData":{"__proto__":{"phoneNumber":"+14165550100"},')
    const answer = await service.post(paths.booking, body)
    expect([answer.status, answer.body.providerId, answer.body.phoneNumber]).toEqual([201, null, ''])
  })
})
