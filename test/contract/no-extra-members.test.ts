import { afterAll, beforeAll, expect, test } from 'bun:test'
import { booking, provider, region } from '../support/builders'
import { startService } from '../support/service'
import { paths } from './contract'

let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService({ directory: { regions: [region()], providers: [provider('p-1')] } })
})
afterAll(() => service.stop())

/** The names of all members, for example `results[].availability[].utcStartTime`, without repetitions. */
function membersOf(value: unknown, path = ''): string[] {
  const inside = Array.isArray(value)
    ? value.flatMap((each) => membersOf(each, `${path}[]`))
    : value !== null && typeof value === 'object'
      ? Object.entries(value).flatMap(([name, each]) => membersOf(each, path ? `${path}.${name}` : name))
      : [path]
  return [...new Set(inside)]
}

const submission = [
  ...['id', 'providerId', 'authorizationNumber', 'phoneNumber', 'preferredModality', 'acceptedAt'],
  ...['declinedAt', 'member.id', 'member.firstName', 'member.email', 'utcStartTime'],
]

test('contract: the responses of the four endpoints have exactly the members of the contract', async () => {
  const regions = await service.get(`${paths.regions}?country_code=CA`)
  expect(membersOf(regions.body)).toEqual([
    ...['[].id', '[].countryCode', '[].stateProvinceCode', '[].stateProvinceNameLocal'],
    '[].stateProvinceLabel',
  ])
  const found = await service.get(`${paths.providers}?region_id=${regions.body[0].id}`)
  const [{ providerId, availability }] = found.body.results
  expect(membersOf(found.body)).toEqual([
    ...['count', 'next', 'previous', 'results[].providerId'],
    // The contract leaves the members of details open. These are the documented ones.
    ...['firstName', 'lastName', 'credentials', 'pronouns', 'gender', 'bio', 'timeZone', 'languagesSpoken[]']
      .concat('modalities[]')
      .map((name) => `results[].details.${name}`),
    ...['results[].availability[].utcStartTime', 'results[].availability[].utcEndTime'],
  ])
  const slot = { providerId, utcStartTime: availability[0].utcStartTime }
  const booked = await service.post(paths.booking, booking('with-slot', slot))
  expect([booked.status, membersOf(booked.body)]).toEqual([201, submission])
  const { bookingData: _, ...intake } = booking('without-slot', slot)
  const submitted = await service.post(paths.booking, intake)
  expect([submitted.status, membersOf(submitted.body)]).toEqual([201, submission])
  const member = await service.get(`${paths.user}?external_user_id=with-slot`)
  expect(membersOf(member.body)).toEqual([
    ...['id', 'firstName', 'lastName', 'email', 'userType', 'country', 'preferredSpokenLanguage'],
    ...['preferredSpokenLanguageCode', 'externalUserId'],
  ])
})
