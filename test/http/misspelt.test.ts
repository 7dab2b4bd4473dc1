import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createApp } from '../../src/http/app'
import { paths } from '../contract/contract'
import { booking } from '../support/builders'
import { startService } from '../support/service'

let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const warningOf = async (body: unknown) =>
  (await service.post(paths.booking, body)).headers.get('x-sandbox-warning')

const whole = booking('misspelt')

describe('http: the sandbox warns of a misspelt field name', () => {
  test.each<[string, unknown, string]>([
    [
      'with a hyphen',
      { ...whole, 'booking-data': {} },
      'booking-data is not known; did you mean bookingData?',
    ],
    [
      'in different case',
      { ...whole, bookingdata: {} },
      'bookingdata is not known; did you mean bookingData?',
    ],
    [
      'with underscores',
      { ...whole, booking_data: {} },
      'booking_data is not known; did you mean bookingData?',
    ],
    [
      'in memberData',
      { ...whole, memberData: { ...whole.memberData, phoneNumbr: '+1' } },
      'memberData.phoneNumbr is not known; did you mean memberData.phoneNumber?',
    ],
    [
      'with two letters exchanged',
      { ...whole, memberData: { ...whole.memberData, staet: 'ON' } },
      'memberData.staet is not known; did you mean memberData.state?',
    ],
    [
      'twice in one body',
      { ...whole, phq9data: [], memberData: { ...whole.memberData, zip_code: '1' } },
      'memberData.zip_code is not known; did you mean memberData.zipCode? phq9data is not known; did you mean phq9Data?',
    ],
    [
      'in a screening answer',
      { ...whole, phq9Data: [{ ...whole.phq9Data[0], questions: 'x' }] },
      'phq9Data.questions is not known; did you mean phq9Data.question?',
    ],
  ])('%s', async (_, body, warning) => {
    const answer = await service.post(paths.booking, body)
    expect(answer.status).toBe(201)
    expect(answer.headers.get('x-sandbox-warning')).toBe(warning)
  })

  test('in a query, also one that is refused', async () => {
    const warningFor = async (query: string, path: string = paths.providers) => {
      const { status, headers } = await service.get(path + query)
      return [status, headers.get('x-sandbox-warning')]
    }
    const warning = 'regionid is not known; did you mean region_id?'
    expect(await warningFor('?regionid=1')).toEqual([400, warning])
    const both = 'pagesize is not known; did you mean page_size? pages is not known; did you mean page?'
    expect(await warningFor('?country_code=CA&pagesize=5&pages=1&other=1', paths.regions)).toEqual([
      200,
      both,
    ])
    expect(await warningFor('?country_code=CA&page=1', paths.regions)).toEqual([200, null])
  })

  test('in a body that is refused', async () => {
    const { phq9Data, ...rest } = whole
    const answer = await service.post(paths.booking, { ...rest, phq9data: phq9Data })
    expect([answer.status, answer.body.message]).toEqual([400, 'phq9Data: is required'])
    expect(answer.headers.get('x-sandbox-warning')).toBe('phq9data is not known; did you mean phq9Data?')
  })
})

describe('http: there is no spelling warning', () => {
  test.each<[string, unknown]>([
    ['for a correct body', whole],
    [
      'for a name that resembles no known name',
      { ...whole, comment: 'x', memberData: { ...whole.memberData, status: 'x' } },
    ],
    ['for a name with a line break', { ...whole, 'bookingdata\r\nX-Canary: 1': {} }],
    [
      'for a name with characters other than ASCII letters',
      { ...whole, bookingDatá: {}, '<bookingData>': {} },
    ],
    ['for a name inside an unknown field', { ...whole, extra: { bookingdata: {} } }],
    ['for a body that is not an object', [whole]],
  ])('%s', async (_, body) => {
    expect(await warningOf(body)).toBeNull()
  })

  test('in production', async () => {
    const serving = { context: service.context, baseUrl: 'http://localhost', isSandbox: false }
    const app = createApp(serving, () => 'somewhere')
    const answer = await app.fetch(
      new Request(`http://localhost${paths.booking}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${service.partner.token}` },
        body: JSON.stringify({ ...whole, bookingdata: {} }),
      }),
    )
    expect(answer.status).toBe(201)
    expect(answer.headers.get('x-sandbox-warning')).toBeNull()
  })
})
