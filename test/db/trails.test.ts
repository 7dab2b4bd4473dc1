import { describe, expect, test } from 'bun:test'
import { newKey } from '../../src/auth/token'
import { setting } from '../../src/domain/ports/writes'
import { actAt, fill, nine, now, stored } from './furniture'
import { openPlace, openTestDatabase } from './place'

const hour = 3_600_000

/** A database with a partner, a rotated and a revoked token, and requests in several states. */
async function openFilled() {
  const place = await openPlace()
  const { store, maintenance } = place
  const filled = await fill(place)
  const { partner, book, intake } = filled
  await store.issueKey(partner.id, { ...newKey(), startsAt: now }, actAt(now))
  await store.rotateKey(partner.id, { ...newKey(), startsAt: now + hour }, actAt(now + 1))
  const booking = (await stored(book('robin', nine))).id
  const waiting = (await stored(intake('sasha'))).id
  return {
    ...{ ...filled, place, store, booking, waiting },
    sql(...statements: string[]) {
      using database = openTestDatabase(place.path)
      for (const statement of statements) database.run(statement)
    },
    async records(isAll = false) {
      const findings = (await maintenance?.check(now + 2, null, isAll)) ?? []
      const found = findings.find(({ check }) => check === 'records')
      return found?.state === 'ok'
        ? []
        : found?.detail
            .replace('changed without the service: ', '')
            .replace(/audit line \d+/g, 'line N')
            .split('; ')
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  }
}

describe('db: records that were changed without the service', () => {
  test('acts of the service leave no difference', async () => {
    await using filled = await openFilled()
    const { store, partner, booking, waiting, first } = filled
    expect(await filled.records()).toEqual([])
    await store.accept(booking, actAt(now + 2))
    await store.close(waiting, actAt(now + 2))
    await store.setPartnerRates(partner.id, { readsPerMinute: 60 }, actAt(now + 2))
    await store.setPartnerActive(partner.id, false, actAt(now + 3))
    await store.cancelCutover(partner.id, actAt(now + 4))
    expect(await filled.records(true)).toEqual([])
    await store.change(
      actAt(now + 4),
      () => [],
      () => setting('request.reopen', 'request', waiting, { state: 'unassigned', declinedAt: null }),
    )
    expect(await filled.records(true)).toEqual([])
    await store.revokeKeys(partner.id, actAt(now + 5))
    await store.decline(booking, actAt(now + 5))
    await store.change(
      actAt(now + 4),
      () => [],
      () => setting('request.reopen', 'request', booking, { state: 'pending', declinedAt: null }),
    )
    expect(await filled.records(true)).toEqual([])
    await store.setProviderActive(first, false, actAt(now + 5))
    expect(await filled.records(true)).toEqual([])
  })

  test('an act that was refused changes nothing', async () => {
    await using filled = await openFilled()
    const { store, booking } = filled
    const line = { ...actAt(now), action: 'request.decline' as const, record: `request ${booking}` }
    await store.appendAudit([{ ...line, outcome: 'move_unknown' }])
    expect(await filled.records()).toEqual([])
  })

  test('a partner, its organization and its rates are named', async () => {
    await using filled = await openFilled()
    filled.sql(
      'UPDATE partners SET active = 0, reads_per_minute = 0, organization_id = NULL',
      "UPDATE organizations SET active = 0, name = 'Kept'",
    )
    const named = 'partner 1 (Harbourlight)'
    const rates = (reads: string) => `reads ${reads}, bookings default per minute, intakes default per hour`
    expect(await filled.records()).toEqual([
      'organization 1 (Kept) is deactivated, but line N (organization.add) made it active',
      `${named} is deactivated, but line N (partner.add) made it active`,
      `${named} has ${rates('off')}, but line N (partner.add) says ${rates('default')}`,
      `${named} has none, but line N (partner.add) says organization 1`,
    ])
  })

  test('networks that were opened or set behind the back of the service are named', async () => {
    await using filled = await openFilled()
    const { store, partner } = filled
    filled.sql("UPDATE partners SET networks = '192.0.2.0/24'")
    const named = 'partner 1 (Harbourlight) has calls from'
    expect(await filled.records()).toEqual([
      `${named} 192.0.2.0/24, but line N (partner.add) says calls from any address`,
    ])
    await store.setPartnerNetworks(partner.id, '10.0.0.0/8', actAt(now))
    expect(await filled.records()).toEqual([])
    filled.sql('UPDATE partners SET networks = NULL')
    expect(await filled.records()).toEqual([
      `${named} any address, but line N (partner.set-networks) says calls from 10.0.0.0/8`,
    ])
  })

  test('a line of an older version without values is not judged', async () => {
    await using filled = await openFilled()
    const { store, partner } = filled
    filled.sql('UPDATE partners SET reads_per_minute = 5')
    const record = `partner ${partner.id}`
    await store.appendAudit([{ ...actAt(now), action: 'partner.set-rates', record, outcome: 'done' }])
    expect(await filled.records()).toEqual([])
    await store.setPartnerRates(partner.id, { bookingsPerMinute: 'off' }, actAt(now))
    expect(await filled.records()).toEqual([])
    const rates = 'bookings_per_minute = 7, intakes_per_hour = 9, email_conflicts_per_hour = 0'
    filled.sql(`UPDATE partners SET ${rates}`)
    const was = 'reads 5, bookings off per minute, intakes default per hour'
    expect(await filled.records()).toEqual([
      `partner 1 (Harbourlight) has reads 5, bookings 7 per minute, intakes 9, e-mail conflicts off per hour, but line N (partner.set-rates) says ${was}`,
    ])
  })

  test.each([
    ['a revoked token that is valid again', 'ends_at = NULL, end_reason = NULL', 1],
    ['a revoked token with a later end', 'ends_at = 9000000000000', 1],
    ['a cancelled token that waits again', 'ends_at = NULL, end_reason = NULL', 2],
  ])('%s is named', async (_, columns, id) => {
    await using filled = await openFilled()
    const { store, partner } = filled
    const kid = (await store.listKeys()).find((key) => key.id === id)?.kid
    await store.revokeKeys(partner.id, actAt(now + 2))
    filled.sql(`UPDATE partner_keys SET ${columns} WHERE id = ${id}`)
    expect(await filled.records()).toEqual([
      `partner 1 (Harbourlight): token ${kid} differs from line N (token.revoke)`,
    ])
  })

  test('a cutover that was moved or a token that was ended is named', async () => {
    await using filled = await openFilled()
    const [first, second] = await filled.store.listKeys()
    const differs = (kid?: string) =>
      `partner 1 (Harbourlight): token ${kid} differs from line N (token.rotate)`
    filled.sql('UPDATE partner_keys SET ends_at = ends_at + 1 WHERE id = 1')
    expect(await filled.records()).toEqual([differs(first?.kid)])
    filled.sql(
      'UPDATE partner_keys SET ends_at = ends_at - 1 WHERE id = 1',
      "UPDATE partner_keys SET ends_at = 9000000000000, end_reason = 'revoked' WHERE id = 2",
    )
    expect(await filled.records()).toEqual([differs(second?.kid)])
    filled.sql('UPDATE partner_keys SET ends_at = starts_at WHERE id = 2')
    expect(await filled.records()).toEqual([differs(second?.kid)])
  })

  test('after a cancelled cutover, only the earlier token is valid', async () => {
    await using filled = await openFilled()
    await filled.store.cancelCutover(1, actAt(now + 2))
    const [first] = await filled.store.listKeys()
    filled.sql("UPDATE partner_keys SET ends_at = 9000000000000, end_reason = 'rotated' WHERE id = 1")
    expect(await filled.records()).toEqual([
      `partner 1 (Harbourlight): token ${first?.kid} differs from line N (token.cancel)`,
    ])
  })

  test('a token without any line is named', async () => {
    await using filled = await openFilled()
    const [first] = await filled.store.listKeys()
    const other = await filled.store.addPartner('Other', null, actAt(now))
    filled.sql(`UPDATE partner_keys SET partner_id = ${other.id} WHERE id = 1`)
    expect(await filled.records()).toEqual([
      `partner 2 (Other): token ${first?.kid} differs from line N (partner.add)`,
    ])
  })

  test('requests in another state than their newest line or their first state are named', async () => {
    await using filled = await openFilled()
    const { store, booking, waiting } = filled
    await store.accept(booking, actAt(now + 2))
    filled.sql(
      `UPDATE booking_requests SET state = 'pending' WHERE id = ${booking}`,
      `UPDATE booking_requests SET state = 'closed', declined_at = 0 WHERE id = ${waiting}`,
    )
    expect(await filled.records()).toEqual([
      `request ${booking} is pending, but line N (request.accept) made it accepted`,
      `request ${waiting} is closed, but no audit line says so`,
    ])
  })

  test('of the older requests, those that wait or hold a future slot are compared; with --all, every request', async () => {
    await using filled = await openFilled()
    const { store, booking, waiting, book } = filled
    const future = (await stored(book('future', nine + 7 * 24 * hour))).id
    await store.close(waiting, actAt(now + 2))
    filled.sql(
      `UPDATE booking_requests SET state = 'declined', declined_at = 0 WHERE id = ${booking}`,
      `UPDATE booking_requests SET state = 'unassigned', declined_at = NULL WHERE id = ${waiting}`,
      `UPDATE booking_requests SET state = 'accepted', accepted_at = 0 WHERE id = ${future}`,
      "UPDATE sqlite_sequence SET seq = 2000 WHERE name = 'booking_requests'",
    )
    await stored(filled.intake('newest'))
    const open = [
      `request ${waiting} is unassigned, but line N (request.close) made it closed`,
      `request ${future} is accepted, but no audit line says so`,
    ]
    expect(await filled.records()).toEqual(open)
    expect(await filled.records(true)).toEqual([
      `request ${booking} is declined, but no audit line says so`,
      ...open,
    ])
  })

  test('requests without a line are not judged if their lines may have been pruned', async () => {
    await using filled = await openFilled()
    const { booking, place } = filled
    filled.sql(`UPDATE booking_requests SET state = 'accepted', accepted_at = 0 WHERE id = ${booking}`)
    expect(await filled.records()).toHaveLength(1)
    const prune = { chain: 'acts', before: now + 1, target: place.freeTarget } as const
    await place.maintenance?.pruneAudit(prune, actAt(now + 1))
    expect(await filled.records()).toEqual([])
  })
})
