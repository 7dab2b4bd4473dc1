import { afterAll, beforeAll, describe, expect, mock, spyOn, test } from 'bun:test'
import createClient from 'openapi-fetch'
import { countryWide, provider, region } from '../support/builders'
import { startService } from '../support/service'
import type { components, paths } from './partner-api'

// This file is a partner's program in TypeScript. Its types come from openapi-typescript, and it calls the service with
// openapi-fetch. The first test generates partner-api.ts. That file is not committed, so `npm run check` excludes this one.
// Lines that must not compile are marked with @ts-expect-error.

type Submission = components['schemas']['BookingRequest']
type Booked = components['schemas']['BookingResponse']

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

/** Returns a booking of the given slot, or an intake if no slot is given. */
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

test('clients: openapi-typescript generates types from /openapi.json without a warning, and this file compiles with them', async () => {
  // openapi-typescript needs the JavaScript API of the compiler, which TypeScript 7 does not have.
  mock.module('typescript', () => import('typescript-5'))
  const { default: generate, astToString } = await import('openapi-typescript')
  const warned = spyOn(console, 'warn')
  const types = astToString(await generate(new URL(`${service.baseUrl}/openapi.json`)))
  expect(warned).not.toHaveBeenCalled()
  await Bun.write(new URL('./partner-api.ts', import.meta.url), types)
  const compiler = Bun.spawnSync([
    ...[process.execPath, 'node_modules/typescript/bin/tsc', '--noEmit'],
    ...['--project', 'test/clients/tsconfig.json'],
  ])
  expect([compiler.exitCode, compiler.stdout.toString()]).toEqual([0, ''])
})

describe('clients: openapi-fetch', () => {
  test('lists regions and reads the documented headers', async () => {
    const { data, error, response } = await client.GET('/partners/v1/provider-regions/', {
      params: { query: { country_code: 'CA', page_size: 1 } },
    })
    expect(error).toBeUndefined()
    expect(data).toEqual([{ id: expect.any(Number), ...region() }])
    expect(response.headers.get('X-Total-Count')).toBe('2')
    expect(response.headers.get('Link')).toContain('rel="next"')
  })

  test('searches, and its types require a check for nullable fields', async () => {
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

  test('books a slot that it found, and gets a replay with the same idempotency key', async () => {
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

  test('submits an intake, with null provider, authorization number and times', async () => {
    const { data } = await client.POST('/partners/v1/booking-request/', { body: submission('intake') })
    const { providerId, authorizationNumber, acceptedAt, declinedAt, utcStartTime } = data as Booked
    expect([providerId, authorizationNumber, acceptedAt, declinedAt, utcStartTime]).toEqual(
      Array(5).fill(null),
    )
    // @ts-expect-error: a provider is assigned to an intake later.
    providerId?.toFixed() satisfies string
  })

  test('reads a booking back, reschedules it if it is unchanged, cancels it and finds it in the list of changes', async () => {
    const { utcStartTime: first, ...slot } = await firstSlot()
    const sent = await client.POST('/partners/v1/booking-request/', {
      body: submission('followed', { ...slot, utcStartTime: first }),
    })
    const params = { path: { id: sent.data?.id ?? 0 } }
    const read = await client.GET('/partners/v1/booking-request/{id}/', { params })
    const { state, cancelledAt, ...booked } = read.data as components['schemas']['CurrentRequest']
    expect([booked, state, cancelledAt]).toEqual([sent.data as Booked, 'pending', null])
    const header = { 'If-Match': read.response.headers.get('ETag') ?? '' }
    const body = await firstSlot()
    const move = () =>
      client.POST('/partners/v1/booking-request/{id}/reschedule/', { params: { ...params, header }, body })
    const { data: moved } = await move()
    expect([moved?.utcStartTime, moved?.state]).toEqual([body.utcStartTime, 'pending'])
    const cancel = '/partners/v1/booking-request/{id}/cancel/'
    const refused = await client.POST(cancel, { params: { ...params, header } })
    expect([refused.response.status, refused.error && 'status' in refused.error]).toEqual([412, true])
    const { data: cancelled } = await client.POST(cancel, { params })
    expect([cancelled?.state, typeof cancelled?.cancelledAt]).toEqual(['cancelled', 'string'])
    const { data: changes } = await client.GET('/partners/v1/booking-request-changes/')
    const { member: _, phoneNumber, preferredModality, ...change } = cancelled ?? {}
    expect(changes?.results.at(-1)).toEqual(change as components['schemas']['RequestChange'])
    // @ts-expect-error: an erased person's request has no provider.
    changes?.results[0]?.providerId.toFixed()
  })

  test('looks up a member', async () => {
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

  test('distinguishes a refused token from other errors by its code', async () => {
    const { error, response } = await clientOf('forged').GET('/partners/v1/user/', {
      params: { query: { external_user_id: 'anybody' } },
    })
    // @ts-expect-error: the error may be a 401, whose body has no status.
    expect(error?.status).toBeUndefined()
    const code = error && 'code' in error ? error.code : undefined
    code satisfies components['schemas']['AuthenticationErrorCode'] | undefined
    expect({ status: response.status, code }).toEqual({ status: 401, code: 'token_invalid' })
  })

  test('does not compile a call that the document does not allow', async () => {
    const { user, memberData, phq9Data } = submission('not-sent')
    // @ts-expect-error: bookingData must not be null. An intake omits it.
    const nullified: Submission = { user, memberData, phq9Data, bookingData: null }
    const answers = await Promise.all([
      // @ts-expect-error: country_code is required.
      client.GET('/partners/v1/provider-regions/', { params: { query: {} } }),
      // @ts-expect-error: `video` is not a modality.
      client.GET('/partners/v1/providers/', { params: { query: { region_id: 1, modality: 'video' } } }),
      // @ts-expect-error: phq9Data is required.
      client.POST('/partners/v1/booking-request/', { body: { user, memberData } }),
      client.POST('/partners/v1/booking-request/', { body: nullified }),
      // @ts-expect-error: external_user_id is required.
      client.GET('/partners/v1/user/'),
    ])
    expect(answers.map(({ response }) => response.status)).toEqual([400, 400, 400, 400, 400])
  })
})
