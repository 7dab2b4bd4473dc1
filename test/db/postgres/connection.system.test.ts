import { expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { chmodSync, writeFileSync } from 'node:fs'
import { SQL } from 'bun'
import { eq, sql } from 'drizzle-orm'
import { bigint, pgTable, text } from 'drizzle-orm/pg-core'
import { Connection, committing } from '../../../db/postgres/client/connection'
import { drizzleOn } from '../../../db/postgres/drizzle'
import type { DatabaseHost } from '../../../src/domain/database-address'
import { makeCertificate } from '../../support/certificates'
import { eventually } from '../../support/eventually'
import { runSql, startPostgres } from '../../support/postgres'
import { describeOnPostgresInFull, newDatabase } from '../../support/postgres-databases'
import { addressOf, failureOf, TestPool, Uncaught } from './pools'

setDefaultTimeout(300_000)

async function onConnection<T>(work: (on: Connection) => Promise<T>): Promise<T> {
  await using database = await newDatabase()
  await using pool = new TestPool(database.url, 1)
  return await pool.use(work)
}

/** How statements are run, and the query of an address that says so. */
const waysToRun = [
  ['prepared', ''],
  ['behind a pooler', '?prepare=false'],
] as const

describeOnPostgresInFull('a connection', () => {
  test.each([
    ['off', 'on'],
    ['local', 'local'],
    ['remote_apply', 'remote_apply'],
  ])('to a database that is set to synchronous_commit = %s has it %s', async (given, seen) => {
    await using database = await newDatabase()
    const name = new URL(database.url).pathname.slice(1)
    await runSql(database.url, `ALTER DATABASE ${name} SET synchronous_commit = ${given}`)
    await using pool = new TestPool(database.url, 1)
    const shown = await pool.use((on) => on.send('SHOW synchronous_commit'))
    expect(shown).toEqual([[[seen]]] as never)
  })

  test('has statements planned anew after some seconds: by then a table that was empty may have grown', async () => {
    await onConnection(async (on) => {
      await on.send('CREATE TABLE t (a int); PREPARE asked AS SELECT a FROM t')
      const planned = async () => JSON.stringify(await on.send('EXPLAIN EXECUTE asked'))
      const before = await planned()
      await on.send('INSERT INTO t SELECT * FROM generate_series(1, 10000)')
      await on.run('SELECT $1::int8', [1])
      expect(await planned()).toBe(before)
      const [real, hasTaken] = [performance.now, 5_001]
      using _ = spyOn(performance, 'now').mockImplementation(() => real.call(performance) + hasTaken)
      expect(await on.run('SELECT $1::int8', [2])).toEqual([['2']])
      expect(await planned()).not.toBe(before)
    })
  })

  test('is made though its process stood still for longer than it is waited for', async () => {
    await using database = await newDatabase()
    const address = addressOf(database.url)
    const [host] = address.hosts as [DatabaseHost]
    const deadlineMillis = 1_000
    const { password } = address
    const made = Connection.open({ address, host, password, deadlineMillis, onEnd: () => {} })
    Bun.sleepSync(1.2 * deadlineMillis)
    const connection = await made
    expect(await connection.send('SELECT 1')).toEqual([[[1]]])
    connection.close()
  })

  test('tells the rows of each statement of a text, whether there is one, more or none', async () => {
    await onConnection(async (on) => {
      expect(
        await on.send("SELECT 1, 'a' UNION ALL SELECT 2, NULL; CREATE TABLE t (a int); SELECT 3"),
      ).toEqual([
        [
          [1, 'a'],
          [2, null],
        ],
        [],
        [[3]],
      ] as never)
      expect(await on.send('SELECT 4')).toEqual([[[4]]])
      expect(await on.send('INSERT INTO t VALUES (5)')).toEqual([[]])
      expect(await on.send('')).toEqual([[]])
    })
  })

  test.each([
    ['a whole number', 'int8', [7], '7'],
    ['one of 53 bits', 'int8', [Number.MAX_SAFE_INTEGER], '9007199254740991'],
    ['one that is negative', 'int8', [-(2 ** 40)], '-1099511627776'],
    ['one beyond 53 bits, which is no value', 'int8', [2 ** 60], null],
    ['one beyond all', 'int8', [Number.POSITIVE_INFINITY], null],
    ['what is no number', 'int8', [Number.NaN], null],
    ['a large number as a text', 'int8', ['9223372036854775807'], '9223372036854775807'],
    ['a fraction', 'float8', [0.25], 0.25],
    ['true', 'boolean', [true], true],
    ['false', 'boolean', [false], false],
    ['null', 'text', [null], null],
    ['undefined', 'text', [undefined], null],
    ['an empty text', 'text', [''], ''],
    ['text of any writing', 'text', ['Zoë 🦆 \u202e ‘’\n\t\\\'"'], 'Zoë 🦆 \u202e ‘’\n\t\\\'"'],
    ['bytes', 'bytea', [Buffer.from([0, 255, 92, 39])], Buffer.from([0, 255, 92, 39])],
    ['bytes of another kind', 'bytea', [new Uint8Array([1, 2])], Buffer.from([1, 2])],
    ['no bytes', 'bytea', [Buffer.alloc(0)], Buffer.alloc(0)],
    ['ids as a text', 'int8[]', ['{1,9007199254740991}'], ['1', '9007199254740991']],
    ['no ids', 'int8[]', ['{}'], []],
    ['json as a text', 'text::json', ['{"b": 1, "a": [1.0]}'], { b: 1, a: [1] }],
  ])('takes and gives %s', async (_, type, params, expected) => {
    const rows = await onConnection((on) => on.run(`SELECT $1::${type}`, params))
    expect(rows).toEqual([[expected]] as never)
    if (expected instanceof Buffer) expect(rows[0]?.[0]).toBeInstanceOf(Buffer)
  })

  test('stores json as the text that it is given, by way of text', async () => {
    await onConnection(async (on) => {
      await on.send('CREATE TABLE t (j json)')
      await on.run('INSERT INTO t VALUES ($1::text::json)', ['{"b": 1.0,  "a": 2}'])
      expect(await on.run('SELECT j::text FROM t', [])).toEqual([['{"b": 1.0,  "a": 2}']])
    })
  })

  test('sends statements out together, in their order, and a failure among them hurts no other wait', async () => {
    using uncaught = new Uncaught()
    await onConnection(async (on) => {
      await on.send('CREATE TABLE t (a int)')
      const answers = [1, 2, 3].map((a) => on.run('INSERT INTO t VALUES ($1) RETURNING a', [a]))
      expect(await Promise.all(answers)).toEqual([[[1]], [[2]], [[3]]])
      const first = on.run('SELECT 1 / $1::int', [0])
      const second = on.run('SELECT 2 / $1::int', [0])
      expect(await failureOf(first)).toEqual(['refused', '22012'])
      await Bun.sleep(20)
      expect(await failureOf(second)).toEqual(['refused', '22012'])
      expect(await on.run('SELECT a FROM t ORDER BY 1', [])).toEqual([[1], [2], [3]])
    })
    expect(uncaught.list).toEqual([])
  })

  test('carries what Drizzle builds, prepared once, inside the transaction that is open', async () => {
    const members = pgTable('members', { id: bigint({ mode: 'number' }), name: text() })
    await onConnection(async (on) => {
      const db = drizzleOn((text, params) => on.run(text, params))
      const find = db
        .select()
        .from(members)
        .where(eq(members.id, sql.placeholder('id')))
        .prepare('')
      await on.send(`${on.begin} CREATE TABLE members (id int8, name text)`)
      await db.insert(members).values([
        { id: 2 ** 40, name: 'é' },
        { id: 2, name: null },
      ])
      expect(await find.execute({ id: 2 ** 40 })).toEqual([{ id: 2 ** 40, name: 'é' }])
      expect(await find.execute({ id: 2 ** 60 })).toEqual([])
      await on.send('ROLLBACK')
      expect(await failureOf(on.run('SELECT 1 FROM members', []))).toEqual(['refused', '42P01'])
    })
  })

  test('takes a COMMIT that the server turned into a ROLLBACK for the failure that it is', async () => {
    await onConnection(async (on) => {
      await on.send(on.begin)
      expect(await failureOf(on.run('SELECT 1 / $1::int', [0]))).toEqual(['refused', '22012'])
      expect(await failureOf(on.send('COMMIT'))).toEqual(['retry', '25P02'])
      expect(on.isOpen).toBe(false)
    })
  })

  test.each(waysToRun)(
    'waits for the disk at each COMMIT, and lets nothing cut that short, whatever was set before: %s',
    async (_, query) => {
      await using database = await newDatabase()
      const name = new URL(database.url).pathname.slice(1)
      await runSql(database.url, `ALTER DATABASE ${name} SET synchronous_commit = off`)
      await using pool = new TestPool(`${database.url}${query}`, 1)
      await pool.use((on) => on.send('CREATE TABLE t (seen text)'))
      // What a transaction has as it commits: by a trigger that runs then.
      await runSql(
        database.url,
        `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         RAISE EXCEPTION USING ERRCODE = CASE current_setting('synchronous_commit') || current_setting('statement_timeout') WHEN 'on0' THEN '23505' ELSE '23514' END;
       END $$;
       CREATE CONSTRAINT TRIGGER note AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()`,
      )
      const alone = pool.use((on) => on.run("INSERT INTO t VALUES ('a')", []))
      expect(await failureOf(alone)).toEqual(['constraint', '23505'])
      const inTransaction = pool.use(async (on) => {
        await on.send(`${on.begin} SET LOCAL synchronous_commit = off; SET LOCAL statement_timeout = 5000`)
        await on.run("INSERT INTO t VALUES ('b')", [])
        await on.send(committing)
      })
      expect(await failureOf(inTransaction)).toEqual(['constraint', '23505'])
    },
  )

  test.each(waysToRun)(
    'means the same by a text wherever it is, whatever role, database and environment say: %s',
    async (_, query) => {
      const url = (database: { readonly url: string }) => `${database.url}${query}`
      await using database = await newDatabase()
      await using before = new TestPool(database.url, 1)
      const name = new URL(database.url).pathname.slice(1)
      const odd = {
        ...{
          search_path: 'nowhere',
          datestyle: "'SQL, DMY'",
          bytea_output: 'escape',
          timezone: "'Asia/Tokyo'",
        },
        ...{ default_transaction_isolation: 'serializable', default_transaction_read_only: 'on' },
        ...{ standard_conforming_strings: 'off', extra_float_digits: '-5', client_encoding: 'LATIN1' },
        ...{ quote_all_identifiers: 'on', statement_timeout: "'20ms'" },
        ...{ lock_timeout: "'20ms'", idle_in_transaction_session_timeout: "'20ms'" },
      }
      const set = Object.entries(odd).map(([what, value]) => `ALTER DATABASE ${name} SET ${what} = ${value}`)
      await before.use((on) => on.send(set.join(';')))
      await using pool = new TestPool(url(database), 1)
      const names = Object.keys(odd).filter((each) => !each.startsWith('default'))
      const asked = [...names, 'transaction_isolation', 'transaction_read_only']
      const shown = asked.map((each) => `current_setting('${each}')`).join(', ')
      const [settings = []] = (await pool.use((on) => on.send(`${on.begin} SELECT ${shown}; COMMIT`))).flat()
      expect(settings).toEqual([
        'public',
        'ISO, YMD',
        'hex',
        'UTC',
        'on',
        '1',
        'UTF8',
        'off',
        ...['0', '0', '1min'],
        'read committed',
        'off',
      ])
      // And by a statement alone, each of those that go out together.
      const alone = () =>
        pool.use((on) =>
          Promise.all(
            names.map((each) => on.run(`SELECT current_setting($1), pg_sleep(0.03)::text`, [each])),
          ),
        )
      expect((await alone()).map(([row]) => row?.[0])).toEqual(settings.slice(0, -2))
      await pool.use((on) => on.run('CREATE TABLE made ()', []))
      expect(await pool.use((on) => on.run("SELECT '\\x00ff'::bytea", []))).toEqual([[Buffer.from([0, 255])]])
    },
  )

  test.each(waysToRun)(
    'goes on after a statement alone has failed, whoever has it next and in the same work: %s',
    async (_, query) => {
      await using database = await newDatabase()
      await using pool = new TestPool(`${database.url}${query}`, 1)
      const divide = (on: Connection, by: number) => on.run('SELECT 6 / $1::int', [by])
      const pid = async () => (await pool.use((on) => on.run('SELECT pg_backend_pid()', [])))[0]
      const before = await pid()
      expect(await failureOf(pool.use((on) => divide(on, 0)))).toEqual(['refused', '22012'])
      expect(await pool.use((on) => divide(on, 3))).toEqual([[2]])
      const both = pool.use(async (on) => [await failureOf(divide(on, 0)), await divide(on, 2)])
      expect(await both).toEqual([['refused', '22012'], [[3]]])
      const together = pool.use((on) => Promise.all([1, 0, 2].map((by) => failureOf(divide(on, by)))))
      expect(await together).toEqual([[[6]], ['refused', '22012'], [[3]]])
      expect(await pid()).toEqual(before as never)
      const open = "SELECT state FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
      expect(await runSql(database.url, `${open} AND datname = current_database()`)).toEqual([])
    },
  )

  test.each(waysToRun)(
    'that is given up while it waits for a lock leaves nothing at the server that waits on: %s',
    async (_, query) => {
      await using database = await newDatabase()
      await runSql(database.url, 'CREATE TABLE t (a int)')
      await using holder = new SQL(database.url, { max: 1 })
      await holder.unsafe('BEGIN; LOCK TABLE t').simple()
      await using pool = new TestPool(`${database.url}${query}`, 1, 200)
      const read = () => failureOf(pool.use((on) => on.run('SELECT a FROM t', [])))
      for (let count = 0; count < 3; count++) expect(await read()).toContain('ETIMEDOUT')
      const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FROM t'"
      const isOver = async () => (await runSql(database.url, waiting)).length === 0
      await eventually('them to be gone', isOver, 5_000)
      await holder.unsafe('ROLLBACK').simple()
    },
  )

  test('needs no variable of libpq, and obeys none', async () => {
    await using server = await startPostgres()
    const script = `
      import { TestPool } from '${import.meta.dir}/pools'
      await using pool = new TestPool('${server.url}', 1)
      console.log(JSON.stringify(await pool.use((on) => on.run(
        "SELECT current_database(), current_user, inet_server_port(), current_setting('statement_timeout'), current_setting('application_name')", []))))
    `
    const env = {
      ...{ PATH: process.env.PATH, PGHOST: '192.0.2.1', PGPORT: '1', PGDATABASE: 'other', PGUSER: 'other' },
      ...{
        PGPASSWORD: 'other',
        PGOPTIONS: '-c statement_timeout=77',
        PGAPPNAME: 'other',
        PGSSLMODE: 'require',
      },
      ...{
        PGCHANNELBINDING: 'require',
        DATABASE_URL: 'postgres://192.0.2.1/other',
        TLS_DATABASE_URL: 'postgres://192.0.2.1/other',
      },
    }
    const child = Bun.spawn([process.execPath, '-e', script], { env, stdout: 'pipe', stderr: 'inherit' })
    expect(JSON.parse(await new Response(child.stdout).text())).toEqual([
      ['postgres', 'postgres', server.port, '0', 'anteroom'],
    ])
  })
})

describeOnPostgresInFull('a server is trusted', () => {
  const ask = async (url: string) => {
    await using pool = new TestPool(url, 1)
    return await failureOf(
      pool.use((on) => on.run('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()', [])),
    )
  }

  test('over TLS where its certificate is for the host and by the authority, and else is given no password', async () => {
    using uncaught = new Uncaught()
    const settings = { listen_addresses: '127.0.0.1,127.0.0.2', log_connections: true }
    await using server = await startPostgres({ tls: true, password: 'p@ss', settings })
    const other = makeCertificate(server.folder, 'other')
    chmodSync(other.certificate, 0o644)
    const own = server.folder.file('server.crt')
    const at = (host: string, authority: string) =>
      `postgres://postgres:p%40ss@${host}:${server.port}/postgres?sslmode=verify-full&sslrootcert=${authority}`
    expect(await ask(at('127.0.0.1', own))).toEqual([[true]])
    expect(await ask(at('localhost', own))).toEqual([[true]])
    expect(await ask(at('127.0.0.2', own))).toEqual(['denied', 'ERR_TLS_CERT_ALTNAME_INVALID'])
    expect(await ask(at('127.0.0.1', other.certificate))).toEqual(['denied', 'DEPTH_ZERO_SELF_SIGNED_CERT'])
    expect(await ask(at('127.0.0.1', own).replace(/&sslrootcert=.*/, ''))).toEqual([
      'denied',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
    ])
    await expect(ask(at('127.0.0.1', '/nowhere.crt'))).rejects.toMatchObject({
      kind: 'settings_invalid',
      message: 'the file of sslrootcert, /nowhere.crt, cannot be read',
    })
    await expect(ask(at('127.0.0.1', '/etc/hostname'))).rejects.toMatchObject({
      kind: 'settings_invalid',
      message: 'the file of sslrootcert, /etc/hostname, has no certificate (PEM)',
    })
    expect(server.log.match(/connection authorized/g)?.length).toBe(2)
    expect(uncaught.list).toEqual([])
  })

  test('by nobody who does not verify it, whatever the environment says of that', async () => {
    await using server = await startPostgres({ tls: true })
    const url = `postgres://postgres@127.0.0.1:${server.port}/postgres?sslmode=verify-full`
    const script = `
      import { failureOf, TestPool } from '${import.meta.dir}/pools'
      await using pool = new TestPool('${url}', 1)
      console.log(JSON.stringify(await failureOf(pool.use((on) => on.send('SELECT 1')))))
    `
    const env = { PATH: process.env.PATH, NODE_TLS_REJECT_UNAUTHORIZED: '0', PGSSLMODE: 'disable' }
    const child = Bun.spawn([process.execPath, '-e', script], { env, stdout: 'pipe', stderr: 'inherit' })
    expect(JSON.parse(await new Response(child.stdout).text())).toEqual([
      'denied',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
    ])
  })

  test('never without TLS where TLS is asked for', async () => {
    await using server = await startPostgres()
    const url = `postgres://postgres@127.0.0.1:${server.port}/postgres?sslmode=verify-full`
    expect(await ask(url)).toEqual(['denied', 'ERR_POSTGRES_TLS_NOT_AVAILABLE'])
  })

  test('through a socket of this machine, and lets in by the right password alone', async () => {
    await using server = await startPostgres({ password: 'right' })
    const socket = `postgres://postgres@/postgres?host=${server.folder.path}&port=${server.port}`
    expect(await ask(socket)).toEqual([[false]])
    const by = (password: string) => `postgres://postgres${password}@127.0.0.1:${server.port}/postgres`
    expect(await ask(by(':right'))).toEqual([[false]])
    expect(await ask(by(':wrong'))).toEqual(['denied', '28P01'])
    expect(await ask(by(''))).toEqual(['denied', 'NO_PASSWORD'])
    expect(await ask(by('').replace('postgres@', 'nobody@'))).toEqual(['denied', 'NO_PASSWORD'])
    expect(await ask(by(':right').replace(/postgres$/, 'other'))).toEqual(['denied', '3D000'])
  })

  test.each(['md5', 'password'])('by the method %s without a password in no way either', async (method) => {
    await using server = await startPostgres({ password: 'right' })
    await server.run("SET password_encryption = 'md5'; ALTER ROLE postgres PASSWORD 'right'")
    writeFileSync(`${server.data}/pg_hba.conf`, `host all all 127.0.0.1/32 ${method}\n`)
    await server.stop()
    await server.start()
    const by = (password: string) => `postgres://postgres${password}@127.0.0.1:${server.port}/postgres`
    expect(await ask(by(':right'))).toEqual([[false]])
    expect(await ask(by(':wrong'))).toEqual(['denied', '28P01'])
    expect(await ask(by(''))).toEqual(['denied', 'NO_PASSWORD'])
  })
})
