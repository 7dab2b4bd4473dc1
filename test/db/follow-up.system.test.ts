import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { serverDatabase } from '../../db/postgres/database'
import { fileDatabase } from '../../db/sqlite/database'
import { ourMigrations } from '../../db/sqlite/migration'
import type { DatabaseLocation } from '../../src/domain/ports/database'
import { copyDatabase } from '../../src/operations/database-copy'
import { masterKeyOf } from '../../src/vault/vault'
import { actsOf, withActs } from '../support/acts'
import { runSql } from '../support/postgres'
import { describeOnPostgres, newDatabase } from '../support/postgres-databases'
import { act, draftOf, fill, nine, type Place, stored } from './furniture'
import { openPlace, openTestDatabase, testKey } from './place'
import { openPostgresPlace } from './postgres/place'

// Slow: starts PostgreSQL.
setDefaultTimeout(300_000)

const takeKey = async () => masterKeyOf(testKey)
const opening = { purpose: 'sandbox', takeKey, create: false, upgrade: true, alone: true } as const

/** The tables of schema 2 in an order that foreign keys allow, with the rows of a file of the current schema. */
function toSchema2(from: string, to: string): void {
  using old = openTestDatabase(to, {}, ourMigrations.slice(0, 2))
  const columnsOf = (schema: string, table: string) =>
    old
      .query<{ name: string }, []>(`PRAGMA ${schema}.table_info(${table})`)
      .all()
      .map(({ name }) => name)
  const tables = old.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  old.run('PRAGMA foreign_keys = OFF')
  old.run('ATTACH ? AS filled', [from])
  for (const { name } of tables.filter(({ name }) => name !== 'sqlite_stat1')) {
    const columns = columnsOf('main', name).join()
    const where = name === 'settings' ? "WHERE name NOT IN ('migrations', 'generation')" : ''
    old.run(`DELETE FROM main.${name} ${where}`)
    old.run(`INSERT INTO main.${name} (${columns}) SELECT ${columns} FROM filled.${name} ${where}`)
  }
  // Two ids were given to rows that are gone.
  old.run("UPDATE sqlite_sequence SET seq = 40 WHERE name IN ('booking_requests', 'request_notes')")
}

/** Undoes the third migration. */
const toSchema2OnPostgres = `
  ALTER TABLE booking_requests DROP COLUMN partner_id, DROP COLUMN cancelled_at;
  DROP TABLE request_positions;
  ALTER TABLE partners DROP COLUMN email_conflicts_per_hour;
  DROP TABLE unread_risks;
  DELETE FROM settings WHERE name = 'generation';
  UPDATE settings SET value = substring(value FOR 64) WHERE name = 'migrations';
  UPDATE settings SET value = '1' WHERE name = 'oldest_beside';
  SELECT setval('booking_requests_id_seq', 40), setval('request_notes_id_seq', 40)`

/** @param downgrade leaves the content in a database of schema 2, and returns its location */
async function upgradesSchema2(place: Place, downgrade: () => Promise<DatabaseLocation>): Promise<void> {
  const { partner, intake, book } = await fill(place)
  const other = await place.store.addPartner('Willow', null, act)
  const retry = { key: 'once', body: '{}' }
  const robin = await stored(book('robin', nine, { retry }))
  const erased = await stored(intake('erased'))
  const kim = await stored(intake('kim', { partnerId: other.id }))
  const again = await stored(intake('robin'))
  await place.store.decline(robin.id, act, 'far away')
  await place.store.eraseMember(erased.member.id, act)
  await place.store.auditHead()
  await place.close()

  const engine = await (await downgrade()).open(opening)
  await using _ = { [Symbol.asyncDispose]: () => engine.close() }
  expect(engine.upgraded).not.toBeNull()
  const upgraded = { ...engine, store: withActs(engine) }
  const { store } = upgraded
  const listed = async (id: number) => (await store.changesAfter(id, null))?.results.map(({ id }) => id)
  expect([await listed(partner.id), await listed(other.id)]).toEqual([[robin.id, again.id], [kim.id]])
  expect(await store.findOwn(partner.id, robin.id)).toMatchObject({ state: 'declined', cancelledAt: null })
  expect(await store.findRequest(erased.id)).toMatchObject({
    id: erased.id,
    state: 'unassigned',
    member: null,
  })
  expect(await store.readNotes(robin.id, act)).toMatchObject([{ id: 1, kind: 'decline', text: 'far away' }])
  const version = (await upgraded.feed.changesSince(null, 0))?.version
  if (!version) throw new Error('the directory is empty')
  const replay = { version, slot: { providerId: 1, startsAt: nine }, slotState: 'offered', retry } as const
  const sent = { localOffsetMinutes: 0, authorizationNumber: 'AUTH-9', ...replay }
  expect(await store.submit(draftOf('robin', { partnerId: partner.id, ...sent }))).toMatchObject({
    id: robin.id,
    isReplay: true,
  })
  const late = await stored(store.submit(draftOf('late', { partnerId: partner.id, version })) as never)
  expect([late.id > 40, await store.addNote(late.id, 'new', act)]).toEqual([true, 41])
  await store.cancel(late.id, act)
  const cursor = (await store.changesAfter(partner.id, null, 2))?.next ?? null
  expect((await store.changesAfter(partner.id, cursor))?.results).toMatchObject([
    { id: late.id, state: 'cancelled' },
  ])
  expect((await listed(partner.id))?.length).toBe(3)
  expect(await engine.maintenance.checkRecords(act.at)).toMatchObject({ state: 'ok' })
  // The test server runs without fsync.
  const findings = await engine.maintenance.check(act.at)
  expect(findings.filter(({ check, state }) => state === 'bad' && check !== 'settings')).toEqual([])
}

/** The partner's cursor after its first request. */
async function cursorIn(place: Place): Promise<[partnerId: number, cursor: string]> {
  const { partner, intake } = await fill(place)
  await stored(intake('robin'))
  const cursor = (await place.store.changesAfter(partner.id, null))?.next ?? ''
  await stored(intake('kim'))
  await place.store.auditHead()
  return [partner.id, cursor]
}

/** The ids after the cursor; null if the database refuses it. */
async function idsAfter(at: DatabaseLocation, partnerId: number, cursor: string) {
  const engine = await at.open(opening)
  const page = await actsOf(engine).changesAfter(partnerId, cursor)
  await engine.close()
  return page?.results.map(({ id }) => id) ?? null
}

const onServer = (url: string) => serverDatabase(url, { password: null, passFile: null })

async function copied(
  from: DatabaseLocation,
  to: DatabaseLocation,
  whileServing = false,
): Promise<DatabaseLocation> {
  const clock = { now: () => act.at }
  await copyDatabase({ from, to, purpose: 'sandbox', takeKey, whileServing, clock }, () => {})
  return to
}

describe('db: the list of changes of a SQLite file', () => {
  test('contains each request after an upgrade from schema 2, and doctor finds nothing', async () => {
    await using place = await openPlace()
    await upgradesSchema2(place, async () => {
      toSchema2(place.path, place.freeTarget)
      return fileDatabase(place.freeTarget)
    })
  })

  test('refuses earlier cursors after a backup was restored', async () => {
    await using place = await openPlace()
    const [partnerId, cursor] = await cursorIn(place)
    await place.maintenance?.backUp(place.freeTarget, null, act)
    const restored = fileDatabase(`${place.freeTarget}.restored`)
    const decrypt = () => Promise.reject(new Error('it is not encrypted'))
    await restored.restore(
      { backup: place.freeTarget, purpose: 'sandbox', takeKey: () => masterKeyOf(testKey), decrypt },
      () => {},
    )
    expect(await idsAfter(restored, partnerId, cursor)).toBeNull()
    expect(await place.store.changesAfter(partnerId, cursor)).toMatchObject({ results: [{ id: 2 }] })
    const engine = await restored.open(opening)
    const whole = await actsOf(engine).changesAfter(partnerId, null)
    expect(whole?.results.map(({ id }) => id)).toEqual([1, 2])
    await engine.close()
  })
})

describeOnPostgres('db: the list of changes of a PostgreSQL database', () => {
  test('contains each request after an upgrade from schema 2, and doctor finds nothing', async () => {
    await using place = await openPostgresPlace()
    await upgradesSchema2(place, async () => {
      await runSql(place.url, toSchema2OnPostgres)
      return onServer(place.url)
    })
  })

  test('keeps its cursors in a copy to the other engine and back, but not in a trial copy', async () => {
    await using place = await openPlace()
    await using free = await newDatabase()
    const [partnerId, cursor] = await cursorIn(place)
    const trial = await copied(fileDatabase(place.path), fileDatabase(`${place.path}.trial`), true)
    expect(await idsAfter(trial, partnerId, cursor)).toBeNull()
    const there = await copied(fileDatabase(place.path), onServer(free.url))
    expect(await idsAfter(there, partnerId, cursor)).toEqual([2])
    // As after a restore of the whole server to an earlier time.
    await runSql(free.url, 'UPDATE request_positions SET position = position - 2')
    expect(await idsAfter(there, partnerId, cursor)).toBeNull()
    await runSql(free.url, 'UPDATE request_positions SET position = position + 2')
    const back = await copied(there, fileDatabase(place.freeTarget))
    expect(await idsAfter(back, partnerId, cursor)).toEqual([2])
  })
})
