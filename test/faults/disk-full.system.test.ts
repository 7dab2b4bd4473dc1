import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { statSync } from 'node:fs'
import { booking } from '../support/builders'
import { isLong } from '../support/long'
import { Operator } from '../support/operator'
import { Folder, runProgram, startSandbox, withFewProviders, withFilesUpTo } from '../support/process'
import { faultsIn } from './database'

setDefaultTimeout(300_000)

// The write that fails is another one for each size.
const sizes = isLong ? Array.from({ length: 20 }, (_, index) => 100 + 11 * index) : [300]

test.each(sizes)(
  'where files end at %i blocks, bookings are refused whole, reads go on, and the process lives',
  async (blocks) => {
    using folder = new Folder()
    const path = folder.file('full.sqlite')
    const furnished = await startSandbox(['--database', path, ...withFewProviders])
    expect((await furnished.stop()).code).toBe(0)

    // Room for a write-ahead log of some bookings and no more; the database itself is larger already.
    expect(statSync(path).size).toBeGreaterThan(blocks * 512)
    await using sandbox = await startSandbox(['--database', path], { command: withFilesUpTo(blocks) })
    const slots = (await sandbox.offered()).slice(0, 60)
    const lookUp = (index: number) => sandbox.get(`/partners/v1/user/?external_user_id=member-${index}`)
    const statuses: number[] = []
    for (const [index, slot] of slots.entries()) {
      const answer = await sandbox.post(booking(`member-${index}`, slot))
      statuses.push(answer.status)
      if (answer.status === 201) continue
      expect(answer.body).toEqual({ message: expect.any(String), status: answer.status })
      expect(answer.status).toBeGreaterThanOrEqual(500)
      expect(JSON.stringify(answer.body)).not.toMatch(/sqlite|disk|database|\.ts|member-|example\.com/i)
      expect((await lookUp(index)).status).toBe(404)
    }
    const stored = statuses.filter((status) => status === 201).length
    if (blocks === 300) expect(stored).toBeGreaterThan(0)
    expect(stored).toBeLessThan(slots.length - 10)
    expect(statuses).toEqual([...Array(stored).fill(201), ...statuses.slice(stored)])

    // Many at once, which share a transaction: none is told that it is stored.
    const crowd = await Promise.all(
      slots.slice(-10).map((slot, index) => sandbox.post(booking(`crowd-${index}`, slot))),
    )
    expect(crowd.map(({ status }) => status >= 500)).toEqual(crowd.map(() => true))

    const offered = new Set(
      (await sandbox.offered()).map((slot) => `${slot.providerId} ${slot.utcStartTime}`),
    )
    const isFree = slots.map((slot) => offered.has(`${slot.providerId} ${slot.utcStartTime}`))
    expect(isFree).toEqual(statuses.map((status) => status !== 201))
    expect((await lookUp(0)).status).toBe(200)
    expect((await sandbox.get('/partners/v1/provider-regions/?country_code=CA')).status).toBe(200)
    expect(sandbox.stderr).not.toMatch(/member-|example\.com/)
    expect((await sandbox.stop()).code).toBe(0)

    // With room again, what was stored is there, and what was refused can be had.
    await using roomy = await startSandbox(['--database', path])
    for (const [index, slot] of slots.slice(0, stored + 3).entries()) {
      const answer = await roomy.post(booking(`member-${index}`, slot))
      expect([answer.status, answer.headers.get('x-error-code')]).toEqual(
        index < stored ? [400, 'slot_already_yours'] : [201, null],
      )
    }
    expect((await roomy.stop()).code).toBe(0)
    expect(faultsIn(path)).toEqual([])
    const database = new Database(path, { readonly: true })
    const members = database.query('SELECT count(*) FROM members WHERE partner_id = 1').values()
    database.close()
    // One of them is the deactivated member that every sandbox has.
    expect(members).toEqual([[stored + 3 + 1]])
  },
)

test.each([
  [['key', 'rotate', '--yes'], 'The new master key is in', 'what the old master key opens'],
  [['member', 'erase', '1', '--yes'], 'Member 1 is erased', 'traces of what was erased'],
])(
  'where files cannot grow, %p says that it is done, and what is left to do in one line, and is finished by the next',
  async (args, done, left) => {
    using operator = new Operator()
    await operator.do('init')
    const token = await operator.onboard('Lantern', 'North Care')
    {
      await using service = await operator.serve()
      expect((await service.post(booking('leaver'), token)).status).toBe(201)
      await service.stop()
    }
    // The log has room, and the database that it is written back to has not.
    const { code, stdout, stderr } = await runProgram(args, {
      command: withFilesUpTo(200),
      env: { ANTEROOM_DATABASE: operator.database },
    })
    const line = new RegExp(
      `^anteroom: the database may still hold ${left}, since .* or the storage failed[:;] .*\n$`,
    )
    expect([code, stdout, stderr]).toEqual([7, expect.stringContaining(done), expect.stringMatching(line)])
    expect((await operator.run([...args])).code).toBe(0)
    expect(await operator.do('audit', 'verify')).toStartWith('The log is intact')
    expect(faultsIn(operator.database)).toEqual([])
  },
)
