import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { statSync, writeFileSync } from 'node:fs'
import { booking, provider, region } from '../support/builders'
import { isLong, tellFigure, times } from '../support/long'
import { Operator, type Served } from '../support/operator'

setDefaultTimeout(isLong ? 600_000 : 300_000)

const operator = new Operator()
const file = (name: string) => operator.folder.file(name)
const megabytes = times(6, 320)
let token = ''

/** Members whom nobody opens: what a backup has to carry. */
function grow(): void {
  using database = new Database(operator.database)
  const insert = database.query(
    `INSERT INTO members (record_key, partner_id, external_user_id_hash, active, sealed_external_user_id, sealed_profile,
       created_at, updated_at) VALUES (?, 1, randomblob(32), 1, randomblob(60), randomblob(900), 0, 0)`,
  )
  database.transaction(() => {
    for (let row = 0; row < megabytes * 850; row++) insert.run(`filler-${row}`)
  })()
}

beforeAll(async () => {
  await operator.do('init')
  token = await operator.onboard('Lantern', 'North Care')
  writeFileSync(
    file('directory.json'),
    JSON.stringify({ regions: [region()], providers: [provider('on-1')] }),
  )
  await operator.do('directory', 'load', file('directory.json'))
  grow()
})
afterAll(() => operator[Symbol.dispose]())

/** How long the answers of a time took, in ms. */
class Latencies {
  readonly taken: number[] = []

  toString(): string {
    const sorted = this.taken.toSorted((a, b) => a - b)
    const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1)
    return `${sorted.length} with p50 ${at(0.5)}, p99 ${at(0.99)}, worst ${at(1)} ms`
  }

  get worst(): number {
    return Math.max(...this.taken)
  }
}

function logBytes(): number {
  return statSync(`${operator.database}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

function megabytesOf(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}

/** Books and searches without end; what is answered goes to the latencies of the moment. */
function load(service: Served, callers: number) {
  let [isOver, next] = [false, 0]
  let [bookings, searches] = [new Latencies(), new Latencies()]
  const statuses = new Set<number>()
  const timed = async (into: () => Latencies, work: () => Promise<{ status: number }>) => {
    const [latencies, start] = [into(), performance.now()]
    statuses.add((await work()).status)
    latencies.taken.push(performance.now() - start)
  }
  const run = async (isBooking: boolean) => {
    while (!isOver) {
      if (isBooking)
        await timed(
          () => bookings,
          () => service.post(booking(`m-${next++}`), token),
        )
      else
        await timed(
          () => searches,
          () => service.get('/partners/v1/providers/?region_id=1', token),
        )
      await Bun.sleep(2)
    }
  }
  const running = Array.from({ length: callers }, (_, caller) => run(caller % 2 === 0))
  return {
    statuses,
    /** Ends a time and begins the next. */
    async period(what: string, work: Promise<unknown>) {
      ;[bookings, searches] = [new Latencies(), new Latencies()]
      const period = { bookings, searches }
      const start = performance.now()
      let largest = 0
      const sampling = setInterval(() => {
        largest = Math.max(largest, logBytes())
      }, 50)
      await work
      clearInterval(sampling)
      const log = `log ${megabytesOf(largest)} MB, then ${megabytesOf(logBytes())} MB`
      const took = ((performance.now() - start) / 1000).toFixed(1)
      tellFigure(`${what} (${took} s): bookings ${bookings}; searches ${searches}; ${log}`)
      return period
    },
    async stop() {
      isOver = true
      await Promise.all(running)
      return next
    },
  }
}

test('a backup is made of a database under bookings and searches, none of which is refused or waits for it', async () => {
  await using service = await operator.serve('--bookings-per-minute', 'off', '--reads-per-minute', 'off')
  const under = load(service, 8)
  tellFigure(`database ${(statSync(operator.database).size / 1e6).toFixed(0)} MB`)
  await under.period('before', Bun.sleep(times(500, 5_000)))
  const during = await under.period('during the backup', operator.do('backup', file('backup.age')))
  await under.period('after', Bun.sleep(times(250, 3_000)))
  const booked = await under.stop()
  expect([...under.statuses].sort()).toEqual([200, 201])
  // The copy of a database that is held up for as long as it takes would show in the worst of them.
  expect(during.bookings.worst).toBeLessThan(4_000)
  expect(
    await operator.do(
      'backup',
      'verify',
      file('backup.age'),
      '--master-key-file',
      `${operator.database}.key`,
    ),
  ).toContain('is sound, and as it was made')
  const held = JSON.parse(await operator.do('request', 'list', '--limit', '10000', '--json')).length
  expect(held).toBe(booked)
  tellFigure((await operator.do('backup', 'drill')).trim())
  await service.stop()
})
