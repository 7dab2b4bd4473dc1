import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { paths } from '../contract/contract'
import { booking } from '../support/builders'
import { Operator, type Served } from '../support/operator'
import { startSandbox, withFewProviders } from '../support/process'
import type { Answer } from '../support/service'

const regions = `${paths.regions}?country_code=CA`

const policyOf = ({ headers }: Answer) => headers.get('ratelimit-policy')
const statusOf = async (service: Served, path: string) =>
  (await fetch(`http://127.0.0.1:${service.port}${path}`)).status

describe('cli: rate limits', () => {
  const operator = new Operator()
  let token = ''

  beforeAll(async () => {
    await operator.do('init')
    token = await operator.onboard('Lantern', 'North Care')
  })

  afterAll(() => operator[Symbol.dispose]())

  test('limits apply by default, the documentation is served, and the 121st invalid token in a minute gets 429', async () => {
    await using service = await operator.serve()
    expect(policyOf(await service.get(regions, token))).toBe('"reads";q=30000;w=60')
    expect(policyOf(await service.post(booking('m-1'), token))).toBe('"bookings";q=600;w=60')
    const statuses: number[] = []
    const since = performance.now()
    for (let call = 0; call < 120; call++) statuses.push((await service.get(regions, 'none')).status)
    expect(new Set(statuses)).toEqual(new Set([401]))
    // The limit is 120 requests a minute. So each second that passes allows two more requests.
    const mostMore = Math.ceil((performance.now() - since) / 500) + 2
    let last = await service.get(regions, 'none')
    for (let more = 0; more < mostMore && last.status === 401; more++)
      last = await service.get(regions, 'none')
    expect([last.status, last.headers.get('x-error-code')]).toEqual([429, 'authentication_limited'])
    expect((await service.get(regions, token)).status).toBe(200)
    expect(await statusOf(service, '/docs')).toBe(200)
    expect(await statusOf(service, '/openapi.json')).toBe(200)
  })

  test('flags set the limits, and --no-docs removes the documentation', async () => {
    const flags = ['--reads-per-minute', '7', '--bookings-per-minute', 'off', '--no-docs']
    await using service = await operator.serve(...flags, '--failed-authentications-per-minute', '1')
    expect(policyOf(await service.get(regions, token))).toBe('"reads";q=7;w=60')
    expect(policyOf(await service.post(booking('m-1'), token))).toBeNull()
    expect((await service.get(regions, 'none')).status).toBe(401)
    expect((await service.get(regions, 'none')).status).toBe(429)
    expect(await statusOf(service, '/docs')).toBe(404)
    expect(await statusOf(service, '/docs/swagger-ui.css')).toBe(404)
    expect(await statusOf(service, '/openapi.json')).toBe(404)
  })

  test('set-rates changes the limits of one partner from the next request on', async () => {
    await using service = await operator.serve()
    const setRates = (...flags: string[]) => operator.do('partner', 'set-rates', 'Lantern', ...flags)
    expect(await setRates('--reads-per-minute', '3', '--bookings-per-minute', 'off')).toBe(
      'Partner Lantern: reads 3, bookings off per minute, intakes default, e-mail conflicts default per hour.\n',
    )
    expect(policyOf(await service.get(regions, token))).toBe('"reads";q=3;w=60')
    expect(policyOf(await service.post(booking('m-1'), token))).toBeNull()
    const shown = await operator.do('partner', 'show', 'Lantern')
    expect(shown).toMatch(
      /\nrates +reads 3, bookings off per minute, intakes default, e-mail conflicts default per hour\n/,
    )
    expect(await operator.ask<object>('partner', 'show', 'Lantern')).toMatchObject({
      readsPerMinute: 3,
      bookingsPerMinute: 'off',
    })
    expect(await setRates('--bookings-per-minute', 'default')).toBe(
      'Partner Lantern: reads 3, bookings default per minute, intakes default, e-mail conflicts default per hour.\n',
    )
    expect(policyOf(await service.post(booking('m-1'), token))).toBe('"bookings";q=600;w=60')
    expect(policyOf(await service.get(regions, token))).toBe('"reads";q=3;w=60')
    await setRates('--reads-per-minute', 'default')
    expect(policyOf(await service.get(regions, token))).toBe('"reads";q=30000;w=60')
    const lines = await operator.ask<{ action: string; record: string }[]>('audit', 'list')
    expect(lines.slice(-3).map(({ action, record }) => [action, record])).toEqual(
      Array(3).fill(['partner.set-rates', 'partner 1']),
    )
  })

  test('status and doctor name a partner at its own limit of e-mail conflicts', async () => {
    await using service = await operator.serve()
    const limit = ['partner', 'set-rates', 'Lantern', '--email-conflicts-per-hour']
    expect(await operator.do(...limit, '1')).toBe(
      'Partner Lantern: reads default, bookings default per minute, intakes default, e-mail conflicts 1 per hour.\n',
    )
    const conflicts = ['m-2', 'm-3', 'm-4', 'm-4'].map((name) =>
      booking(name, undefined, { email: 'm-1@example.com' }),
    )
    for (const [at, sent] of conflicts.entries())
      expect((await service.post(sent, token)).status).toBe(at === 0 ? 409 : 429)
    await service.stop()
    const doctor = async (...flags: string[]) =>
      JSON.parse((await operator.run(['doctor', '--json', ...flags])).stdout).find(
        ({ check }: { check: string }) => check === 'e-mail conflicts',
      )
    const detail = 'Lantern: 1 of 1 in the last hour, people refused: 2'
    const remedy = 'call the partner; if its members are real, run anteroom partner set-rates'
    expect(await doctor()).toEqual({ check: 'e-mail conflicts', state: 'note', detail, remedy })
    expect((await operator.run(['status'])).stdout).toContain(`\ne-mail conflicts  ${detail}\n`)
    await operator.do(...limit, 'default')
    expect((await doctor('--email-conflicts-per-hour', '2')).detail).toContain('1 of 2')
    expect(await doctor()).toMatchObject({ state: 'ok', detail: 'no partner is near its limit' })
  })

  test.each([
    [
      [],
      'error: give at least one of --reads-per-minute, --bookings-per-minute, --intakes-per-hour and --email-conflicts-per-hour\n',
    ],
    [
      ['--reads-per-minute', '0'],
      "error: option '--reads-per-minute <n>' must be off, default or a whole number from 1\n",
    ],
    [
      ['--bookings-per-minute', 'none'],
      "error: option '--bookings-per-minute <n>' must be off, default or a whole number from 1\n",
    ],
  ])('partner set-rates with the options %p is rejected', async (flags, stderr) => {
    const refused = await operator.run(['partner', 'set-rates', 'Lantern', ...flags])
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([2, '', stderr])
  })
})

describe('cli: rate limits of the sandbox', () => {
  test('the sandbox has no limits unless a flag sets them', async () => {
    await using sandbox = await startSandbox(withFewProviders)
    const answers = [await sandbox.get(regions), await sandbox.post(booking('m-1'))]
    expect(answers.map(policyOf)).toEqual([null, null])
    for (let call = 0; call < 150; call++) expect((await sandbox.get(regions, 'none')).status).toBe(401)
  })
})
