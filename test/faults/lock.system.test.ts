import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { booking } from '../support/builders'
import {
  eventually,
  Folder,
  type OfferedSlot,
  type Sandbox,
  startSandbox,
  withFewProviders,
} from '../support/process'
import { Standstill } from '../support/standstill'

setDefaultTimeout(300_000)

const folder = new Folder()
const path = folder.file('locked.sqlite')
let sandbox = undefined as unknown as Sandbox
let slots: OfferedSlot[] = []

beforeAll(async () => {
  sandbox = await startSandbox(['--database', path, ...withFewProviders])
  // Skips the next slots, because they may start while the tests run.
  slots = (await sandbox.offered()).slice(20)
})

afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

/** Holds the write lock, as a slow process would. */
class Lock implements Disposable {
  readonly #database = new Database(path)
  #isHeld = true

  constructor() {
    this.#database.run('PRAGMA busy_timeout = 2000')
    this.#database.run('BEGIN IMMEDIATE')
  }

  release(): void {
    if (this.#isHeld) this.#database.run('ROLLBACK')
    this.#isHeld = false
  }

  [Symbol.dispose](): void {
    this.release()
    this.#database.close()
  }
}

const standstill = new Standstill()
afterAll(() => standstill[Symbol.dispose]())

async function timed<T>(answer: Promise<T>): Promise<[T, number]> {
  const started = standstill.now()
  return [await answer, standstill.now() - started]
}

const lookUp = (externalUserId: string) =>
  sandbox.get(`/partners/v1/user/?external_user_id=${externalUserId}`)

describe('faults: another process holds the write lock', () => {
  test('a booking during a long write lock gets 503 with Retry-After after about two seconds, and stores nothing', async () => {
    using lock = new Lock()
    const [slot] = slots
    const started = performance.now()
    const [answer, took] = await timed(sandbox.post(booking('waiting', slot)))
    expect([answer.status, answer.body]).toEqual([
      503,
      { message: 'the service is busy; try again', status: 503 },
    ])
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.headers.get('x-error-code')).toBe('storage_busy')
    expect(performance.now() - started).toBeGreaterThan(1_500)
    expect(took).toBeLessThan(3_500)
    lock.release()
    expect((await lookUp('waiting')).status).toBe(404)
    expect((await sandbox.post(booking('waiting', slot))).status).toBe(201)
  })

  test('regions, searches and look-ups are answered quickly during a write lock', async () => {
    expect((await sandbox.post(booking('reader'))).status).toBe(201)
    const { regionId } = sandbox.report.examples
    const reads = [
      () => sandbox.get('/partners/v1/provider-regions/?country_code=CA'),
      () => sandbox.get(`/partners/v1/providers/?region_id=${regionId}&page_size=5`),
      () => lookUp('reader'),
    ]
    using lock = new Lock()
    let isWaiting = true
    const refused = sandbox.post(booking('writer')).finally(() => {
      isWaiting = false
    })
    const times: number[] = []
    while (isWaiting) {
      for (const read of reads) {
        const [{ status }, took] = await timed(read())
        expect(status).toBe(200)
        times.push(took)
      }
    }
    expect((await refused).status).toBe(503)
    lock.release()
    expect(times.length).toBeGreaterThan(50)
    const sorted = times.sort((a, b) => a - b)
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(100)
    expect(sorted.at(-1)).toBeLessThan(1_000)
  })

  test('a booking waits for a write lock that is released in time, and is stored', async () => {
    using lock = new Lock()
    const started = performance.now()
    const answer = sandbox.post(booking('patient', slots[1]))
    await eventually('half a second', () => performance.now() - started > 500)
    expect((await lookUp('patient')).status).toBe(404)
    lock.release()
    expect((await answer).status).toBe(201)
  })

  test('a request that is invalid or not allowed gets its usual error during a write lock', async () => {
    using _ = new Lock()
    expect((await sandbox.get('/partners/v1/provider-regions/?country_code=CA', 'wrong')).status).toBe(401)
    expect((await sandbox.post('{')).status).toBe(400)
    expect((await sandbox.post(booking('x'), sandbox.token('organization_deactivated'))).status).toBe(403)
  })

  test('a second sandbox waits at its start until the write lock is released', async () => {
    const lock = new Lock()
    const releasing = setTimeout(() => lock.release(), 1_500)
    try {
      await using second = await startSandbox(['--database', path])
      expect(second.report.partners).toEqual(sandbox.report.partners)
    } finally {
      clearTimeout(releasing)
      lock[Symbol.dispose]()
    }
  })
})
