import { expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { limitsOf } from '../../src/config'
import { listQueue } from '../../src/operations/queue'
import { endRequests, listSubmitted } from '../../src/operations/requests'
import { parseInstant } from '../../src/scheduling/calendar'
import { valuesOf } from '../../src/settings'
import { daily, paths } from '../contract/contract'
import { booking, provider, region } from '../support/builders'
import { defaultNow, startService, type TestPartner } from '../support/service'

const [providers, seconds, callsAtOnce] = [10, 600, 64]
/** The most that costs one unit of the rate. */
const bodyBytes = 8_191

/** A body that stores as many bytes as its cost allows: the reason changes with each call, and the earlier one is kept. */
function largest(call: number, slot: { providerId: number; utcStartTime: string } | undefined) {
  const member = `m-${slot ? call % 700 : `intake-${call}`}`
  const reason = `${call} `.padEnd(4_000, 'x')
  const question = 'q'.repeat(1_000)
  const body = { ...booking(member, slot, { reasonForSeekingSupport: reason }), phq9Data: [] as object[] }
  for (let bytes = 0; bytes < 3; bytes++) body.phq9Data.push({ question, answer: 'a'.repeat(50) })
  return JSON.stringify(body).padEnd(bodyBytes)
}

test('hostile: a partner that floods the service for ten minutes stores less than 200 MB, buries no one, and is undone at once', async () => {
  const service = await startService({
    limits: limitsOf(valuesOf({})),
    directory: {
      regions: [region({ id: 31 })],
      providers: Array.from({ length: providers }, (_, index) =>
        provider(`p-${index}`, { timeZone: 'Etc/UTC', workingHours: [daily('00:00', '23:59')] }),
      ),
    },
  })
  using _ = { [Symbol.dispose]: () => void service.stop() }
  const slots = freeSlots(service.context.directory.listProviders().map(({ id }) => id))
  const started = parseInstant(defaultNow) as number
  const victim = await service.addPartner('Victim')
  const { body: theirs } = await service.post(paths.booking, booking('victim'), victim.token)
  const statuses: Record<string, number> = {}
  let call = 0
  const submit = async (slot: (typeof slots)[number] | undefined) => {
    const { status } = await service.post(paths.booking, largest(call++, slot))
    const name = `${slot ? 'booking' : 'intake'} ${status}`
    statuses[name] = (statuses[name] ?? 0) + 1
    if (slot && status !== 201) slots.push(slot)
    return status
  }
  for (let second = 0; second < seconds; second++) {
    service.setNow(started + second * 1_000)
    await submit(undefined)
    for (let isLimited = false; !isLimited; ) {
      const batch = slots.splice(0, callsAtOnce)
      isLimited = (await Promise.all(batch.map(submit))).includes(429)
    }
  }
  const { database } = service.storage
  const bytes = [database, `${database}-wal`].reduce((sum, file) => sum + statSync(file).size, 0)
  console.log('figure: ten minutes of one token', statuses, `${Math.round(bytes / 1e6)} MB`)
  expect(bytes).toBeLessThan(200e6)

  const queueOf = async (partner: TestPartner) => {
    const filter = { state: 'unassigned', partnerId: partner.partner.id } as const
    const wish = { filter, sort: 'risk', perMember: true, page: 1, pageSize: 50 } as const
    return (await listQueue(service.context, wish, service.act())).requests.map(({ request }) => request.id)
  }
  expect(await queueOf(victim)).toEqual([theirs.id])
  const submitted = await listSubmitted(service.context, service.partner.partner, started)
  await endRequests(service.context, 'close', submitted.close, service.act())
  expect(await queueOf(service.partner)).toEqual([])
})

function freeSlots(ids: readonly number[]) {
  const first = Date.parse('2026-12-02T00:00:00Z')
  return Array.from({ length: 8_000 }, (_, index) => {
    const nth = Math.floor(index / ids.length)
    const at = first + Math.floor(nth / 31) * 86_400_000 + (nth % 31) * 45 * 60_000
    return {
      providerId: ids[index % ids.length] as number,
      utcStartTime: `${new Date(at).toISOString().slice(0, 19)}Z`,
    }
  })
}
