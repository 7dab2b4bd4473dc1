import type { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { getTableColumns, getTableName } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { sqliteColumns, tablesOf } from '../../db/queries/tables'
import { Folder } from '../support/folder'
import { openTestDatabase } from './place'

const other = { id: 9, record_key: "'m9'", external_user_id_hash: hash('09'), email_hash: hash('99') }

const folder = new Folder()
let database = undefined as unknown as Database

beforeAll(() => {
  database = openTestDatabase(folder.file('a.sqlite'))
  fill()
})

afterAll(() => {
  database?.close()
  folder[Symbol.dispose]()
})

const tables: readonly SQLiteTable[] = Object.values(tablesOf(sqliteColumns))

describe('db: the tables that queries declare', () => {
  test('the declared tables are all tables of the database', () => {
    const made = database
      .query<{ name: string }, []>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .all()
    expect(tables.map((table) => getTableName(table)).sort()).toEqual(made.map(({ name }) => name))
  })

  test.each(tables.map((table) => [getTableName(table), table] as const))(
    '%s has the declared columns',
    (name, table) => {
      const made = database
        .query<{ name: string; type: string; notnull: number; pk: number }, [string]>(
          'SELECT name, type, "notnull", pk FROM pragma_table_info(?)',
        )
        .all(name)
        .map((column) => ({
          name: column.name,
          type: column.type.toLowerCase(),
          // SQLite does not report a primary key as NOT NULL.
          notNull: column.notnull === 1 || column.pk > 0,
        }))
      const seen = Object.values(getTableColumns(table)).map((column) => ({
        name: column.name,
        type: column.getSQLType(),
        notNull: column.notNull,
      }))
      expect(byName(seen)).toEqual(byName(made))
    },
  )
})

describe('db: constraints of the database', () => {
  const rows: [what: string, code: string, statement: string][] = [
    ['an organization without a name', 'CHECK', "INSERT INTO organizations VALUES (9, '', 1, 0)"],
    ['an organization with the active flag 2', 'CHECK', "INSERT INTO organizations VALUES (9, 'N', 2, 0)"],
    [
      'a second organization with the same name',
      'UNIQUE',
      "INSERT INTO organizations VALUES (9, 'Org', 1, 0)",
    ],
    ['text instead of an instant', 'DATATYPE', "INSERT INTO organizations VALUES (9, 'N', 1, 'now')"],
    ['a partner of an unknown organization', 'FOREIGNKEY', 'UPDATE partners SET organization_id = 99'],
    ['a second partner with the same name', 'UNIQUE', partner({ id: 9 })],
    ['a negative read limit', 'CHECK', 'UPDATE partners SET reads_per_minute = -1'],
    ['a negative booking limit', 'CHECK', 'UPDATE partners SET bookings_per_minute = -1'],
    ['deleting an organization that has partners', 'FOREIGNKEY', 'DELETE FROM organizations'],
    ['deleting a partner that has members', 'FOREIGNKEY', 'DELETE FROM partners'],
    ['a second open key of a partner', 'UNIQUE', key({ id: 9, record_key: "'r9'", kid: "'k9'" })],
    ['a second key with the same kid', 'UNIQUE', key({ id: 9, record_key: "'r9'", partner_id: 2 })],
    ['a second key with the same record key', 'UNIQUE', key({ id: 9, kid: "'k9'", partner_id: 2 })],
    [
      'a key of an unknown partner',
      'FOREIGNKEY',
      key({ id: 9, record_key: "'r9'", kid: "'k9'", partner_id: 99 }),
    ],
    ['a key without a kid', 'CHECK', key({ id: 9, record_key: "'r9'", kid: "''", partner_id: 2 })],
    [
      'a key that ends before it starts',
      'CHECK',
      "UPDATE partner_keys SET ends_at = 9, end_reason = 'rotated'",
    ],
    ['a secret stored as text', 'DATATYPE', "UPDATE partner_keys SET sealed_secret = 'secret'"],
    [
      'a region with an invalid country code',
      'CHECK',
      "INSERT INTO regions VALUES (9, 'ca', 'AB', 'N', 'L', 1)",
    ],
    ['a region without a code', 'CHECK', "INSERT INTO regions VALUES (9, 'CA', '', 'N', 'L', 1)"],
    [
      'a second region with the same code',
      'UNIQUE',
      "INSERT INTO regions VALUES (9, 'CA', 'ON', 'N', 'L', 1)",
    ],
    ['deleting a region that has licenses', 'FOREIGNKEY', 'DELETE FROM regions'],
    ['a second provider with the same ref', 'UNIQUE', "UPDATE providers SET ref = 'ref'"],
    ['a provider without a ref', 'CHECK', "UPDATE providers SET ref = ''"],
    ['languages that are not JSON', 'CHECK', "UPDATE providers SET languages_spoken = 'en'"],
    ['working hours that are not JSON', 'CHECK', "UPDATE providers SET working_hours = '['"],
    ['a negative minimum notice', 'CHECK', 'UPDATE providers SET minimum_notice_minutes = -1'],
    [
      'a license of an unknown provider',
      'FOREIGNKEY',
      "INSERT INTO licenses VALUES (9, 99, 1, '2020-01-01', NULL)",
    ],
    [
      'a license in an unknown region',
      'FOREIGNKEY',
      "INSERT INTO licenses VALUES (9, 1, 99, '2020-01-01', NULL)",
    ],
    ['a license that ends before it starts', 'CHECK', "UPDATE licenses SET until_date = '2019-12-31'"],
    [
      'an in-person location in an unknown region',
      'FOREIGNKEY',
      'INSERT INTO in_person_regions VALUES (1, 99)',
    ],
    [
      'a second in-person location in the same region',
      'PRIMARYKEY',
      'INSERT INTO in_person_regions VALUES (1, 1)',
    ],
    ['deleting a provider who has bookings', 'FOREIGNKEY', 'DELETE FROM providers'],
    [
      'a second member with the same external id',
      'UNIQUE',
      member({ ...other, external_user_id_hash: hash('01') }),
    ],
    ['a second member with the same email address', 'UNIQUE', member({ ...other, email_hash: hash('02') })],
    ['a member of an unknown partner', 'FOREIGNKEY', member({ ...other, partner_id: 99 })],
    ['a member without an external id', 'CHECK', "UPDATE members SET external_user_id_hash = x''"],
    ['a member whose email hash is too short', 'CHECK', "UPDATE members SET email_hash = x'02'"],
    ['a member without a profile', 'NOTNULL', 'UPDATE members SET sealed_profile = NULL'],
    ['a second member with the same record key', 'UNIQUE', member({ ...other, record_key: "'m1'" })],
    ['deleting a member who has requests', 'FOREIGNKEY', 'DELETE FROM members'],
    [
      'a second booking of a slot',
      'UNIQUE',
      request({ id: 9, record_key: "'b9'", authorization_number: "'A9'" }),
    ],
    [
      'a second booking with the same authorization number',
      'UNIQUE',
      request({ id: 9, record_key: "'b9'", starts_at: 5000, ends_at: 6000 }),
    ],
    ['a booking of an unknown member', 'FOREIGNKEY', 'UPDATE booking_requests SET member_id = 99'],
    ['a booking with an unknown provider', 'FOREIGNKEY', 'UPDATE booking_requests SET provider_id = 99'],
    ['a booking without a provider', 'CHECK', 'UPDATE booking_requests SET provider_id = NULL'],
    [
      'a booking without an authorization number',
      'CHECK',
      'UPDATE booking_requests SET authorization_number = NULL',
    ],
    ['a booking without an end', 'CHECK', 'UPDATE booking_requests SET ends_at = NULL'],
    ['a booking without a local offset', 'CHECK', 'UPDATE booking_requests SET local_offset_minutes = NULL'],
    ['a booking that ends when it starts', 'CHECK', 'UPDATE booking_requests SET ends_at = starts_at'],
    ['a booking in an unknown state', 'CHECK', "UPDATE booking_requests SET state = 'lost'"],
    ['an unassigned booking', 'CHECK', "UPDATE booking_requests SET state = 'unassigned'"],
    [
      'an accepted booking without an acceptance time',
      'CHECK',
      "UPDATE booking_requests SET state = 'accepted'",
    ],
    ['a declined booking without a decline time', 'CHECK', "UPDATE booking_requests SET state = 'declined'"],
    ['a pending booking with a decline time', 'CHECK', 'UPDATE booking_requests SET declined_at = 5'],
    ['a retry receipt without a key hash', 'CHECK', "UPDATE replays SET key_hash = x''"],
    ['a retry receipt whose body hash is too short', 'CHECK', "UPDATE replays SET body_hash = x'02'"],
    ['a retry receipt without content', 'NOTNULL', 'UPDATE replays SET sealed_receipt = NULL'],
    ['a retry receipt for an unknown request', 'FOREIGNKEY', 'UPDATE replays SET request_id = 99'],
    ['a retry receipt of an unknown partner', 'FOREIGNKEY', 'UPDATE replays SET partner_id = 99'],
    ['a second retry receipt for a request', 'PRIMARYKEY', replay({ key_hash: hash('09') })],
    ['a second retry receipt for a key', 'UNIQUE', replay({ request_id: 9 })],
    ['a change of an unknown noun', 'CHECK', "INSERT INTO changes (noun, record_id) VALUES ('weather', 1)"],
  ]

  test.each(rows)('the database rejects %s', (_, code, statement) => {
    let outcome = 'nothing'
    try {
      database.transaction(() => {
        database.run(statement)
        outcome = 'taken'
        throw new Error('undone')
      })()
    } catch (error) {
      if (outcome === 'nothing') outcome = (error as { code: string }).code
    }
    expect(outcome).toBe(`SQLITE_CONSTRAINT_${code}`)
  })

  test('the database accepts valid rows', () => {
    const good = [
      key({ id: 9, record_key: "'r9'", kid: "'k9'", partner_id: 2 }),
      member(other),
      request({ id: 9, record_key: "'b9'", authorization_number: "'A9'", starts_at: 5000, ends_at: 6000 }),
      "INSERT INTO organizations VALUES (9, 'N', 1, 0)",
      "INSERT INTO regions VALUES (9, 'CA', 'AB', 'N', 'L', 1)",
      "UPDATE booking_requests SET state = 'declined', declined_at = 5",
      // A declined request frees its slot.
      request({ id: 10, record_key: "'b10'", authorization_number: "'A10'" }),
      // Two partners may use the same idempotency key.
      replay({ request_id: 9, partner_id: 2 }),
    ]
    database.transaction(() => {
      for (const statement of good) database.run(statement)
    })()
    expect(database.query('SELECT id FROM booking_requests ORDER BY id').values()).toEqual([[1], [9], [10]])
  })
})

function byName<Column extends { name: string }>(columns: Column[]): Column[] {
  return columns.sort((a, b) => (a.name < b.name ? -1 : 1))
}

type Different = Record<string, string | number>

function insert(table: string, row: Different): string {
  return `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.values(row)})`
}

function partner(different: Different): string {
  const row = { id: 1, name: "'Partner'", organization_id: 1, active: 1, created_at: 0 }
  return insert('partners', { ...row, ...different })
}

function key(different: Different): string {
  const row = {
    id: 1,
    record_key: "'r1'",
    kid: "'k1'",
    partner_id: 1,
    sealed_secret: "x'00'",
    issued_at: 10,
    starts_at: 10,
  }
  return insert('partner_keys', { ...row, ...different })
}

function hash(byte: string): string {
  return `x'${byte.repeat(32)}'`
}

function member(different: Different): string {
  return insert('members', {
    id: 1,
    record_key: "'m1'",
    partner_id: 1,
    external_user_id_hash: hash('01'),
    email_hash: hash('02'),
    active: 1,
    sealed_external_user_id: "x'00'",
    sealed_profile: "x'00'",
    created_at: 0,
    updated_at: 0,
    ...different,
  })
}

function request(different: Different): string {
  return insert('booking_requests', {
    id: 1,
    record_key: "'b1'",
    partner_id: 1,
    member_id: 1,
    is_intake: 0,
    state: "'pending'",
    provider_id: 1,
    authorization_number: "'A1'",
    starts_at: 1000,
    ends_at: 2000,
    local_offset_minutes: 0,
    sealed_screening_answers: "x'00'",
    submitted_at: 0,
    ...different,
  })
}

function replay(different: Different): string {
  return insert('replays', {
    request_id: 1,
    partner_id: 1,
    key_hash: hash('03'),
    body_hash: hash('04'),
    sealed_receipt: "x'00'",
    submitted_at: 0,
    ...different,
  })
}

function fill(): void {
  const provider = (id: number, ref: string) =>
    insert('providers', {
      id,
      ref: `'${ref}'`,
      first_name: "'F'",
      last_name: "'L'",
      time_zone: "'America/Toronto'",
      languages_spoken: "'[]'",
      modalities: "'[]'",
      working_hours: "'[]'",
      overrides: "'[]'",
      time_off: "'[]'",
      minimum_notice_minutes: 0,
      active: 1,
    })
  for (const statement of [
    "INSERT INTO organizations VALUES (1, 'Org', 1, 0)",
    partner({}),
    partner({ id: 2, name: "'Other'", organization_id: 'NULL' }),
    key({}),
    "INSERT INTO regions VALUES (1, 'CA', 'ON', 'Ontario', 'Province', 1)",
    provider(1, 'one'),
    provider(2, 'two'),
    "INSERT INTO licenses VALUES (1, 1, 1, '2020-01-01', NULL)",
    'INSERT INTO in_person_regions VALUES (1, 1)',
    member({}),
    request({}),
    replay({}),
  ]) {
    database.run(statement)
  }
}
