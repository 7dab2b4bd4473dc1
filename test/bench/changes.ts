import { Database } from 'bun:sqlite'
import { paths } from '../contract/contract'
import { runSql, startPostgres } from '../support/postgres'
import { whyNoPostgres } from '../support/postgres-programs'
import { timed } from './booked'
import { quiet, startAll } from './growth'
import { attempt, comparing, median, type Row, rounds } from './row'
import { Serving } from './service'

const counts = [1_000_000, 1_000]
const pagesOfRound = 500

/** Compares pages of the list of changes with many stored requests to pages with few. */
export async function benchChanges(): Promise<Row[]> {
  const rows = [
    await comparePages(
      'SQLite',
      counts.map(() => undefined),
    ),
  ]
  if (whyNoPostgres() !== null) return rows
  await using server = await startPostgres({ fsync: true })
  const names = counts.map((count) => `changes_${count}`)
  for (const name of names) await server.run(`CREATE DATABASE ${name} TEMPLATE template0`)
  return [
    ...rows,
    await comparePages(
      'PostgreSQL',
      names.map((name) => server.urlOf(name)),
    ),
  ]
}

function comparePages(engine: string, addresses: readonly (string | undefined)[]): Promise<Row> {
  const [many, few] = counts.map((count) => count.toLocaleString('en'))
  const name = `pages of 100 changes with ${many} stored requests, ${engine}`
  return attempt({ name, goal: '<= 1.20' }, async (spec) => {
    const places = counts.map((count, place) => ({ count, address: addresses[place] }))
    await using services = await startAll(places, async ({ count, address }) => {
      const serving = await Serving.start(1, address)
      await serving.addMember('member-1')
      await serving.pause()
      await addRequests(serving.operator.database, count, address !== undefined)
      await serving.resume()
      await quiet(serving)
      return serving
    })
    const [ours, theirs]: [number[], number[]] = [[], []]
    for (let round = -1; round < rounds; round++) {
      const figures = await readInTurn(services.all)
      if (round < 0) continue
      ours.push(figures[0] as number)
      theirs.push(figures[1] as number)
    }
    return comparing(spec, { ours, theirs, unit: 'ms', referenceName: `${few} stored requests` })
  })
}

/** Reads the first pages of each service, a page of each in turn. Returns the median times of a page, in ms. */
async function readInTurn(services: readonly Serving[]): Promise<number[]> {
  const readers = services.map(({ baseUrl, token }) => ({
    baseUrl,
    token,
    next: paths.changes as string,
    taken: [] as number[],
  }))
  for (let page = 0; page < pagesOfRound; page++) {
    for (const reader of readers) {
      const headers = { Authorization: `Bearer ${reader.token}` }
      const path = page % 10 === 0 ? paths.changes : reader.next
      const [body, millis] = await timed(async () => (await fetch(reader.baseUrl + path, { headers })).json())
      reader.next = (body as { next: string }).next.replace('https://api.example', '')
      reader.taken.push(millis)
    }
  }
  return readers.map(({ taken }) => median(taken))
}

/** Adds declined requests of the member. Their sealed answers are invalid. */
async function addRequests(database: string, count: number, isOnPostgres: boolean): Promise<void> {
  const adding = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    INSERT INTO booking_requests (record_key, partner_id, member_id, is_intake, state, provider_id, authorization_number,
      starts_at, ends_at, local_offset_minutes, declined_at, sealed_screening_answers, submitted_at)
    SELECT 'past-' || i, 1, 1, false, 'declined', 1, 'PAST-' || i, i * 3600000, i * 3600000 + 2700000, 0, i,
      ${isOnPostgres ? "decode(repeat('00', 200), 'hex')" : 'zeroblob(200)'}, i FROM n`
  const placing = `INSERT INTO request_positions SELECT id, partner_id, id FROM booking_requests
    WHERE id NOT IN (SELECT request_id FROM request_positions)`
  if (isOnPostgres)
    return void (await runSql(
      database,
      `${adding.replaceAll('i * 36', 'i::int8 * 36')}; ${placing}; ANALYZE`,
    ))
  using file = new Database(database, { readwrite: true, create: false })
  file.run(adding)
  file.run(placing)
}
