import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { actsOf } from '../support/acts'
import { booking, provider, region } from '../support/builders'
import { startService, type TestPartner } from '../support/service'
import { blockWrites } from '../support/storage'
import {
  bookingHead,
  daily,
  entryOf,
  expectRefusal,
  expectUnauthorized,
  lookUp,
  paths,
  sendSlowly,
} from './contract'

const now = '2026-12-01T12:00:00Z'
let service: Awaited<ReturnType<typeof startService>>
let providerId: number
beforeAll(async () => {
  service = await startService({
    now,
    directory: {
      regions: [region({ id: 31 })],
      providers: [
        provider('a', { lastName: 'Only', timeZone: 'Etc/UTC', workingHours: [daily('09:00', '18:00')] }),
      ],
    },
  })
  providerId = (await entryOf(service, 31, 'Only')).providerId
})
afterAll(() => service.stop())

/** Sends a booking whose body is complete only after `meanwhile` has resolved. */
async function bookMeanwhile(
  partner: TestPartner,
  externalUserId: string,
  utcStartTime: string,
  meanwhile: () => Promise<unknown>,
) {
  const body = JSON.stringify(booking(externalUserId, { providerId, utcStartTime }))
  return sendSlowly(service.baseUrl, bookingHead(partner, body.length), body, async () => {
    // Gives the server time to authenticate the partner before the rest of the body arrives.
    await Bun.sleep(100)
    await meanwhile()
  })
}

async function isFree(utcStartTime: string): Promise<boolean> {
  const { availability } = await entryOf(service, 31, 'Only')
  return (availability as { utcStartTime: string }[]).some((slot) => slot.utcStartTime === utcStartTime)
}

describe('contract: a change while a booking body is being received', () => {
  test('revoking the token answers 401 token_invalid and books nothing', async () => {
    const partner = await service.addPartner('Revoked Meanwhile')
    const slot = '2026-12-02T09:00:00Z'
    const answer = await bookMeanwhile(partner, 'revoked', slot, () =>
      actsOf(service.context).revokeKeys(partner.partner.id, service.act()),
    )
    expectUnauthorized(answer, 'token_invalid')
    expect(await isFree(slot)).toBe(true)
  })

  test('deactivating the partner answers 401 partner_inactive and books nothing', async () => {
    const partner = await service.addPartner('Deactivated Meanwhile')
    const store = actsOf(service.context)
    const slot = '2026-12-02T09:45:00Z'
    const answer = await bookMeanwhile(partner, 'deactivated', slot, () =>
      store.setPartnerActive(partner.partner.id, false, service.act()),
    )
    expectUnauthorized(answer, 'partner_inactive')
    expect(await isFree(slot)).toBe(true)
    await store.setPartnerActive(partner.partner.id, true, service.act())
    expect((await lookUp(service, 'deactivated', partner.token)).status).toBe(404)
  })

  test('deactivating the organization answers 403 and books nothing', async () => {
    const partner = await service.addPartner('Closed Meanwhile')
    const store = actsOf(service.context)
    const organizationId = partner.organization?.id ?? 0
    const slot = '2026-12-02T10:30:00Z'
    const answer = await bookMeanwhile(partner, 'closed', slot, () =>
      store.setOrganizationActive(organizationId, false, service.act()),
    )
    expectRefusal(answer, { status: 403, kind: 'organization_deactivated' })
    expect(await isFree(slot)).toBe(true)
    await store.setOrganizationActive(organizationId, true, service.act())
    expect((await lookUp(service, 'closed', partner.token)).status).toBe(404)
  })

  test('a slot that starts before the body is complete is slot_unavailable', async () => {
    const partner = await service.addPartner('Late')
    const slot = '2026-12-01T12:45:00Z'
    const answer = await bookMeanwhile(partner, 'late', slot, async () =>
      service.setNow('2026-12-01T12:50:00Z'),
    )
    expectRefusal(answer, { status: 400, kind: 'slot_unavailable' })
    service.setNow(now)
    expect(await isFree(slot)).toBe(true)
  })

  test('a booking with a slow body is stored if nothing changes', async () => {
    const partner = await service.addPartner('Slow')
    const answer = await bookMeanwhile(partner, 'slow', '2026-12-02T12:00:00Z', async () => undefined)
    expect(answer.status).toBe(201)
  })
})

describe('contract: a change while a booking waits for the database lock', () => {
  test.each([
    ['deactivating the partner', 'UPDATE partners SET active = false WHERE id = ', 'partner_inactive'],
    [
      'revoking the token',
      "UPDATE partner_keys SET ends_at = starts_at, end_reason = 'revoked' WHERE partner_id = ",
      'token_invalid',
    ],
  ])('%s rejects the booking', async (what, change, code) => {
    const { partner, token } = await service.addPartner(`Waiting, ${what}`)
    const slot = { providerId, utcStartTime: '2026-12-03T09:00:00Z' }
    for (const body of [booking(`waiting-${code}`, slot), booking(`waiting-${code}`)]) {
      await using other = await blockWrites(service.storage)
      const answer = service.post(paths.booking, body, token)
      await Bun.sleep(100)
      await other.run(`${change}${partner.id}`)
      await other.run(`INSERT INTO changes (noun, record_id) VALUES ('partner', ${partner.id})`)
      await other.commit()
      expectUnauthorized(await answer, code)
    }
    expect(await isFree(slot.utcStartTime)).toBe(true)
  })
})
