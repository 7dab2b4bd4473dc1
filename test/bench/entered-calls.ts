import { test } from 'bun:test'
import { daily, paths } from '../contract/contract'
import { booking, provider, region } from '../support/builders'
import { startService } from '../support/service'

// entered.ts runs this file. Environment variables contain the number of calls to make after the warm-up.
const calls = (name: string) => Array.from({ length: Number(process.env[name] ?? 0) }, (_, index) => index)

test('bench: pages and bookings are answered', async () => {
  const providers = [provider('p1', { workingHours: [daily('09:00', '17:00')] })]
  const service = await startService({ directory: { regions: [region({ id: 31 })], providers } })
  const search = () => service.get(`${paths.providers}?region_id=31`)
  const { body } = await search()
  const [found] = body.results
  const book = (index: number) => {
    const slot = { providerId: found.providerId, utcStartTime: found.availability[2 * index].utcStartTime }
    return service.post(paths.booking, booking(`member-${index}`, slot))
  }
  for (const _ of calls('PAGES')) await search()
  for (const index of calls('BOOKINGS')) await book(index)
})
