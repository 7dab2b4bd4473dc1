import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { builtInDirectory, withGenerated } from '../../src/directory-files/sandbox'
import { booking } from '../support/builders'
import { times } from '../support/long'
import { Operator } from '../support/operator'
import { Standstill } from '../support/standstill'

const providers = times(3_000, 10_000)

test(`cli: loading ${providers} providers while the service runs fails no request, and the next search finds the providers`, async () => {
  using operator = new Operator()
  await operator.do('init')
  const token = await operator.onboard('Lantern', 'North Care')
  const small = builtInDirectory(Math.floor(Date.now() / 86_400_000))
  const [before, after] = [operator.folder.file('before.json'), operator.folder.file('after.json')]
  writeFileSync(before, JSON.stringify(small))
  writeFileSync(after, JSON.stringify(withGenerated(small, providers)))
  await operator.do('directory', 'load', before)

  // This test sends more requests than the rate limits allow.
  await using service = await operator.serve('--reads-per-minute', 'off', '--bookings-per-minute', 'off')
  const regions = await service.get('/partners/v1/provider-regions/?country_code=CA', token)
  const ontario = regions.body.find(
    (each: { stateProvinceCode: string }) => each.stateProvinceCode === 'ON',
  ).id
  const search = () => service.get(`/partners/v1/providers/?region_id=${ontario}`, token)
  const countBefore = (await search()).body.count

  using standstill = new Standstill()
  let isLoading = true
  const statuses = new Set<number>()
  const searching = async () => {
    while (isLoading) statuses.add((await search()).status)
  }
  const submitting = async () => {
    for (let n = 0; isLoading; n++) statuses.add((await service.post(booking(`m-${n}`), token)).status)
  }
  const traffic = [searching(), submitting()]
  await operator.do('directory', 'load', after)
  const countAfter = (await search()).body.count
  isLoading = false
  await Promise.all(traffic)

  expect(countAfter).toBeGreaterThan(countBefore + providers / 10)
  // If this machine stalled, some bookings may have waited too long for the database and got 503.
  if (!standstill.isShort) statuses.delete(503)
  expect([...statuses].sort()).toEqual([200, 201])
})
