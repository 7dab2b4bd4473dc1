import { expect, setDefaultTimeout, test } from 'bun:test'
import { appendFileSync, writeFileSync } from 'node:fs'
import { Pool } from '../../../db/postgres/client/pool'
import { openSession, type Session } from '../../../db/postgres/session'
import { readOn } from '../../../db/postgres/store'
import { createVault } from '../../../src/vault/vault'
import { eventually } from '../../support/eventually'
import { type Postgres, startPostgres } from '../../support/postgres'
import { describeOnPostgres, newDatabase, sharedPostgres } from '../../support/postgres-databases'
import { millisOf } from '../../support/standstill'
import { addressOf, failureOf, TestPool, Uncaught } from './pools'

setDefaultTimeout(300_000)

/** The number of connections at the server, without the connection that counts. */
async function connectionsOf(server: Postgres): Promise<number> {
  const [row] = await server.run<{ n: number }>(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'anteroom'",
  )
  return row?.n ?? -1
}

const ask = (pool: TestPool) => pool.use(async (on) => (await on.send('SELECT 1'))[0]?.[0]?.[0])

/** Makes the pool open `count` connections. */
async function fill(pool: TestPool, count: number): Promise<void> {
  const all = Promise.withResolvers<void>()
  let begun = 0
  const hold = () =>
    pool.use(() => {
      begun += 1
      if (begun === count) all.resolve()
      return all.promise
    })
  await Promise.all(Array.from({ length: count }, hold))
}

describeOnPostgres('postgres: the connection pool', () => {
  test('tasks get connections in order of arrival, and the pool never exceeds its size', async () => {
    await using database = await newDatabase()
    await using pool = new TestPool(database.url, 2)
    await fill(pool, 2)
    let [under, most] = [0, 0]
    const order: number[] = []
    const works = [1, 2, 3, 4, 5, 6].map((name) =>
      pool.use(async (on) => {
        under += 1
        most = Math.max(most, under)
        order.push(name)
        const [[pid]] = (await on.run('SELECT pg_backend_pid(), pg_sleep($1)', [0.05])) as [[number]]
        under -= 1
        return pid
      }),
    )
    expect(new Set(await Promise.all(works)).size).toBe(2)
    expect([most, order]).toEqual([2, [1, 2, 3, 4, 5, 6]])
    await eventually('all connections to be returned', () => pool.counts.used === 0)
    expect(pool.counts).toEqual({ free: 2, used: 0, waiting: 0 })
  })

  test('a task that waits too long for a connection fails as busy', async () => {
    await using database = await newDatabase()
    await using pool = new TestPool(database.url, 1, 400)
    const long = pool.use((on) => on.run('SELECT pg_sleep($1)', [1]), 5_000)
    await eventually('the connection to be in use', () => pool.counts.used === 1)
    const waiting = ask(pool)
    const from = performance.now()
    expect(await millisOf(() => Promise.allSettled([waiting]))).toBeLessThan(700)
    expect(performance.now() - from).toBeGreaterThan(290)
    expect(await failureOf(waiting)).toEqual(['busy', null])
    await long
    expect(await ask(pool)).toBe(1)
  })

  test('a failed task is rolled back, and the pool reuses the connection', async () => {
    await using database = await newDatabase()
    await using pool = new TestPool(database.url, 1)
    const pid = () => pool.use(async (on) => (await on.run('SELECT pg_backend_pid()', []))[0]?.[0])
    const before = await pid()
    await pool.use((on) => on.send('CREATE TABLE kept (id int)'))
    const failing = pool.use(async (on) => {
      await on.send(`${on.begin} INSERT INTO kept VALUES (1)`)
      await on.run('SELECT 1 / $1::int', [0])
    })
    expect(await failureOf(failing)).toEqual(['refused', '22012'])
    expect(await pool.use((on) => on.run('SELECT count(*)::int FROM kept', []))).toEqual([[0]])
    expect(await pid()).toBe(before)
  })

  test('a task that leaves its transaction open fails', async () => {
    await using database = await newDatabase()
    await using pool = new TestPool(database.url, 1)
    await expect(pool.use((on) => on.send(on.begin))).rejects.toThrow('the work left its transaction open')
    expect(
      await pool.use((on) =>
        on.run('SELECT pg_current_xact_id_if_assigned(), now() = statement_timestamp()', []),
      ),
    ).toEqual([[null, true]])
  })

  test('a task can still return a result after its connection was terminated', async () => {
    await using database = await newDatabase()
    await using pool = new TestPool(database.url, 1)
    const overtaken = await pool.use(async (on) => {
      await on.send(on.begin)
      await on.run('SELECT pg_terminate_backend(pg_backend_pid())', []).catch(() => undefined)
      await eventually('the connection to end', () => on.hasEnded)
      return 'overtaken'
    })
    expect([overtaken, await pool.use((on) => on.run('SELECT 1', []))]).toEqual(['overtaken', [[1]]])
  })

  test('closing the pool waits for running tasks and refuses new tasks', async () => {
    await using database = await newDatabase()
    const pool = new TestPool(database.url, 2)
    await ask(pool)
    const slow = pool.use((on) => on.run('SELECT 7 FROM pg_sleep($1)', [0.2]))
    await Bun.sleep(20)
    const closed = pool.close()
    expect(await failureOf(ask(pool))).toEqual(['busy', null])
    expect(await slow).toEqual([[7]])
    await closed
    await pool.close()
    expect(pool.counts).toEqual({ free: 0, used: 0, waiting: 0 })
    const server = await sharedPostgres()
    const left = () =>
      server.run(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'anteroom'",
        addressOf(database.url).database,
      )
    await eventually('all connections to be closed', async () => (await left()).length === 0)
  })
})

describeOnPostgres('postgres: the connection pool during failures', () => {
  test('tasks on a frozen server fail within their deadline, and the pool recovers without leaks', async () => {
    using uncaught = new Uncaught()
    await using server = await startPostgres()
    await using pool = new TestPool(server.url, 4, 1_000)
    await fill(pool, 3)
    const table = 'CREATE TABLE kept (id int)'
    await server.run(table)
    server.pause()
    const insert = () => pool.use((on) => on.run('INSERT INTO kept VALUES ($1)', [1]))
    const inside = async () => {
      await pool.use(async (on) => {
        await on.send(on.begin)
        await on.send('COMMIT')
      })
    }
    const calls = [insert(), inside(), ...Array.from({ length: 20 }, () => ask(pool))]
    expect(await millisOf(() => Promise.allSettled(calls))).toBeLessThan(1_400)
    const failures = await Promise.all(calls.map(failureOf))
    expect(failures.slice(0, 2)).toEqual([
      ['lost', 'ETIMEDOUT'],
      ['retry', 'ETIMEDOUT'],
    ])
    expect(new Set(failures.slice(4).map(String))).toEqual(new Set(['busy,']))
    const later = Promise.allSettled(Array.from({ length: 10 }, () => ask(pool)))
    expect(await millisOf(() => later)).toBeLessThan(1_400)
    server.resume()
    await eventually('the pool to work again', async () => (await failureOf(ask(pool))) === 1)
    await eventually(
      'the abandoned connections to close',
      async () => (await connectionsOf(server)) <= pool.counts.free,
    )
    expect(uncaught.list).toEqual([])
  })

  test('tasks on a dead server fail at once, and the pool recovers with the server', async () => {
    using uncaught = new Uncaught()
    await using server = await startPostgres()
    await using pool = new TestPool(server.url, 4)
    await fill(pool, 3)
    const caught = pool.use((on) => on.run('SELECT pg_sleep($1)', [30]))
    const settled = failureOf(caught) as Promise<string[]>
    await server.stop('SIGKILL')
    expect((await settled)[0]).toBe('lost')
    await eventually('the idle connections to be dropped', () => pool.counts.free === 0)
    const calls = Array.from({ length: 10 }, () => ask(pool))
    expect(await millisOf(() => Promise.allSettled(calls))).toBeLessThan(500)
    const failures = (await Promise.all(calls.map(failureOf))) as string[][]
    expect(new Set(failures.map(([meaning]) => meaning))).toEqual(new Set(['unreachable']))
    await server.start()
    await eventually('the pool to work again', async () => (await failureOf(ask(pool))) === 1)
    expect(uncaught.list).toEqual([])
  })

  test('the error for a lost connection says whether the transaction may have been committed', async () => {
    using uncaught = new Uncaught()
    await using server = await startPostgres()
    await using pool = new TestPool(server.url, 1)
    const end = () =>
      server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'anteroom'")
    const inside = pool.use(async (on) => {
      await on.send(on.begin)
      await end()
      await Bun.sleep(50)
      await on.run('SELECT $1::int', [1])
    })
    expect(await failureOf(inside)).toEqual(['retry', '57P01'])
    await ask(pool)
    await eventually('the connection to be idle', () => pool.counts.free === 1)
    await end()
    await eventually('the connection to be dropped', () => pool.counts.free === 0)
    expect(await ask(pool)).toBe(1)
    const atCommit = pool.use(async (on) => {
      await on.send(on.begin)
      const answer = on.send('SELECT pg_sleep(20); COMMIT')
      await end()
      return answer
    })
    expect(await failureOf(atCommit)).toEqual(['lost', '57P01'])
    expect(await ask(pool)).toBe(1)
    expect(uncaught.list).toEqual([])
  })

  test('a server without free connections is reported as full, and the pool recovers', async () => {
    using uncaught = new Uncaught()
    const settings = { max_connections: 5, superuser_reserved_connections: 0, max_wal_senders: 0 }
    await using server = await startPostgres({ settings })
    await using first = new TestPool(server.url, 5)
    await using second = new TestPool(server.url, 1)
    await fill(first, 5)
    expect(await failureOf(ask(second))).toEqual(['full', '53300'])
    await first.close()
    await eventually('a free connection', async () => (await failureOf(ask(second))) === 1)
    expect(uncaught.list).toEqual([])
  })

  test('dead and standby hosts are skipped, and a promoted standby is used', async () => {
    using uncaught = new Uncaught()
    await using primary = await startPostgres()
    await using standby = await startPostgres()
    await standby.stop()
    writeFileSync(`${standby.data}/standby.signal`, '')
    await standby.start()
    const hosts = ['127.0.0.1:1', `127.0.0.1:${standby.port}`, `127.0.0.1:${primary.port}`]
    await using pool = new TestPool(`postgres://postgres@${hosts.join(',')}/postgres`, 2)
    const port = () => pool.use(async (on) => (await on.run('SELECT inet_server_port()', []))[0]?.[0])
    expect(await port()).toBe(primary.port)
    await primary.stop('SIGKILL')
    await eventually('the dead server to be noticed', async () => {
      const failure = await failureOf(port())
      return Array.isArray(failure) && ['unreachable', 'lost'].includes(failure[0])
    })
    await standby.run('SELECT pg_promote()')
    await eventually('the promoted server to answer', async () => (await failureOf(port())) === standby.port)
    expect(uncaught.list).toEqual([])
  })

  test('after a server becomes read-only the pool switches to another host', async () => {
    await using former = await startPostgres()
    await using latter = await startPostgres()
    const hosts = `127.0.0.1:${former.port},127.0.0.1:${latter.port}`
    await using pool = new TestPool(`postgres://postgres@${hosts}/postgres`, 1)
    const write = () =>
      pool.use(async (on) => {
        const answers = await on.send('CREATE TABLE IF NOT EXISTS kept (id int); SELECT inet_server_port()')
        return answers.at(-1)?.[0]?.[0]
      })
    expect(await write()).toBe(former.port)
    await former.stop()
    writeFileSync(`${former.data}/standby.signal`, '')
    appendFileSync(`${former.data}/postgresql.conf`, 'hot_standby = on\n')
    await former.start()
    await eventually('the other server to answer', async () => (await failureOf(write())) === latter.port)
  })
})

/** A pool of engine sessions. Disposing closes it. */
function openSessions(url: string) {
  const vault = createVault(Buffer.alloc(32, 65))
  const pool = new Pool<Session>({
    address: addressOf(url),
    password: () => null,
    size: 1,
    make: (connection) => openSession(connection, () => vault),
  })
  return { pool, [Symbol.asyncDispose]: () => pool.close() }
}

describeOnPostgres('postgres: retrying a read on another connection', () => {
  test.each([
    ['its connection breaks', 'SELECT pg_terminate_backend(pg_backend_pid())'],
    // Behind a pooler, an open connection may lead to a server that has become a standby.
    [
      'its connection leads to a server that has become read-only',
      'BEGIN READ ONLY; CREATE TABLE kept (id int)',
    ],
  ])('a read succeeds on another connection if %s', async (_, failing) => {
    await using database = await newDatabase()
    await using sessions = openSessions(database.url)
    const pids: unknown[] = []
    const read = async ({ connection }: Session) => {
      const [[pid]] = (await connection.run('SELECT pg_backend_pid()', [])) as [[number]]
      pids.push(pid)
      if (pids.length === 1) await connection.send(failing)
      return 'answered'
    }
    expect(await readOn(sessions.pool, read)).toBe('answered')
    expect([pids.length, new Set(pids).size]).toEqual([2, 2])
  })
})
