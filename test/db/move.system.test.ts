import { describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { SQL } from 'bun'
import { Connection } from '../../db/postgres/client/connection'
import { serverDatabase } from '../../db/postgres/database'
import { fileDatabase } from '../../db/sqlite/database'
import { takeServeLock } from '../../db/sqlite/file/lock'
import type { DatabaseLocation } from '../../src/domain/ports/database'
import type { CopySource, CopyTarget, ReadingSource } from '../../src/domain/ports/database-copy'
import { masterKeyOf } from '../../src/vault/vault'
import { eventually } from '../support/eventually'
import { Folder } from '../support/folder'
import { runSql } from '../support/postgres'
import { describeOnPostgres, newDatabase } from '../support/postgres-databases'
import { act, answers, fill, now, type Place } from './furniture'
import { openPlace, testKey } from './place'
import { refusalOf } from './postgres/connections'
import { openPostgresEngine, openPostgresPlace } from './postgres/place'

setDefaultTimeout(300_000)

const onServer = (url: string) => serverDatabase(url, { password: null, passFile: null })
const whileServing: ReadingSource = {
  purpose: 'sandbox',
  takeKey: async () => masterKeyOf(testKey),
  whileServing: true,
}
const making = { purpose: 'sandbox', masterKey: masterKeyOf(testKey), progress: () => {} } as const

async function idsIn(source: CopySource, table: string): Promise<unknown[]> {
  const lines = (await Array.fromAsync(source.linesOf(table))).flat()
  return lines.map((line) => JSON.parse(line).id)
}

/** Checks that reading the source returns no rows that were written during the read. */
async function readsOneSnapshot(place: DatabaseLocation, connection: Place): Promise<void> {
  const { book } = await fill(connection)
  await book('first', Date.UTC(2026, 11, 2, 9))
  await connection.store.auditHead()
  const seen = await place.readSource(whileServing, async (source) => {
    await book('first', Date.UTC(2026, 11, 2, 10))
    const requests = source.tables.find(({ name }) => name === 'booking_requests')
    const log = (await source.verifyLog()).acts.head.id
    await connection.store.addOrganization('Meanwhile', { actor: 'olive', at: 0 })
    return [requests?.rows, await idsIn(source, 'members'), await idsIn(source, 'organizations'), log]
  })
  const before = (await connection.store.auditHead()).id - 1
  expect(seen).toEqual([1, [1], [1], before])
}

const elsewhere = { to: '/elsewhere.sqlite', at: now }
const stopped: ReadingSource = { ...whileServing, whileServing: false }

/** Checks that servers refuse a copied database until the database is reactivated. */
async function isRefusedOnceCopied(
  place: DatabaseLocation,
  connection: Place,
  freeAt: () => DatabaseLocation,
): Promise<void> {
  const { store, maintenance } = connection
  if (!maintenance) throw new Error('the test database has no maintenance')
  const { intake } = await fill(connection)
  await intake('robin')
  // On PostgreSQL, this appends the audit line of the submission.
  await store.auditHead()
  expect(await maintenance.findCopyNote()).toBeNull()
  const marked = await place.readSource(stopped, async (source) => [
    source.copiedBefore,
    await source.markCopied(elsewhere),
  ])
  expect(marked).toEqual([null, true])
  expect(await maintenance.findCopyNote()).toEqual(elsewhere)
  const { purpose, takeKey } = whileServing
  const serve = () => place.open({ purpose, takeKey, create: false, upgrade: true, alone: true })
  expect(await refusalOf(serve)).toBe(
    'database_unusable: the database was copied to /elsewhere.sqlite at 2026-12-01T12:00:00Z: use the copy, or ' +
      'reactivate this database: anteroom database reactivate',
  )
  const [request] = await store.listRequests({})
  expect(await store.readScreening(request?.id ?? 0, act)).toEqual(answers)
  const free = freeAt()
  const before = await place.readSource(whileServing, async (source) => {
    await free.makeTarget({ ...making, fill: (target) => fillFrom(source, target) })
    return source.copiedBefore
  })
  expect(before).toEqual(elsewhere)
  expect(await free.readSource(whileServing, async ({ copiedBefore }) => copiedBefore)).toBeNull()
  await maintenance.reactivate(act)
  expect(await maintenance.findCopyNote()).toBeNull()
  expect((await store.listAudit(1)).map(({ actor, action, outcome }) => [actor, action, outcome])).toEqual([
    ['olive', 'database.reactivate', 'done'],
  ])
  expect(await refusalOf(() => maintenance.reactivate(act))).toBe(
    'record_unknown: the database is already active: it was not copied',
  )
  const server = await serve()
  await server.close()
}

async function fillFrom(source: CopySource, target: CopyTarget): Promise<void> {
  const spans = await source.verifyLog()
  for (const { name } of source.tables)
    for await (const lines of source.linesOf(name)) await target.add(name, lines)
  await target.continueLog(spans)
}

async function blocksWriters(place: DatabaseLocation, connection: Place): Promise<void> {
  const { partner, intake } = await fill(connection)
  const { store } = connection
  const ends = await place.readSource(stopped, async (source) => {
    const writes = [intake('robin'), store.setPartnerActive(partner.id, false, act)]
    const refused = writes.map((write) => refusalOf(() => write))
    expect(await idsIn(source, 'members')).toEqual([])
    const ends = await Promise.all(refused)
    await source.markCopied(elsewhere)
    return ends
  })
  const busy = 'storage_busy: the service is busy; try again'
  expect(ends).toEqual([busy, busy])
  expect((await store.listPartners()).map(({ active }) => active)).toEqual([true])
}

describe('db: a SQLite file as the source of a copy', () => {
  test('servers refuse a copied SQLite file until the file is reactivated', async () => {
    await using place = await openPlace()
    await isRefusedOnceCopied(fileDatabase(place.path), place, () => fileDatabase(place.freeTarget))
  })

  test('copying a SQLite file blocks writers until the file is marked as copied', async () => {
    await using place = await openPlace()
    await blocksWriters(fileDatabase(place.path), place)
  })

  test('copying a SQLite file reads one snapshot', async () => {
    await using place = await openPlace()
    await readsOneSnapshot(fileDatabase(place.path), place)
  })

  test('a server does not start on a SQLite file during the copy', async () => {
    await using place = await openPlace()
    await fileDatabase(place.path).readSource(stopped, async () => {
      expect(() => takeServeLock(place.path)).toThrow(
        'another server already uses this database; stop it first',
      )
    })
    takeServeLock(place.path)[Symbol.dispose]()
  })
})

describeOnPostgres('db: a PostgreSQL database as the source of a copy', () => {
  test('servers refuse a copied PostgreSQL database until the database is reactivated', async () => {
    await using place = await openPostgresPlace()
    await using free = await newDatabase()
    await isRefusedOnceCopied(onServer(place.url), place, () => onServer(free.url))
  })

  test('copying a PostgreSQL database blocks writers until the database is marked as copied', async () => {
    await using place = await openPostgresPlace()
    await blocksWriters(onServer(place.url), place)
  })

  test('a server does not start on a PostgreSQL database during the copy', async () => {
    await using place = await openPostgresPlace()
    const source = onServer(place.url)
    const { purpose, takeKey } = stopped
    const refusal = await source.readSource(stopped, () =>
      refusalOf(() => source.open({ purpose, takeKey, create: false, upgrade: true, alone: true })),
    )
    expect(refusal).toBe('storage_busy: the database is busy; try again')
  })

  test('a read-only role can copy a PostgreSQL database and cannot mark the database as copied', async () => {
    await using place = await openPostgresPlace()
    await runSql(
      place.url,
      'CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader; GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO reader',
    )
    const url = new URL(place.url)
    url.username = 'reader'
    const asReader = onServer(url.href)
    const reported = await asReader.readSource(stopped, async (source) => [
      await idsIn(source, 'members'),
      await source.markCopied(elsewhere),
    ])
    expect(reported).toEqual([[], false])
    expect(await place.maintenance?.findCopyNote()).toBeNull()
  })

  test('after a copy, a server without a row in the node list is not ready', async () => {
    await using place = await openPostgresPlace()
    const server = await openPostgresEngine(place.url)
    const reported: string[] = []
    const watched = server.watch((line) => void reported.push(line), false)
    expect(await watched.isReady()).toBe(true)
    // Other nodes delete the row of a frozen server.
    await runSql(place.url, 'DELETE FROM nodes')
    await onServer(place.url).readSource(stopped, (source) => source.markCopied(elsewhere))
    await Bun.sleep(1_100)
    expect(await watched.isReady()).toBe(false)
    expect(reported).toEqual([
      expect.stringContaining('not ready: the database was copied to /elsewhere.sqlite at '),
    ])
    await server.close()
  })

  test('copying a PostgreSQL database reads one snapshot', async () => {
    await using place = await openPostgresPlace()
    await readsOneSnapshot(onServer(place.url), place)
  })

  test('a copy waits for a running upgrade and contains the changes of the upgrade', async () => {
    await using place = await openPostgresPlace()
    await using client = new SQL(place.url, { max: 1, idleTimeout: 0 })
    const upgrade = await client.reserve()
    await upgrade
      .unsafe(
        `BEGIN; LOCK TABLE members; INSERT INTO organizations (name, active, created_at) VALUES ('Late', true, 0)`,
      )
      .simple()
    const seen = onServer(place.url).readSource(whileServing, (source) => idsIn(source, 'organizations'))
    const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'members'::regclass`
    await eventually(
      'the copy to wait for the lock',
      async () => (await runSql(place.url, waiting)).length > 0,
    )
    await upgrade.unsafe('COMMIT').simple()
    upgrade.release()
    expect(await seen).toEqual([1])
  })

  test('copying sets long idle timeouts for its transactions', async () => {
    await using place = await openPostgresPlace()
    const begun = new Set<Connection>()
    const { send } = Connection.prototype
    using _ = spyOn(Connection.prototype, 'send').mockImplementation(function (this: Connection, text) {
      if (/^BEGIN\b/.test(text)) begun.add(this)
      return send.call(this, text)
    })
    const limits = await onServer(place.url).readSource(stopped, () =>
      Promise.all([...begun].map((each) => each.send('SHOW idle_in_transaction_session_timeout'))),
    )
    expect(limits).toEqual([[[['12h']]], [[['15min']]]])
  })

  test('copying is refused if a server starts during the copy', async () => {
    await using place = await openPostgresPlace()
    const refusal = await onServer(place.url).readSource(stopped, async (source) => {
      await source.requireStopped()
      const now = 'extract(epoch FROM clock_timestamp()) * 1000'
      await runSql(place.url, `INSERT INTO nodes SELECT 'other', '', ${now}`)
      return refusalOf(() => source.requireStopped())
    })
    expect(refusal).toStartWith('storage_busy: a server uses the source database')
  })

  test('copying a database with a newer but compatible schema is refused', async () => {
    await using place = await openPostgresPlace()
    await runSql(place.url, "UPDATE settings SET value = value || sha256('newer') WHERE name = 'migrations'")
    expect(await refusalOf(() => onServer(place.url).readSource(whileServing, async () => {}))).toBe(
      'database_unusable: the database has the schema of a newer version of this program; use that version to copy it',
    )
  })

  test('a copy fails if its connection is lost before the last row was read', async () => {
    await using place = await openPostgresPlace()
    const cut = () =>
      runSql(
        place.url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'",
      )
    const { readSource } = onServer(place.url)
    const atEnd = readSource(whileServing, async (source) => {
      await source.verifyLog()
      await cut()
      return 'read'
    })
    expect(await atEnd).toBe('read')
    const before = readSource(whileServing, async (source) => {
      await cut()
      return idsIn(source, 'members')
    })
    expect(await refusalOf(() => before)).toBe(
      `storage_busy: nothing was copied: ${place.url}: the connection to the server was lost`,
    )
  })
})

describeOnPostgres('db: a PostgreSQL database as the target of a copy', () => {
  test('the copy keeps the ids and the gaps between ids', async () => {
    await using place = await openPostgresPlace()
    await using free = await newDatabase()
    const { intake } = await fill(place)
    await intake('robin')
    await runSql(place.url, "SELECT setval('booking_requests_id_seq', 9)")
    await intake('kim')
    await place.store.auditHead()
    const made = onServer(free.url)
    await onServer(place.url).readSource(whileServing, (source) =>
      made.makeTarget({ ...making, fill: (target) => fillFrom(source, target) }),
    )
    expect(await made.readSource(whileServing, (source) => idsIn(source, 'booking_requests'))).toEqual([
      1, 10,
    ])
    expect(
      await made.readSource(whileServing, async (source) => (await source.verifyLog()).acts.head.id),
    ).toBe((await place.store.auditHead()).id)
  })

  test('an incomplete target is invisible, and a failed copy is rolled back', async () => {
    await using server = await newDatabase()
    const place = onServer(server.url)
    const fill = async () => {
      expect(await place.find()).toBeNull()
      throw new Error('enough')
    }
    await expect(place.makeTarget({ ...making, fill })).rejects.toThrow('enough')
    expect(await place.find()).toBeNull()
  })

  test('if the response to COMMIT is lost, the message says that the copy may exist', async () => {
    await using server = await newDatabase()
    const own = "state = 'idle in transaction' AND datname = current_database()"
    const fill = () =>
      runSql(server.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${own}`)
    expect(await refusalOf(() => onServer(server.url).makeTarget({ ...making, fill }))).toBe(
      `database_unusable: the connection to ${server.url} was lost while the copy was finished; run the command again. ` +
        'If the command reports that a database already exists, the copy is complete',
    )
  })

  test('of two concurrent copies to the same target, only one succeeds', async () => {
    await using server = await newDatabase()
    const place = onServer(server.url)
    const fill = () => refusalOf(() => place.makeTarget({ ...making, fill: async () => {} }))
    expect(await place.makeTarget({ ...making, fill })).toBe('storage_busy: the database is busy; try again')
    const tables = "SELECT count(*)::int AS n FROM pg_tables WHERE tablename = 'members'"
    expect(await runSql<{ n: number }>(server.url, tables)).toEqual([{ n: 1 }])
  })
})

describe('db: a SQLite file as the target of a copy', () => {
  test('the target file appears when it is complete, and a failed copy leaves no file', async () => {
    using folder = new Folder()
    const path = folder.file('new.sqlite')
    const place = fileDatabase(path)
    const fill = async () => {
      expect(await place.find()).toBeNull()
      throw new Error('enough')
    }
    await expect(place.makeTarget({ ...making, fill })).rejects.toThrow('enough')
    expect(await Array.fromAsync(new Bun.Glob('*').scan(folder.path))).toEqual([])
  })
})
