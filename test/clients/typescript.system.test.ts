import { afterAll, beforeAll, describe, expect, mock, spyOn, test } from 'bun:test'
import createClient from 'openapi-fetch'
import { countryWide, provider, region } from '../support/builders'
import { startService } from '../support/service'
import type { components, paths } from './partner-api'

// A partner who writes TypeScript: types that openapi-typescript makes of /openapi.json, calls by openapi-fetch. What must
// not compile is held by @ts-expect-error, which is an error itself where there is nothing to expect (npm run check).

type Submission = components['schemas']['BookingRequest']
type Booked = components['schemas']['BookingResponse']

const typesFile = new URL('./partner-api.ts', import.meta.url)
const renewal = 'RENEW_OPENAPI=1 bun test test/clients'

let service: Awaited<ReturnType<typeof startService>>
let client: ReturnType<typeof createClient<paths>>

beforeAll(async () => {
  service = await startService({
    directory: {
      regions: [region(), region({ stateProvinceCode: 'QC' }), countryWide('IE', 'Ireland')],
      providers: [provider('p-1', { credentials: 'PhD', languagesSpoken: ['en', 'fr-CA'] })],
    },
  })
  client = clientOf(service.partner.token)
})
afterAll(() => service.stop())

function clientOf(token: string) {
  return createClient<paths>({ baseUrl: service.baseUrl, headers: { Authorization: `Bearer ${token}` } })
}

/** An intake of a member; with a slot, a booking of it. */
function submission(id: string, bookingData?: Submission['bookingData']): Submission {
  return {
    user: { external_user_id: id },
    ...(bookingData && { bookingData }),
    memberData: {
      email: `${id}@example.com`,
      firstName: 'Robin',
      lastName: 'Sample',
      country: 'CA',
      leaveVoicemail: 'No',
    },
    phq9Data: [{ question: 'Little interest or pleasure in doing things?', answer: 'Several days' }],
  }
}

async function firstSlot(): Promise<NonNullable<Submission['bookingData']>> {
  const regions = await client.GET('/partners/v1/provider-regions/', {
    params: { query: { country_code: 'CA' } },
  })
  const region_id = regions.data?.[0]?.id ?? 0
  const providers = await client.GET('/partners/v1/providers/', { params: { query: { region_id } } })
  const found = providers.data?.results[0]
  const slot = found?.availability[0]
  if (!found || !slot) throw new Error('there is nothing to book')
  return { selfSchedulingProviderId: found.providerId, ...slot }
}

describe('types that openapi-typescript makes of /openapi.json', () => {
  test(`are those that were agreed (${renewal}), and it has nothing to warn of`, async () => {
    // It needs a compiler that is a JavaScript API, as TypeScript 7 is not.
    mock.module('typescript', () => import('typescript-5'))
    const { default: generate, astToString } = await import('openapi-typescript')
    const warned = spyOn(console, 'warn')
    const made = astToString(await generate(new URL(`${service.baseUrl}/openapi.json`)))
    expect(warned).not.toHaveBeenCalled()
    if (process.env.RENEW_OPENAPI) await Bun.write(typesFile, made)
    expect(await Bun.file(typesFile).text()).toBe(made)
  })
})

describe('a client of openapi-fetch', () => {
  test('lists regions, and reads the headers that the document tells', async () => {
    const { data, error, response } = await client.GET('/partners/v1/provider-regions/', {
      params: { query: { country_code: 'CA', page_size: 1 } },
    })
    expect(error).toBeUndefined()
    expect(data).toEqual([{ id: expect.any(Number), ...region() }])
    expect(response.headers.get('X-Total-Count')).toBe('2')
    expect(response.headers.get('Link')).toContain('rel="next"')
  })

  test('is told by 304 that what it holds is still right', async () => {
    const query = { country_code: 'CA' }
    const first = await client.GET('/partners/v1/provider-regions/', { params: { query } })
    const again = await client.GET('/partners/v1/provider-regions/', {
      params: { query, header: { 'If-None-Match': first.response.headers.get('ETag') ?? '' } },
    })
    expect({ status: again.response.status, data: again.data }).toEqual({ status: 304, data: undefined })
  })

  test('searches, and has to see that what may be null is', async () => {
    const { data } = await client.GET('/partners/v1/providers/', {
      params: { query: { region_id: 1, modality: 'in-video', language: 'fr', page: 1 } },
    })
    expect({ count: data?.count, next: data?.next }).toEqual({ count: 1, next: null })
    const details = data?.results[0]?.details
    const credentials: string | null | undefined = details?.credentials
    // @ts-expect-error: a bio may be null.
    const bio: string | undefined = details?.bio
    expect({ credentials, bio: bio as unknown }).toEqual({ credentials: 'PhD', bio: null })
  })

  test('books a slot as it was found, and again with its key', async () => {
    const header = { 'Idempotency-Key': '8e03978e-40d5-43dd-bc93-6894a57f9324' }
    const slot = await firstSlot()
    const send = () =>
      client.POST('/partners/v1/booking-request/', {
        params: { header },
        body: submission('booking', slot),
      })
    const { data, response } = await send()
    const booked: Booked | undefined = data
    expect(booked).toEqual({
      id: expect.any(Number),
      providerId: slot.selfSchedulingProviderId,
      authorizationNumber: expect.any(String),
      phoneNumber: '',
      preferredModality: '',
      acceptedAt: null,
      declinedAt: null,
      member: { id: expect.any(Number), firstName: 'Robin', email: 'booking@example.com' },
      utcStartTime: slot.utcStartTime,
    })
    expect(response.headers.get('Idempotency-Replayed')).toBeNull()
    const again = await send()
    expect(again.data).toEqual(data)
    expect(again.response.headers.get('Idempotency-Replayed')).toBe('true')
  })

  test('asks for an intake, whose provider, number and times are null', async () => {
    const { data } = await client.POST('/partners/v1/booking-request/', { body: submission('intake') })
    const { providerId, authorizationNumber, acceptedAt, declinedAt, utcStartTime } = data as Booked
    expect([providerId, authorizationNumber, acceptedAt, declinedAt, utcStartTime]).toEqual(
      Array(5).fill(null),
    )
    // @ts-expect-error: a provider is assigned to an intake later.
    providerId?.toFixed() satisfies string
  })

  test('looks a member up', async () => {
    const sent = await client.POST('/partners/v1/booking-request/', { body: submission('looked-up') })
    const { data } = await client.GET('/partners/v1/user/', {
      params: { query: { external_user_id: 'looked-up' } },
    })
    const member: components['schemas']['Member'] | undefined = data
    expect(member).toEqual({
      id: sent.data?.member.id ?? 0,
      firstName: 'Robin',
      lastName: 'Sample',
      email: 'looked-up@example.com',
      userType: 'member',
      country: 'CA',
      preferredSpokenLanguage: 'English',
      preferredSpokenLanguageCode: 'en',
      externalUserId: 'looked-up',
    })
  })

  test('tells a refused token from all other errors by its code', async () => {
    const { error, response } = await clientOf('forged').GET('/partners/v1/user/', {
      params: { query: { external_user_id: 'anybody' } },
    })
    // @ts-expect-error: a 401 has no status in its body, all others have no code.
    expect(error?.status).toBeUndefined()
    const code = error && 'code' in error ? error.code : undefined
    code satisfies components['schemas']['AuthenticationErrorCode'] | undefined
    expect({ status: response.status, code }).toEqual({ status: 401, code: 'token_invalid' })
  })

  test('is refused what breaks a rule (400), is not there (404) or belongs to another (409)', async () => {
    const slot = await firstSlot()
    const submit = (body: Submission) => client.POST('/partners/v1/booking-request/', { body })
    await submit(submission('first', slot))
    const theirs = submission('second')
    theirs.memberData.email = 'FIRST@example.com'
    const refused = [
      await client.GET('/partners/v1/providers/', { params: { query: { country_code: 'CA' } } }),
      await submit(submission('late', slot)),
      await client.GET('/partners/v1/user/', { params: { query: { external_user_id: 'nobody' } } }),
      await submit(theirs),
    ].map(({ error, response }) => ({
      status: error && 'status' in error ? error.status : undefined,
      answered: response.status,
      kind: response.headers.get('X-Error-Code'),
    }))
    expect(refused).toEqual([
      { status: 400, answered: 400, kind: 'region_required' },
      { status: 400, answered: 400, kind: 'slot_unavailable' },
      { status: 404, answered: 404, kind: 'member_not_found' },
      { status: 409, answered: 409, kind: 'email_taken' },
    ])
  })

  test('does not compile with what the document does not allow', async () => {
    const { user, memberData, phq9Data } = submission('not-sent')
    // @ts-expect-error: null is neither a booking nor an intake.
    const nullified: Submission = { user, memberData, phq9Data, bookingData: null }
    const answers = await Promise.all([
      // @ts-expect-error: country_code is required.
      client.GET('/partners/v1/provider-regions/', { params: { query: {} } }),
      // @ts-expect-error: there are three modalities.
      client.GET('/partners/v1/providers/', { params: { query: { region_id: 1, modality: 'video' } } }),
      // @ts-expect-error: phq9Data is required.
      client.POST('/partners/v1/booking-request/', { body: { user, memberData } }),
      client.POST('/partners/v1/booking-request/', { body: nullified }),
      // @ts-expect-error: members are not listed.
      client.GET('/partners/v1/user/'),
    ])
    expect(answers.map(({ response }) => response.status)).toEqual([400, 400, 400, 400, 400])
  })
})
