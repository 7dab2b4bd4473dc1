import { Database } from 'bun:sqlite'
import { paths } from '../contract/contract'
import { cpuMicrosOf } from '../support/cpu'
import { runSql, startPostgres } from '../support/postgres'
import { whyNoPostgres } from '../support/postgres-programs'
import { quiet, startAll } from './growth'
import { measure } from './load'
import { attempt, type Row, rounds } from './row'
import { Serving } from './service'
import { comparingRounds, type Round } from './wrk'

const counts = [1_000_000, 1_000]
const connections = 16

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
  return attempt({ name, goal: '>= 0.83' }, async (spec) => {
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
    const loads = await Promise.all(services.all.map(loadOf))
    const taken: Round[][] = []
    for (let round = -1; round < rounds; round++) {
      const pair: Round[] = []
      for (const [place, load] of loads.entries()) {
        const { pid } = services.all[place] as Serving
        const before = await cpuMicrosOf(pid)
        const { count, perSecond } = (await measure(load))['200'] ?? { count: 0, perSecond: 0 }
        pair.push({ perSecond, cpuMicros: ((await cpuMicrosOf(pid)) - before) / count })
      }
      if (round >= 0) taken.push(pair)
    }
    return comparingRounds(spec, taken as unknown as [Round, Round][], `${few} stored requests`)
  })
}

/** The first page and the fifth in turn. */
async function loadOf({ baseUrl, token }: Serving) {
  let next: string = paths.changes
  for (let page = 1; page < 5; page++) {
    const response = await fetch(baseUrl + next, { headers: { Authorization: `Bearer ${token}` } })
    next = ((await response.json()) as { next: string }).next.replace('https://api.example', '')
  }
  return { baseUrl, token, paths: [paths.changes, next], connections, seconds: 2, perSecond: null }
}

/** Adds declined requests of the member. Their sealed answers are invalid. */
async function addRequests(database: string, count: number, isOnPostgres: boolean): Promise<void> {
  const adding = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    INSERT INTO booking_requests (record_key, partner_id, member_id, is_intake, state, provider_id, authorization_number,
      starts_at, ends_at, local_offset_minutes, declined_at, sealed_screening_answers, submitted_at, position)
    SELECT 'past-' || i, 1, 1, false, 'declined', 1, 'PAST-' || i, i * 3600000, i * 3600000 + 2700000, 0, i,
      ${isOnPostgres ? "decode(repeat('00', 200), 'hex')" : 'zeroblob(200)'}, i, i + 1 FROM n`
  if (isOnPostgres)
    return void (await runSql(database, `${adding.replaceAll('i * 36', 'i::int8 * 36')}; ANALYZE`))
  using file = new Database(database, { readwrite: true, create: false })
  file.run(adding)
}
