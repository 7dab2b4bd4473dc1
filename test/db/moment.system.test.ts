import { describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { SQL } from 'bun'
import { Connection } from '../../db/postgres/client/connection'
import { serverDatabase } from '../../db/postgres/database'
import { fileDatabase } from '../../db/sqlite/database'
import { takeServeLock } from '../../db/sqlite/file/lock'
import type { DatabasePlace } from '../../src/domain/database'
import type { Moment, ReadingMoment, Unfinished } from '../../src/domain/moment'
import { masterKeyOf } from '../../src/vault/vault'
import { eventually } from '../support/eventually'
import { Folder } from '../support/folder'
import { runSql } from '../support/postgres'
import { describeOnPostgresInFull, newDatabase } from '../support/postgres-databases'
import { act, answers, furnish, now, type Place } from './furniture'
import { openPlace, testKey } from './place'
import { refusalOf } from './postgres/connections'
import { openPostgresEngine, openPostgresPlace } from './postgres/place'

setDefaultTimeout(300_000)

const onServer = (url: string) => serverDatabase(url, { password: null, passFile: null })
const beside: ReadingMoment = {
  purpose: 'sandbox',
  takeKey: async () => masterKeyOf(testKey),
  whileServing: true,
}
const making = { purpose: 'sandbox', masterKey: masterKeyOf(testKey), tell: () => {} } as const

async function idsIn(moment: Moment, name: string): Promise<unknown[]> {
  const table = moment.tables.find((each) => each.name === name)
  if (!table) throw new Error(`${name} is not told`)
  const ids: unknown[] = []
  for await (const rows of moment.rowsOf(table))
    ids.push(...rows.map((row) => row[table.columns.indexOf('id')]))
  return ids
}

/** Holds that what is written while a moment is read is none of it. */
async function seesOneMoment(place: DatabasePlace, connection: Place): Promise<void> {
  const { book } = await furnish(connection)
  await book('first', Date.UTC(2026, 11, 2, 9))
  const seen = await place.readMoment(beside, async (moment) => {
    await book('second', Date.UTC(2026, 11, 2, 10))
    const told = moment.tables.find(({ name }) => name === 'booking_requests')
    const log = (await moment.proveLog()).acts.head.id
    await connection.store.addOrganization('Meanwhile', { actor: 'olive', at: 0 })
    return [told?.rows, await idsIn(moment, 'members'), await idsIn(moment, 'organizations'), log]
  })
  const before = (await connection.store.auditHead()).id - 1
  expect(seen).toEqual([1, [1], [1], before])
}

const elsewhere = { to: '/elsewhere.sqlite', at: now }
const alone: ReadingMoment = { ...beside, whileServing: false }

/** Holds that a database which notes its copy is read, and neither served nor changed, until the note is taken back. */
async function isLeftForItsCopy(
  place: DatabasePlace,
  connection: Place,
  freeAt: () => DatabasePlace,
): Promise<void> {
  const { store, upkeep } = connection
  if (!upkeep) throw new Error('it is looked after')
  const { partner, intake } = await furnish(connection)
  await intake('robin')
  expect(await upkeep.findCopyNote()).toBeNull()
  const noted = await place.readMoment(alone, async (moment) => [
    moment.copyNote,
    await moment.noteCopy(elsewhere),
  ])
  expect(noted).toEqual([null, true])
  expect(await upkeep.findCopyNote()).toEqual(elsewhere)
  const why =
    'the database was copied to /elsewhere.sqlite at 2026-12-01T12:00:00Z: use that one, or go on with this one: ' +
    'anteroom database reactivate'
  const { purpose, takeKey } = beside
  const serve = () => place.open({ purpose, takeKey, create: false, upgrade: true, alone: true })
  expect(await refusalOf(serve)).toBe(`database_unusable: ${why}`)
  const head = await store.auditHead()
  const writes: (() => Promise<unknown>)[] = [
    () => intake('kim'),
    () => store.addOrganization('North Care', act),
    () => store.setPartnerActive(partner.id, false, act),
  ]
  for (const write of writes) expect(await refusalOf(write)).toBe(`storage_failed: ${why}`)
  expect(await store.auditHead()).toEqual(head)
  expect((await store.listRequests({})).length).toBe(1)
  const [request] = await store.listRequests({})
  expect(await store.readScreening(request?.id ?? 0, act)).toEqual(answers)
  expect(await store.verifyAudit(head)).toMatchObject({ intact: true })
  // A copy of it notes nothing, and is told what it notes itself.
  const free = freeAt()
  const before = await place.readMoment(beside, async (moment) => {
    await free.makeOfMoment({ ...making, fill: (unfinished) => fillFrom(moment, unfinished) })
    return moment.copyNote
  })
  expect(before).toEqual(elsewhere)
  expect(await free.readMoment(beside, async ({ copyNote }) => copyNote)).toBeNull()
  await upkeep.reactivate(act)
  expect(await upkeep.findCopyNote()).toBeNull()
  expect((await store.listAudit(1)).map(({ actor, action, outcome }) => [actor, action, outcome])).toEqual([
    ['olive', 'database.reactivate', 'done'],
  ])
  expect(await refusalOf(() => upkeep.reactivate(act))).toBe(
    'record_unknown: the database is active: it was not left for a copy',
  )
  await intake('kim')
  const server = await serve()
  await server.close()
}

async function fillFrom(moment: Moment, unfinished: Unfinished): Promise<void> {
  const spans = await moment.proveLog()
  for (const table of moment.tables)
    for await (const rows of moment.rowsOf(table)) await unfinished.add(table, rows)
  await unfinished.keepLog(spans)
}

/** Holds that nobody writes from the moment on, until its copy is noted. */
async function holdsWritersUp(place: DatabasePlace, connection: Place): Promise<void> {
  const { partner, intake } = await furnish(connection)
  const { store } = connection
  const ends = await place.readMoment(alone, async (moment) => {
    const writing = [intake('robin'), store.setPartnerActive(partner.id, false, act)].map((write) =>
      refusalOf(() => write),
    )
    const seen = await idsIn(moment, 'members')
    expect(seen).toEqual([])
    const busy = await Promise.all(writing)
    const late = refusalOf(() => store.addOrganization('Late', act))
    await moment.noteCopy(elsewhere)
    return [...busy, await late]
  })
  expect(ends.slice(0, 2)).toEqual([
    'storage_busy: the service is busy; try again',
    'storage_busy: the service is busy; try again',
  ])
  expect(ends[2]).toStartWith('storage_failed: the database was copied to /elsewhere.sqlite')
  expect((await store.listOrganizations()).map(({ name }) => name)).toEqual(['Harbour'])
}

describe('a moment of a file', () => {
  test('that notes its copy leaves a database that is read, and neither served nor changed', async () => {
    await using place = await openPlace()
    await isLeftForItsCopy(fileDatabase(place.path), place, () => fileDatabase(place.freeTarget))
  })

  test('that no server is to be beside holds up who writes, until its copy is noted', async () => {
    await using place = await openPlace()
    await holdsWritersUp(fileDatabase(place.path), place)
  })

  test('has nothing of what is booked while it is read', async () => {
    await using place = await openPlace()
    await seesOneMoment(fileDatabase(place.path), place)
  })

  test('lets no server start that is not to be, until it was read', async () => {
    await using place = await openPlace()
    await fileDatabase(place.path).readMoment({ ...beside, whileServing: false }, async () => {
      expect(() => takeServeLock(place.path)).toThrow('another serve works with this database already')
    })
    takeServeLock(place.path)[Symbol.dispose]()
  })
})

describeOnPostgresInFull('a moment on a server', () => {
  test('that notes its copy leaves a database that is read, and neither served nor changed', async () => {
    await using place = await openPostgresPlace()
    await using free = await newDatabase()
    await isLeftForItsCopy(onServer(place.url), place, () => onServer(free.url))
  })

  test('that no server is to be beside holds up who writes, until its copy is noted', async () => {
    await using place = await openPostgresPlace()
    await holdsWritersUp(onServer(place.url), place)
  })

  test('of a role that may only read is read, and notes no copy', async () => {
    await using place = await openPostgresPlace()
    await runSql(
      place.url,
      'CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader; GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO reader',
    )
    const url = new URL(place.url)
    url.username = 'reader'
    const asReader = onServer(url.href)
    const told = await asReader.readMoment(alone, async (moment) => [
      await idsIn(moment, 'members'),
      await moment.noteCopy(elsewhere),
    ])
    expect(told).toEqual([[], false])
    expect(await place.upkeep?.findCopyNote()).toBeNull()
  })

  test('is told by a server that had none of it until now: it is not ready any more', async () => {
    await using place = await openPostgresPlace()
    const server = await openPostgresEngine(place.url)
    const told: string[] = []
    const watched = server.watch((line) => void told.push(line), false)
    expect(await watched.isReady()).toBe(true)
    // As one that was frozen for so long that the others forgot it.
    await runSql(place.url, 'DELETE FROM nodes')
    await onServer(place.url).readMoment(alone, (moment) => moment.noteCopy(elsewhere))
    await Bun.sleep(1_100)
    expect(await watched.isReady()).toBe(false)
    expect(told).toEqual([
      expect.stringContaining('not ready: the database was copied to /elsewhere.sqlite at '),
    ])
    await server.close()
  })

  test('has nothing of what is booked while it is read', async () => {
    await using place = await openPostgresPlace()
    await seesOneMoment(onServer(place.url), place)
  })

  test('has what was written by whoever had a table locked as it began, as an upgrade has', async () => {
    await using place = await openPostgresPlace()
    await using client = new SQL(place.url, { max: 1, idleTimeout: 0 })
    const upgrade = await client.reserve()
    await upgrade
      .unsafe(
        `BEGIN; LOCK TABLE members; INSERT INTO organizations (name, active, created_at) VALUES ('Late', true, 0)`,
      )
      .simple()
    const seen = onServer(place.url).readMoment(beside, (moment) => idsIn(moment, 'organizations'))
    const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'members'::regclass`
    await eventually('it to wait', async () => (await runSql(place.url, waiting)).length > 0)
    await upgrade.unsafe('COMMIT').simple()
    upgrade.release()
    expect(await seen).toEqual([1])
  })

  test('may be read for as long as a copy may take', async () => {
    await using place = await openPostgresPlace()
    const begun = new Set<Connection>()
    const { send } = Connection.prototype
    using _ = spyOn(Connection.prototype, 'send').mockImplementation(function (this: Connection, text) {
      if (/^BEGIN\b/.test(text)) begun.add(this)
      return send.call(this, text)
    })
    // Of who holds up all that write, and of who reads.
    const limits = await onServer(place.url).readMoment(alone, () =>
      Promise.all([...begun].map((each) => each.send('SHOW idle_in_transaction_session_timeout'))),
    )
    expect(limits).toEqual([[[['12h']]], [[['15min']]]])
  })

  test('is not all there is once a server has begun to work beside it', async () => {
    await using place = await openPostgresPlace()
    const refusal = await onServer(place.url).readMoment(
      { ...beside, whileServing: false },
      async (moment) => {
        await moment.requireAlone()
        const now = 'extract(epoch FROM clock_timestamp()) * 1000'
        await runSql(place.url, `INSERT INTO nodes SELECT 'other', '', ${now}`)
        return refusalOf(() => moment.requireAlone())
      },
    )
    expect(refusal).toStartWith('storage_busy: a server works with the database that is copied')
  })

  test('of a newer schema is left to the newer version, though this one may work with it', async () => {
    await using place = await openPostgresPlace()
    await runSql(place.url, "UPDATE settings SET value = value || sha256('newer') WHERE name = 'migrations'")
    expect(await refusalOf(() => onServer(place.url).readMoment(beside, async () => {}))).toBe(
      'database_unusable: the database has the schema of a newer version of this program: copy it with that one',
    )
  })

  test('was read although its connection breaks at the very end, and not where it breaks before', async () => {
    await using place = await openPostgresPlace()
    const cut = () =>
      runSql(
        place.url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'",
      )
    const { readMoment } = onServer(place.url)
    const atEnd = readMoment(beside, async (moment) => {
      await moment.proveLog()
      await cut()
      return 'read'
    })
    expect(await atEnd).toBe('read')
    const before = readMoment(beside, async (moment) => {
      await cut()
      return idsIn(moment, 'members')
    })
    expect(await refusalOf(() => before)).toBe(
      `storage_busy: ${place.url}: the connection to the server broke; nothing was made`,
    )
  })
})

describeOnPostgresInFull('a database in the making on a server', () => {
  test('is the same where ids were passed over, as by bookings that were given up', async () => {
    await using place = await openPostgresPlace()
    await using free = await newDatabase()
    const { intake } = await furnish(place)
    await intake('robin')
    await runSql(place.url, "SELECT setval('booking_requests_id_seq', 9)")
    await intake('kim')
    const made = onServer(free.url)
    await onServer(place.url).readMoment(beside, (moment) =>
      made.makeOfMoment({ ...making, fill: (unfinished) => fillFrom(moment, unfinished) }),
    )
    expect(await made.readMoment(beside, (moment) => idsIn(moment, 'booking_requests'))).toEqual([1, 10])
    expect(await made.readMoment(beside, async (moment) => (await moment.proveLog()).acts.head.id)).toBe(
      (await place.store.auditHead()).id,
    )
  })

  test('is seen by nobody, and is not there where the filling fails', async () => {
    await using server = await newDatabase()
    const place = onServer(server.url)
    const fill = async () => {
      expect(await place.find()).toBeNull()
      throw new Error('enough')
    }
    await expect(place.makeOfMoment({ ...making, fill })).rejects.toThrow('enough')
    expect(await place.find()).toBeNull()
  })

  test('may be there or not where the answer to its end is lost, and whoever asks is told so', async () => {
    await using server = await newDatabase()
    const own = "state = 'idle in transaction' AND datname = current_database()"
    const fill = () =>
      runSql(server.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${own}`)
    expect(await refusalOf(() => onServer(server.url).makeOfMoment({ ...making, fill }))).toBe(
      `database_unusable: the connection to ${server.url} broke as the copy was finished, and nobody knows whether it is ` +
        'there: give the command again; it is refused if the copy is there, which is whole then',
    )
  })

  test('is made by one of two who begin at once', async () => {
    await using server = await newDatabase()
    const place = onServer(server.url)
    const fill = () => refusalOf(() => place.makeOfMoment({ ...making, fill: async () => {} }))
    expect(await place.makeOfMoment({ ...making, fill })).toBe(
      'storage_busy: the database is busy; try again',
    )
    const tables = "SELECT count(*)::int AS n FROM pg_tables WHERE tablename = 'members'"
    expect(await runSql<{ n: number }>(server.url, tables)).toEqual([{ n: 1 }])
  })
})

describe('a database in the making in a file', () => {
  test('has no name before it is whole, nor where the filling fails', async () => {
    using folder = new Folder()
    const path = folder.file('new.sqlite')
    const place = fileDatabase(path)
    const fill = async () => {
      expect(await place.find()).toBeNull()
      throw new Error('enough')
    }
    await expect(place.makeOfMoment({ ...making, fill })).rejects.toThrow('enough')
    expect(await Array.fromAsync(new Bun.Glob('*').scan(folder.path))).toEqual([])
  })
})
