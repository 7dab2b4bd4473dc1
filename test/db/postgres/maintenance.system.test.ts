import { expect, test } from 'bun:test'
import { auditHashes } from '../../../db/audit/verification'
import { Pool } from '../../../db/postgres/client/pool'
import { createMaintenance } from '../../../db/postgres/maintenance'
import { openDatabase } from '../../../db/postgres/open'
import { judgeReplication, judgeSettings } from '../../../db/postgres/server/doctor'
import { Node } from '../../../db/postgres/server/nodes'
import { openSession, type Session } from '../../../db/postgres/session'
import { createActs } from '../../../db/postgres/transaction'
import { logOver } from '../../../db/queries/audit'
import { newKey } from '../../../src/auth/token'
import { type DatabaseAddress, parseDatabaseAddress } from '../../../src/domain/addresses'
import type { Maintenance } from '../../../src/domain/ports/maintenance'
import { masterKeyOf } from '../../../src/vault/vault'
import { FakeClock } from '../../support/held-time'
import { type Postgres, runSql, startPostgres } from '../../support/postgres'
import { describeOnPostgres, newDatabase } from '../../support/postgres-databases'
import { act, actAt, fill, now, stored } from '../furniture'
import { connectTo, openingOf, refusalOf } from './connections'
import { openPostgresPlace } from './place'

/** The maintenance of a database, which is created if it does not exist. Disposing closes it. */
async function openMaintenance(url: string) {
  const connections = connectTo(url)
  const { masterKey, vault } = await openDatabase(connections.on, openingOf(url))
  const pool = new Pool<Session>({
    address: parseDatabaseAddress(url) as DatabaseAddress,
    password: () => null,
    size: 4,
    make: (connection) => openSession(connection, () => vault),
  })
  const node = new Node(connections.on)
  const { on } = connections
  const log = logOver(auditHashes(vault), (work) => pool.use(async ({ audit }) => work(audit)))
  const parts = { pool, on, acts: createActs(pool), node, log, purpose: 'sandbox', masterKey } as const
  return {
    maintenance: createMaintenance(parts),
    run: (text: string) => runSql(url, text),
    async [Symbol.asyncDispose]() {
      await pool.close()
      await connections[Symbol.asyncDispose]()
    },
  }
}

async function withMaintenance(work: (opened: Awaited<ReturnType<typeof openMaintenance>>) => Promise<void>) {
  await using database = await newDatabase()
  await using opened = await openMaintenance(database.url)
  await work(opened)
}

describeOnPostgres("postgres: doctor's checks", () => {
  test('a new database on a server with fsync has no bad findings', async () => {
    await using server = await startPostgres({ fsync: true })
    await using opened = await openMaintenance(server.url)
    const findings = [...(await opened.maintenance.check(now)), ...(await opened.maintenance.checkHost())]
    const states = findings.map(({ check, state }) => [check, state])
    expect(Object.fromEntries(states)).toEqual({
      schema: 'ok',
      // Since PostgreSQL 18 initdb enables checksums.
      settings: expect.stringMatching(/ok|note/),
      'sealed values': 'ok',
      'audit log': 'ok',
      records: 'ok',
      backup: 'note',
      server: 'ok',
      connection: 'ok',
      clock: 'ok',
      replication: 'note',
    })
  })

  test('a check names every sealed value that cannot be decrypted', async () => {
    await using place = await openPostgresPlace()
    const { intake, partner } = await fill(place)
    const { id, member } = await stored(intake('robin', { retry: { key: 'one', body: '' } }))
    await place.store.addNote(id, 'Rings back after six.', act)
    const key = newKey()
    await place.store.issueKey(partner.id, { ...key, startsAt: 0 }, act)
    const sealed = async () =>
      (await place.maintenance?.check(now))?.find(({ check }) => check === 'sealed values')
    expect(await sealed()).toEqual({ check: 'sealed values', state: 'ok', detail: 'all can be decrypted' })
    const columns = [
      'partner_keys SET sealed_secret',
      'members SET sealed_profile',
      'booking_requests SET sealed_screening_answers',
      'request_notes SET sealed_text',
      'replays SET sealed_receipt',
    ]
    await runSql(place.url, columns.map((column) => `UPDATE ${column} = 'damaged'`).join(';'))
    expect(await sealed()).toMatchObject({
      state: 'bad',
      detail: `cannot be opened: key ${key.kid}, member ${member.id}, request ${id}, note 1, the response to request ${id}`,
    })
  })
})

test('postgres: a check names a token, rates and a request that were changed without the service', async () => {
  await using place = await openPostgresPlace()
  const { intake, partner } = await fill(place)
  const key = newKey()
  await place.store.issueKey(partner.id, { ...key, startsAt: now }, act)
  await place.store.revokeKeys(partner.id, actAt(now + 1))
  await place.store.setPartnerRates(partner.id, { readsPerMinute: 60 }, act)
  const { id } = await stored(intake('robin'))
  const records = async (isAll: boolean) =>
    (await place.maintenance?.check(now + 2, null, isAll))?.find(({ check }) => check === 'records')
  expect(await records(true)).toEqual({ check: 'records', state: 'ok', detail: 'as the audit log says' })
  await runSql(
    place.url,
    `UPDATE partner_keys SET ends_at = NULL, end_reason = NULL; UPDATE partners SET reads_per_minute = 0;
     UPDATE booking_requests SET state = 'closed', declined_at = 0`,
  )
  const unset = 'bookings default per minute, intakes default per hour'
  for (const isAll of [false, true])
    expect(await records(isAll)).toEqual({
      check: 'records',
      state: 'bad',
      detail:
        `changed without the service: partner 1 (Harbourlight) has reads off, ${unset}, but audit line 6 ` +
        `(partner.set-rates) says reads 60, ${unset}; partner 1 (Harbourlight): token ${key.kid} differs from ` +
        `audit line 5 (token.revoke); request ${id} is closed, but no audit line says so`,
    })
})

test('postgres: settings that can lose acknowledged writes are reported as bad', () => {
  const sound = {
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    synchronous_standby_names: '',
    data_checksums: 'on',
  }
  const stateWith = (different: Record<string, string>) => {
    const { state, detail } = judgeSettings({ ...sound, ...different })
    return `${state}: ${detail}`
  }
  expect(stateWith({})).toBe('ok: correct')
  expect(stateWith({ synchronous_commit: 'remote_apply' })).toBe('ok: correct')
  expect(stateWith({ data_checksums: 'off' })).toStartWith('note: correct, but without data checksums')
  expect(stateWith({ fsync: 'off' })).toStartWith('bad: fsync is off: ')
  expect(stateWith({ full_page_writes: 'off' })).toStartWith('bad: full_page_writes is off: ')
  expect(stateWith({ synchronous_commit: 'off' })).toStartWith('bad: synchronous_commit is off: ')
  expect(stateWith({ synchronous_commit: 'local', synchronous_standby_names: 'b' })).toBe(
    'bad: synchronous_commit is local: commits do not wait for a standby',
  )
})

test('postgres: the replication check reports whether a failover can lose acknowledged writes', () => {
  const standby = { name: 'b', isSynchronous: true, bytesBehind: 12, secondsBehind: 0.04 }
  const judged = (...call: Parameters<typeof judgeReplication>) => {
    const { state, detail } = judgeReplication(...call)
    return `${state}: ${detail}`
  }
  expect(judged([standby], 'b')).toBe('ok: b synchronous, 12 bytes and 0.0 s behind')
  expect(judged([{ ...standby, bytesBehind: 1e9 }], 'b')).toStartWith('note: b synchronous, 1000000000 bytes')
  expect(judged([{ ...standby, isSynchronous: false }], '')).toBe(
    'note: b asynchronous, 12 bytes and 0.0 s behind; none is synchronous, so a failover may lose the last acknowledged writes',
  )
  expect(judged([{ ...standby, isSynchronous: false }], 'c')).toStartWith(
    'bad: synchronous_standby_names is set',
  )
  expect(judged([], '')).toStartWith('note: no standby')
})

/** SQL that adds `count` members, and nine rows to each other table with personal data. */
const fillRows = (count: number) =>
  `INSERT INTO partners (name, active, created_at) VALUES ('P', true, 0);
   INSERT INTO members (record_key, partner_id, external_user_id_hash, email_hash, active, sealed_external_user_id,
     sealed_profile, created_at, updated_at)
     SELECT 'm' || i, 1, sha256(int4send(i)), sha256(int4send(-i)), true, 'x', 'x', 0, 0 FROM generate_series(1, ${count}) AS i;
   INSERT INTO booking_requests (record_key, partner_id, member_id, is_intake, state, sealed_screening_answers, submitted_at)
     SELECT 'r' || id, 1, id, true, 'unassigned', 'x', 0 FROM members WHERE id < 10 ORDER BY id;
   INSERT INTO request_notes (record_key, request_id, kind, at, actor, sealed_text)
     SELECT 'n' || id, id, 'note', 0, 'olive', 'x' FROM booking_requests ORDER BY id;
   INSERT INTO replays SELECT id, 1, sha256(int4send(id::int)), sha256('b'), 'x', 0 FROM booking_requests;
   INSERT INTO settings SELECT 's' || id, 'x' FROM booking_requests`

const indexes = [
  'members_pkey',
  'members_email_hash_key',
  'booking_requests_pkey',
  'request_notes_pkey',
  'replays_pkey',
  'settings_pkey',
]

/** Runs `work` while VACUUM cannot remove deleted rows. */
type Keeper = (server: Postgres, work: () => Promise<void>) => Promise<void>

const keepers: readonly Keeper[] = [
  async function preparedTransaction(server, work) {
    await server.run("BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'one'")
    await work()
    await server.run("ROLLBACK PREPARED 'one'")
  },
  async function writer(server, work) {
    await using connections = connectTo(server.url, 1)
    await connections.on(async (connection) => {
      await connection.send('BEGIN; SELECT pg_current_xact_id()')
      await work()
      await connection.send('ROLLBACK')
    }, 300_000)
  },
]

/** Purges with a fake clock, so that the test does not wait. */
async function purgeWithoutWaiting(maintenance: Maintenance): Promise<boolean> {
  using time = new FakeClock()
  let isOver = false
  const purging = maintenance.purge().finally(() => {
    isOver = true
  })
  for (; !isOver; await Bun.sleep(5)) time.pass(500)
  return purging
}

describeOnPostgres('postgres: maintenance', () => {
  test('making a backup is refused, and the error lists other ways', async () => {
    await withMaintenance(async ({ maintenance }) => {
      expect(await refusalOf(() => maintenance.backUp('/somewhere', null, act))).toBe(
        'database_unusable: back up a PostgreSQL database on its server: by its provider, with WAL-G or pgBackRest (point-in-time recovery), or with pg_dump -Fc; keep the master key in another place',
      )
    })
  })

  test('a second rotation to the same master key changes nothing', async () => {
    await withMaintenance(async ({ maintenance, run }) => {
      const next = masterKeyOf(Buffer.alloc(32, 8))
      expect(await maintenance.rewrap(next, act)).toBe(true)
      expect(await maintenance.rewrap(next, act)).toBe(false)
      expect(await run('SELECT action, actor, outcome FROM audit')).toEqual([
        { action: 'key.rotate', actor: 'olive', outcome: 'done' },
      ])
      const third = masterKeyOf(Buffer.alloc(32, 9))
      expect(await refusalOf(() => maintenance.rewrap(third, act))).toBe(
        'database_unusable: the master key does not fit this database; use its current master key',
      )
    })
  })

  test('the last drill and the last zone data are recorded', async () => {
    await withMaintenance(async ({ maintenance }) => {
      expect(await maintenance.findLastBackups()).toEqual({
        backedUpAt: null,
        drilledAt: null,
        isByServer: true,
      })
      await maintenance.noteDrill(act)
      expect(await maintenance.findLastBackups()).toEqual({
        backedUpAt: null,
        drilledAt: now,
        isByServer: true,
      })
      expect(await maintenance.findZoneData()).toBeNull()
      await maintenance.noteZoneData({ edition: '2026f', folder: null })
      expect(await maintenance.findZoneData()).toEqual({ edition: '2026f', folder: null })
    })
  })

  test('a purge removes deleted personal data from tables and indexes', async () => {
    await withMaintenance(async ({ maintenance, run }) => {
      // In a table of this size, VACUUM by default skips the indexes after one deletion.
      await run(`CREATE EXTENSION pgstattuple; ${fillRows(8_000)}`)
      const deleted = [
        "settings WHERE name = 's1'",
        'replays WHERE request_id = 1',
        'request_notes WHERE id = 1',
      ]
      for (const which of [...deleted, 'booking_requests WHERE id = 1', 'members WHERE id = 1'])
        await run(`DELETE FROM ${which}`)
      expect(await maintenance.purge()).toBe(true)
      const left = await run(
        `SELECT indexrelid::regclass::text AS index,
           ((pgstattuple(indexrelid)).tuple_count - (pgstattuple(indrelid)).tuple_count)::int AS count
         FROM pg_index WHERE indexrelid = ANY ('{${indexes.join()}}'::regclass[])`,
      )
      expect(Object.fromEntries(left.map(({ index, count }) => [index, count]))).toEqual(
        Object.fromEntries(indexes.map((index) => [index, 0])),
      )
    })
  })

  test('a purge fails while a reader can still see deleted rows', async () => {
    await using database = await newDatabase()
    await using opened = await openMaintenance(database.url)
    await using reader = connectTo(database.url, 1)
    await opened.run(
      `INSERT INTO partners (name, active, created_at) VALUES ('P', true, 0);
       INSERT INTO members (record_key, partner_id, external_user_id_hash, active, sealed_external_user_id, sealed_profile,
         created_at, updated_at) SELECT 'm' || i, 1, sha256(int4send(i)), true, 'x', 'x', 0, 0 FROM generate_series(1, 9) AS i`,
    )
    const left = async () => {
      const [row] = await opened.run(
        "SELECT n_dead_tup::int AS dead FROM pg_stat_user_tables WHERE relname = 'members'",
      )
      return row?.dead
    }
    await reader.on(async (connection) => {
      await connection.send('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM members')
      await opened.run('DELETE FROM members WHERE id <= 3')
      expect(await opened.maintenance.purge()).toBe(false)
      expect(await left()).toBe(3)
      await connection.send('COMMIT')
    }, 300_000)
    expect(await opened.maintenance.purge()).toBe(true)
    expect(await left()).toBe(0)
  })

  test('a purge fails while a prepared transaction or a writer keeps deleted rows', async () => {
    await using server = await startPostgres({ settings: { max_prepared_transactions: 1 } })
    await using opened = await openMaintenance(server.url)
    await opened.run(fillRows(9))
    for (const [index, beside] of keepers.entries()) {
      await beside(server, async () => {
        await opened.run(`DELETE FROM replays WHERE request_id = ${index + 1}`)
        expect([beside.name, await purgeWithoutWaiting(opened.maintenance)]).toEqual([beside.name, false])
      })
    }
    expect(await opened.maintenance.purge()).toBe(true)
  })
})
