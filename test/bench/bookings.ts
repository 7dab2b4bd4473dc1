import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { BookingsService, storedIn } from './bookings-service'
import type { Measured } from './load'
import { comparing, median, type Row, type RowSpec, rounds } from './row'

const [bookingConnections, floodingConnections] = [64, 1_000]
const rowsOfAGroup = 32

/** Compares bookings with bare writes of the same rows, and measures searches under load and overload. */
export async function benchBookings(): Promise<Row[]> {
  await using service = await new BookingsService().start()
  using rows = new Rows(service.folder)
  await service.book(bookingConnections, null)
  rows.write()

  const bare: number[] = []
  const booked: number[] = []
  const one: number[] = []
  const cpu: number[] = []
  for (let round = 0; round < rounds; round++) {
    const before = await service.cpuMicros()
    const measured = await service.book(bookingConnections, null)
    booked.push(storedIn(measured))
    cpu.push(((await service.cpuMicros()) - before) / (measured['201']?.count ?? 0))
    bare.push(rows.write())
    one.push(storedIn(await service.book(1, null)))
  }
  const name = `bookings over HTTP, ${bookingConnections} connections`
  return [
    ratioOf({ name, goal: '>= 0.50' }, booked, bare, `bare SQLite, ${rowsOfAGroup} rows in a transaction`),
    ratioOf({ name, goal: '>= 4' }, booked, one, 'one connection, so one booking in a transaction'),
    { name: 'CPU time of the server for a booking', figure: `${Math.round(median(cpu))} us` },
    await benchSearches(service),
    ...(await benchFlood(service)),
  ]
}

async function benchSearches(server: BookingsService): Promise<Row> {
  const idle: number[] = []
  const underLoad: number[] = []
  for (let round = 0; round < rounds; round++) {
    idle.push(await server.search())
    const [searched] = await Promise.all([server.search(), server.book(bookingConnections, null)])
    underLoad.push(searched)
  }
  return ratioOf(
    { name: 'searches during these bookings', goal: '>= 0.4' },
    underLoad,
    idle,
    'searches without bookings',
  )
}

/** Sends bookings at four times the capacity. The bookings do not wait for earlier responses (open loop). */
async function benchFlood(server: BookingsService): Promise<Row[]> {
  const floods: Measured[] = []
  const capacities: number[] = []
  for (let round = 0; round < rounds; round++) {
    const capacity = storedIn(await server.book(bookingConnections, null))
    capacities.push(capacity)
    floods.push(await server.book(floodingConnections, 4 * capacity))
  }
  const of = (status: string, key: keyof Measured[string]) =>
    median(floods.map((measured) => measured[status]?.[key] ?? 0))
  const name = 'at 4 times the capacity'
  const stored = { name: `bookings stored ${name}`, goal: '>= 0.8' }
  const refused = `${of('503', 'p99')} ms after the due time (${of('503', 'perSecond')} a second)`
  const unanswered = of('unanswered', 'count')
  return [
    ratioOf(stored, floods.map(storedIn), capacities, 'the capacity'),
    {
      name: `99th percentile of stored bookings ${name}`,
      figure: `${of('201', 'p99')} ms after the due time`,
      goal: '< 500 ms',
    },
    { name: `99th percentile of refused bookings ${name}`, figure: refused, goal: '< 50 ms' },
    ...(unanswered > 0
      ? [{ name: `bookings without a response ${name}`, figure: `${unanswered} requests` }]
      : []),
  ]
}

function ratioOf(
  spec: RowSpec,
  ours: readonly number[],
  theirs: readonly number[],
  referenceName: string,
): Row {
  return comparing(spec, { ours, theirs, unit: 'a second', referenceName })
}

type Values = (string | number | Uint8Array | null)[]

/**
 * Writes the service's rows again, with prepared statements only. The rows go to a copy of the service's database, so
 * the tables, indexes, settings and durability are the same.
 */
class Rows implements Disposable {
  readonly #written: Database
  readonly #copy: Database
  #after = { members: 0, booking_requests: 0, changes: 0 }

  constructor(folder: string) {
    this.#written = new Database(join(folder, 'service.sqlite'))
    const path = join(folder, 'copy.sqlite')
    this.#written.run(`VACUUM INTO '${path}'`)
    this.#copy = new Database(path)
    for (const setting of [
      'secure_delete = ON',
      'journal_mode = WAL',
      'synchronous = FULL',
      'foreign_keys = ON',
    ]) {
      this.#copy.run(`PRAGMA ${setting}`)
    }
    for (const setting of ['temp_store = MEMORY', 'cache_size = -16384']) this.#copy.run(`PRAGMA ${setting}`)
    this.#readNew('changes', 'version')
  }

  write(): number {
    const members = this.#readNew('members', 'id')
    const requests = this.#readNew('booking_requests', 'id')
    const changes = this.#readNew('changes', 'version')
    const seal = this.#written
      .query<{ value: Uint8Array }, []>("SELECT value FROM settings WHERE name = 'audit'")
      .get()
    const [addMember, addRequest, addChange] = [
      this.#insertInto('members', members),
      this.#insertInto('booking_requests', requests),
      this.#insertInto('changes', changes),
    ]
    const keepSeal = this.#copy.query("UPDATE settings SET value = ? WHERE name = 'audit'")
    const group = this.#copy.transaction((from: number) => {
      for (let at = from; at < Math.min(from + rowsOfAGroup, members.length); at++) {
        addMember.run(...(members[at] as Values))
        addRequest.run(...(requests[at] as Values))
        addChange.run(...(changes[at] as Values))
      }
      keepSeal.run(seal?.value ?? null)
    })
    const begunAt = performance.now()
    for (let from = 0; from < members.length; from += rowsOfAGroup) group.immediate(from)
    return (members.length / (performance.now() - begunAt)) * 1_000
  }

  #readNew(table: 'members' | 'booking_requests' | 'changes', key: string): Values[] {
    const rows = this.#written
      .query(`SELECT * FROM ${table} WHERE ${key} > ? ORDER BY ${key}`)
      .values(this.#after[table]) as Values[]
    this.#after[table] = (rows.at(-1)?.[0] as number | undefined) ?? this.#after[table]
    return rows
  }

  #insertInto(table: string, [first = []]: readonly Values[]) {
    return this.#copy.query(`INSERT INTO ${table} VALUES (${first.map(() => '?').join()})`)
  }

  [Symbol.dispose](): void {
    this.#written.close()
    this.#copy.close()
  }
}
