import { expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, writeFileSync } from 'node:fs'
import { eq, sql } from 'drizzle-orm'
import { bigint, pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/pg-proxy'
import { Connection, committing } from '../../../db/postgres/client/connection'
import { timeouts } from '../../../db/postgres/client/timeouts'
import type { DatabaseHost } from '../../../src/domain/addresses'
import { makeCertificate } from '../../support/certificates'
import { useLongTimeouts, useRealTimeouts } from '../../support/patience'
import { runSql, startPostgres } from '../../support/postgres'
import { describeOnPostgres, newDatabase } from '../../support/postgres-databases'
import { addressOf, failureOf, TestPool, Uncaught } from './pools'

setDefaultTimeout(300_000)

async function onConnection<T>(work: (on: Connection) => Promise<T>): Promise<T> {
  await using database = await newDatabase()
  await using pool = new TestPool(database.url, 1)
  return await pool.use(work)
}

describeOnPostgres('postgres: a connection', () => {
  test('a connection attempt succeeds even if the process was frozen for longer than the connect timeout', async () => {
    await using database = await newDatabase()
    const address = addressOf(database.url)
    const [host] = address.hosts as [DatabaseHost]
    const { password } = address
    using _ = { [Symbol.dispose]: useLongTimeouts }
    useRealTimeouts()
    const made = Connection.open({ address, host, password, statementMillis: 1_000, onEnd: () => {} })
    Bun.sleepSync(1.2 * timeouts.connect)
    const connection = await made
    expect(await connection.send('SELECT 1')).toEqual([[[1]]])
    connection.close()
  })

  test('a text of several statements returns the rows of each statement', async () => {
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

  test('a parameter that the driver cannot send is rejected before anything is committed', async () => {
    await onConnection(async (on) => {
      await on.send('CREATE TABLE t (a text)')
      await on.send('BEGIN')
      const add = (value: unknown) => on.run('INSERT INTO t VALUES ($1)', [value])
      const first = add('sent')
      for (const value of [Symbol('a'), { a: 1 }, 1n]) {
        expect(() => add(value)).toThrow('a parameter is neither a text, a number, a boolean nor bytes')
      }
      await first
      await on.send('ROLLBACK')
      expect(await on.send('SELECT a FROM t')).toEqual([[]])
    })
  })

  test.each([
    ['an integer', 'int8', [7], '7'],
    ['a 53-bit integer', 'int8', [Number.MAX_SAFE_INTEGER], '9007199254740991'],
    ['a negative integer', 'int8', [-(2 ** 40)], '-1099511627776'],
    ['an integer above 53 bits as null', 'int8', [2 ** 60], null],
    ['infinity as null', 'int8', [Number.POSITIVE_INFINITY], null],
    ['NaN as null', 'int8', [Number.NaN], null],
    ['a large number as text', 'int8', ['9223372036854775807'], '9223372036854775807'],
    ['a fraction', 'float8', [0.25], 0.25],
    ['true', 'boolean', [true], true],
    ['false', 'boolean', [false], false],
    ['null', 'text', [null], null],
    ['undefined', 'text', [undefined], null],
    ['an empty text', 'text', [''], ''],
    ['text with any Unicode characters', 'text', ['Zoë 🦆 \u202e ‘’\n\t\\\'"'], 'Zoë 🦆 \u202e ‘’\n\t\\\'"'],
    ['bytes', 'bytea', [Buffer.from([0, 255, 92, 39])], Buffer.from([0, 255, 92, 39])],
    ['bytes in a Uint8Array', 'bytea', [new Uint8Array([1, 2])], Buffer.from([1, 2])],
    ['empty bytes', 'bytea', [Buffer.alloc(0)], Buffer.alloc(0)],
    ['an array of ids as text', 'int8[]', ['{1,9007199254740991}'], ['1', '9007199254740991']],
    ['an empty array of ids', 'int8[]', ['{}'], []],
    ['JSON as text', 'text::json', ['{"b": 1, "a": [1.0]}'], { b: 1, a: [1] }],
  ])('a connection sends and returns %s', async (_, type, params, expected) => {
    const rows = await onConnection((on) => on.run(`SELECT $1::${type}`, params))
    expect(rows).toEqual([[expected]] as never)
    if (expected instanceof Buffer) expect(rows[0]?.[0]).toBeInstanceOf(Buffer)
  })

  test('JSON sent as text is stored unchanged', async () => {
    await onConnection(async (on) => {
      await on.send('CREATE TABLE t (j json)')
      await on.run('INSERT INTO t VALUES ($1::text::json)', ['{"b": 1.0,  "a": 2}'])
      expect(await on.run('SELECT j::text FROM t', [])).toEqual([['{"b": 1.0,  "a": 2}']])
    })
  })

  test('statements sent together run in order, and a failed statement affects no other statement', async () => {
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

  test('Drizzle queries are prepared once and run inside the open transaction', async () => {
    const members = pgTable('members', { id: bigint({ mode: 'number' }), name: text() })
    await onConnection(async (on) => {
      const db = drizzle(async (text, params) => ({ rows: await on.run(text, params) }))
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

  test('a COMMIT that the server turned into a ROLLBACK is a failure', async () => {
    await onConnection(async (on) => {
      await on.send(on.begin)
      expect(await failureOf(on.run('SELECT 1 / $1::int', [0]))).toEqual(['refused', '22012'])
      expect(await failureOf(on.send('COMMIT'))).toEqual(['retry', '25P02'])
      expect(on.isOpen).toBe(false)
    })
  })

  test('the tables of the schema public are used, even if the role or database sets a search_path', async () => {
    await using database = await newDatabase()
    const name = new URL(database.url).pathname.slice(1)
    await runSql(
      database.url,
      `CREATE TABLE public.t (a int); CREATE SCHEMA postgres; CREATE TABLE postgres.t (b int);
       ALTER DATABASE ${name} SET search_path = nowhere`,
    )
    await using pool = new TestPool(database.url, 1)
    expect(await pool.use((on) => on.run('SELECT a FROM t', []))).toEqual([])
  })

  test('no timeout cancels a COMMIT', async () => {
    const committed = onConnection(async (on) => {
      await on.send('CREATE TABLE t (seen text)')
      await on.send(
        `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           RAISE EXCEPTION USING ERRCODE = CASE current_setting('statement_timeout') WHEN '0' THEN '23505' ELSE '23514' END;
         END $$;
         CREATE CONSTRAINT TRIGGER note AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()`,
      )
      await on.send(`${on.begin} SET LOCAL statement_timeout = 5000`)
      await on.run("INSERT INTO t VALUES ('b')", [])
      await on.send(committing)
    })
    expect(await failureOf(committed)).toEqual(['constraint', '23505'])
  })

  test('the server cancels a statement after its deadline, and the connection stays open', async () => {
    await using database = await newDatabase()
    await using pool = new TestPool(database.url, 1, 500)
    const pid = async () => (await pool.use((on) => on.run('SELECT pg_backend_pid()', [])))[0]
    const before = await pid()
    const sleep = (deadlineMillis?: number) =>
      failureOf(pool.use((on) => on.run('SELECT 7 FROM pg_sleep(0.7)', []), deadlineMillis))
    expect(await sleep()).toEqual(['retry', '57014'])
    expect(await sleep(3_000)).toEqual([[7]])
    expect(await pid()).toEqual(before as never)
  })

  test('libpq environment variables are not used', async () => {
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
      ['postgres', 'postgres', server.port, '9s', 'anteroom'],
    ])
  })
})

describeOnPostgres('postgres: trust in a server', () => {
  const ask = async (url: string) => {
    await using pool = new TestPool(url, 1)
    return await failureOf(
      pool.use((on) => on.run('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()', [])),
    )
  }

  test('a server with a wrong certificate is refused and gets no password', async () => {
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
      message: 'the sslrootcert file /nowhere.crt cannot be read',
    })
    await expect(ask(at('127.0.0.1', '/etc/hostname'))).rejects.toMatchObject({
      kind: 'settings_invalid',
      message: 'the sslrootcert file /etc/hostname contains no PEM certificate',
    })
    expect(server.log.match(/connection authorized/g)?.length).toBe(2)
    expect(uncaught.list).toEqual([])
  })

  test('certificates are verified even if the environment disables verification', async () => {
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

  test('a URL that requires TLS is refused by a server without TLS', async () => {
    await using server = await startPostgres()
    const url = `postgres://postgres@127.0.0.1:${server.port}/postgres?sslmode=verify-full`
    expect(await ask(url)).toEqual(['denied', 'ERR_POSTGRES_TLS_NOT_AVAILABLE'])
  })

  test('a local socket is accepted, and only the right password is accepted over TCP', async () => {
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

  test.each(['md5', 'password'])(
    'the password method %s is accepted with the right password and refused without a password',
    async (method) => {
      await using server = await startPostgres({ password: 'right' })
      await server.run("SET password_encryption = 'md5'; ALTER ROLE postgres PASSWORD 'right'")
      writeFileSync(`${server.data}/pg_hba.conf`, `host all all 127.0.0.1/32 ${method}\n`)
      await server.stop()
      await server.start()
      const by = (password: string) => `postgres://postgres${password}@127.0.0.1:${server.port}/postgres`
      expect(await ask(by(':right'))).toEqual([[false]])
      expect(await ask(by(':wrong'))).toEqual(['denied', '28P01'])
      expect(await ask(by(''))).toEqual(['denied', 'NO_PASSWORD'])
    },
  )
})
