import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { booking } from '../support/builders'
import { times } from '../support/long'
import { Folder, type OfferedSlot, type Sandbox, startSandbox, withFewProviders } from '../support/process'
import { faultsIn } from './database'

setDefaultTimeout(300_000)

const folder = new Folder()
const path = folder.file('shared.sqlite')
let [one, other] = [] as unknown as [Sandbox, Sandbox]
let slots: OfferedSlot[] = []

beforeAll(async () => {
  one = await startSandbox(['--database', path, ...withFewProviders])
  other = await startSandbox(['--database', path])
  slots = await one.offered()
})

afterAll(async () => {
  for (const sandbox of [one, other]) await sandbox?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const nextSlot = (): OfferedSlot => slots.shift() as OfferedSlot
const isOffered = async (sandbox: Sandbox, slot: OfferedSlot) =>
  (await sandbox.offered()).some(
    ({ providerId, utcStartTime }) => providerId === slot.providerId && utcStartTime === slot.utcStartTime,
  )

describe('two processes on one database', () => {
  test('know the same partners by the same tokens', async () => {
    expect(other.report.partners).toEqual(one.report.partners)
    expect((await other.get('/partners/v1/provider-regions/?country_code=CA', one.token())).status).toBe(200)
  })

  test('refuse what the other has given away at the very next request, in bookings and in searches', async () => {
    for (const [here, there, name] of [
      [one, other, 'a'],
      [other, one, 'b'],
    ] as const) {
      const slot = nextSlot()
      expect(await isOffered(there, slot)).toBe(true)
      expect((await here.post(booking(`first-${name}`, slot))).status).toBe(201)
      const refused = await there.post(booking(`second-${name}`, slot))
      expect([refused.status, refused.body]).toEqual([
        400,
        { message: 'bookingData.utcStartTime: the slot is not available', status: 400 },
      ])
      expect(await isOffered(there, slot)).toBe(false)
      expect((await there.get(`/partners/v1/user/?external_user_id=first-${name}`)).status).toBe(200)
      expect((await there.get(`/partners/v1/user/?external_user_id=second-${name}`)).status).toBe(404)
      const mine = await there.post(booking(`first-${name}`, slot))
      expect(mine.headers.get('x-error-code')).toBe('slot_already_yours')
    }
  })

  test('know an address that was given to the other', async () => {
    expect((await one.post(booking('address'))).status).toBe(201)
    const taken = await other.post(booking('another', undefined, { email: 'ADDRESS@example.com' }))
    expect([taken.status, taken.body]).toEqual([
      409,
      { message: 'memberData.email: already belongs to a different member', status: 409 },
    ])
  })

  const rounds = Array.from({ length: times(2, 20) }, (_, index) => index + 1)

  test.each(rounds)('give a slot that 100 ask for at once to one of them (round %i)', async (round) => {
    const slot = nextSlot()
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        [one, other][index % 2]?.post(booking(`crowd-${round}-${index}`, slot)),
      ),
    )
    const statuses = answers.map((answer) => answer?.status)
    expect(statuses.filter((status) => status === 201)).toHaveLength(1)
    expect(statuses.filter((status) => status !== 201 && status !== 400 && status !== 503)).toEqual([])
    for (const sandbox of [one, other]) expect(await isOffered(sandbox, slot)).toBe(false)
    const found = await Promise.all(
      answers.map((_, index) => one.get(`/partners/v1/user/?external_user_id=crowd-${round}-${index}`)),
    )
    expect(found.map(({ status }) => status === 200)).toEqual(statuses.map((status) => status === 201))
  })

  test('make one member of 60 first requests for one', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => [one, other][index % 2]?.post(booking('the-one'))),
    )
    const stored = answers.filter((answer) => answer?.status === 201)
    expect(answers.filter((answer) => answer?.status !== 201 && answer?.status !== 503)).toEqual([])
    expect(stored.length).toBeGreaterThan(0)
    expect(new Set(stored.map((answer) => answer?.body.member.id)).size).toBe(1)
  })

  test('give every one of 100 different slots away once, without an error', async () => {
    const asked = Array.from({ length: 100 }, nextSlot)
    const answers = await Promise.all(
      asked.map((slot, index) => [one, other][index % 2]?.post(booking(`many-${index}`, slot))),
    )
    expect(answers.filter((answer) => answer?.status !== 201 && answer?.status !== 503)).toEqual([])
    expect(answers.filter((answer) => answer?.status === 201).length).toBeGreaterThan(50)
    const [here, there] = await Promise.all([one.offered(), other.offered()])
    expect(here).toEqual(there)
  })

  test('survive each other’s end', async () => {
    await using third = await startSandbox(['--database', path])
    const slot = nextSlot()
    expect((await third.post(booking('third', slot))).status).toBe(201)
    third.signal('SIGKILL')
    await third.exit()
    for (const [index, sandbox] of [one, other].entries()) {
      expect((await sandbox.post(booking(`after-${index}`, slot))).status).toBe(400)
      expect((await sandbox.post(booking(`after-${index}`, nextSlot()))).status).toBe(201)
    }
  })

  test('leave a sound database', async () => {
    const exits = await Promise.all([one.stop(), other.stop()])
    expect(exits.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ])
    expect(faultsIn(path)).toEqual([])
  })
})

test('two sandboxes that are started at once on one new database both come up, with the same tokens', async () => {
  using place = new Folder()
  const database = place.file('new.sqlite')
  const started = await Promise.allSettled([
    startSandbox(['--database', database, ...withFewProviders]),
    startSandbox(['--database', database, ...withFewProviders]),
  ])
  const running = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  try {
    expect(started.map((result) => (result.status === 'rejected' ? String(result.reason) : ''))).toEqual([
      '',
      '',
    ])
    expect(running[1]?.report.partners).toEqual(running[0]?.report.partners as never)
    expect(running[0]?.report.partners).toHaveLength(6)
  } finally {
    for (const sandbox of running) await sandbox[Symbol.asyncDispose]()
  }
})
