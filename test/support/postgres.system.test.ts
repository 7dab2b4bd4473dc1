import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { SQL } from 'bun'
import { eventually } from './eventually'
import { isAlive } from './once-in-run'
import { type PostgresOptions, runSql, startPostgres } from './postgres'
import { describeOnPostgres, newDatabase, type Template } from './postgres-databases'
import { serverUser } from './postgres-programs'

setDefaultTimeout(300_000)

/** The SQLSTATE of a rejected promise, or the value of a resolved one. */
function stateOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: { errno?: string }) => error.errno)
}

describeOnPostgres('support: a PostgreSQL server for tests', () => {
  test('a test server accepts connections and leaves neither process nor folder when disposed', async () => {
    const { pid, folder } = await (async () => {
      await using server = await startPostgres()
      expect(await server.run('SELECT 1 AS a; SELECT 2 AS b')).toEqual([{ b: 2 }])
      expect(statSync(server.data).uid).toBe(serverUser.uid ?? process.getuid?.() ?? 0)
      const sockets = [`.s.PGSQL.${server.port}`, `.s.PGSQL.${server.port}.lock`]
      expect(readdirSync(server.folder.path).sort()).toEqual([...sockets, 'data', 'log'])
      return server
    })()
    expect([isAlive(pid), existsSync(folder.path)]).toEqual([false, false])
  })

  test('a killed test server starts again with all committed data at the same URL', async () => {
    await using server = await startPostgres()
    const { url, pid } = server
    await server.run('CREATE TABLE kept (id int); INSERT INTO kept VALUES (7)')
    await server.stop('SIGKILL')
    expect(server.isRunning).toBe(false)
    await server.start()
    expect([server.url, server.pid === pid]).toEqual([url, false])
    expect(await runSql(url, 'SELECT id FROM kept')).toEqual([{ id: 7 }])
    expect(server.log).toContain('database system was not properly shut down')
  })

  test('a paused test server keeps connections open and answers once it is resumed', async () => {
    await using server = await startPostgres()
    await using sql = new SQL(server.url, { max: 1 })
    await sql`SELECT 1`
    server.pause()
    let isAnswered = false
    const asked = sql`SELECT 2 AS a`.then((rows) => {
      isAnswered = true
      return [...rows]
    })
    await Bun.sleep(200)
    expect(isAnswered).toBe(false)
    server.resume()
    expect(await asked).toEqual([{ a: 2 }])
  })

  test('a paused test server ends when disposed', async () => {
    const { pid } = await (async () => {
      await using server = await startPostgres()
      server.pause()
      return server
    })()
    expect(isAlive(pid)).toBe(false)
  })

  test('a test server can require a password and TLS', async () => {
    const password = `'"@:/% ü`
    await using server = await startPostgres({ password, tls: true })
    const ask = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
    const reached = (change: (url: URL) => void) => {
      const url = new URL(server.url)
      change(url)
      return stateOf(runSql(url.href, ask))
    }
    const answers = [
      await reached(() => {}),
      await reached((url) => {
        url.password = 'other'
      }),
      await reached((url) => {
        url.search = ''
      }),
    ]
    expect(answers).toEqual([[{ ssl: true }], '28P01', '28000'])
  })

  test('a test server has fsync off unless it is requested, and has the given settings', async () => {
    const ask = `SELECT current_setting('fsync') || ' ' || current_setting('application_name') AS settings`
    const asked = async (options: PostgresOptions) => {
      await using server = await startPostgres(options)
      return await server.run(ask)
    }
    const settings = { application_name: "it's" }
    expect(await asked({ settings })).toEqual([{ settings: "off it's" }])
    expect(await asked({ fsync: true, settings })).toEqual([{ settings: "on it's" }])
  })

  test('if a test server cannot start, the error contains its log', async () => {
    const starting = startPostgres({ settings: { wal_level: 'other' } })
    await expect(starting).rejects.toThrow('invalid value for parameter "wal_level": "other"')
  })

  test('a test server and its folder are removed after the process that started it was killed', async () => {
    const code = `
      import { startPostgres } from '${import.meta.dir}/postgres'
      const { pid, folder } = await startPostgres()
      console.log(JSON.stringify({ pid, path: folder.path }))
      await Bun.sleep(600_000)`
    const child = Bun.spawn([process.execPath, '-e', code])
    const { value } = await child.stdout.getReader().read()
    const { pid, path } = JSON.parse(new TextDecoder().decode(value))
    expect([isAlive(pid), existsSync(path)]).toEqual([true, true])
    child.kill('SIGKILL')
    await eventually('the server to be gone', () => !isAlive(pid) && !existsSync(path))
  })
})

describeOnPostgres('support: a database on the shared test server', () => {
  const people: Template = {
    name: 'people',
    fill: async (url) => {
      fills += 1
      await runSql(url, `CREATE TABLE people (name text); INSERT INTO people VALUES ('b'), ('C')`)
    },
  }
  let fills = 0

  test('a new test database is empty, and does not share tables with another test database', async () => {
    await using one = await newDatabase()
    await using other = await newDatabase()
    await runSql(one.url, 'CREATE TABLE mine (id int)')
    const ask = `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`
    expect(await runSql(one.url, ask)).toEqual([{ tablename: 'mine' }])
    expect(await runSql(other.url, ask)).toEqual([])
  })

  test('a test database starts with the content of its template, which is filled once', async () => {
    const [one, other] = await Promise.all([newDatabase(people), newDatabase(people)])
    await runSql(one.url, `DELETE FROM people`)
    await using later = await newDatabase(people)
    const count = 'SELECT count(*)::int AS count FROM people'
    const counts = await Promise.all([one, other, later].map(({ url }) => runSql(url, count)))
    expect(counts).toEqual([[{ count: 0 }], [{ count: 2 }], [{ count: 2 }]])
    expect(fills).toBe(1)
  })

  test('a test database sorts text by language unless a collation is given', async () => {
    await using database = await newDatabase(people)
    const ordered = (order: string) => runSql(database.url, `SELECT name FROM people ORDER BY name ${order}`)
    expect(await ordered('')).toEqual([{ name: 'b' }, { name: 'C' }])
    expect(await ordered('COLLATE "C"')).toEqual([{ name: 'C' }, { name: 'b' }])
  })

  test('disposing a test database drops it even if a client is connected', async () => {
    const database = await newDatabase()
    await using connected = new SQL(database.url, { max: 1 })
    await connected`SELECT 1`
    await database[Symbol.asyncDispose]()
    expect(await stateOf(runSql(database.url, 'SELECT 1'))).toBe('3D000')
  })
})
