import { expect, test } from 'bun:test'
import { inspect } from 'node:util'
import { SQL } from 'bun'
import { DrizzleQueryError } from 'drizzle-orm'
import {
  DatabaseFailure,
  isBroken,
  type Meaning,
  openingRefusal,
  toFailure,
  toRefusal,
  unwrapped,
} from '../../../db/postgres/client/failure'
import { Refusal } from '../../../src/domain/errors'

/** An error as the driver throws it, with personal data in its fields. */
function thrown(errno: string | undefined, code = 'ERR_POSTGRES_SERVER_ERROR'): Error {
  const values = {
    detail: 'Key (email)=(robin@example.com) exists',
    where: 'robin',
    hint: 'robin',
    constraint: 'c_email',
  }
  return new SQL.PostgresError('robin@example.com is there', { code, errno, ...values })
}

const name = 'postgres://anteroom@db1,db2/rooms?sslmode=verify-full&sslrootcert=/etc/ca.pem'
const place = 'postgres://anteroom@db1,db2/rooms'

const codes: readonly (readonly [code: string, meaning: Meaning, ends: boolean, reported: RegExp])[] = [
  ['40001', 'retry', false, /^storage_busy: the database is busy; try again$/],
  ['40P01', 'retry', false, /busy/],
  ['55P03', 'retry', false, /busy/],
  ['57014', 'retry', false, /busy/],
  ['25P02', 'retry', false, /busy/],
  ['25P03', 'retry', true, /busy/],
  ['25P04', 'retry', true, /busy/],
  ['25006', 'readOnly', false, /^storage_busy: .*: the server is a read-only standby; name the primary too/],
  ['23505', 'constraint', false, /^database_unusable: .*23505/],
  ['23P01', 'constraint', false, /^database_unusable/],
  ['53300', 'full', false, /^storage_busy: .*: the server is out of connections, memory or disk space$/],
  ['53100', 'full', false, /^storage_busy/],
  ['28P01', 'denied', false, /^database_unusable: .*: the server rejects the password/],
  ['28000', 'denied', false, /pg_hba\.conf/],
  ['28xxx', 'denied', false, /is not trusted \(28xxx\)$/],
  ['3D000', 'denied', false, /createdb/],
  ['42501', 'denied', false, /GRANT CREATE ON SCHEMA public/],
  ['0A000', 'refused', false, /contrib package$/],
  ['58030', 'damaged', false, /^database_unusable/],
  ['XX001', 'damaged', false, /^database_unusable/],
  ['XX000', 'refused', false, /^database_unusable/],
  ['42601', 'refused', false, /^database_unusable/],
  ['57P01', 'lost', true, /busy/],
  ['57P02', 'lost', true, /busy/],
  ['57P03', 'lost', true, /busy/],
  ['08006', 'lost', true, /busy/],
  ['NO_PASSWORD', 'denied', false, /PGPASSWORD/],
  ['ERR_POSTGRES_CONNECTION_CLOSED', 'lost', true, /busy/],
  ['ERR_POSTGRES_CONNECTION_REFUSED', 'lost', true, /busy/],
  ['ERR_POSTGRES_TLS_NOT_AVAILABLE', 'denied', false, /the server does not support TLS/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'denied', false, /for another host name/],
  ['CERT_HAS_EXPIRED', 'denied', false, /has expired$/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'denied', false, /sslrootcert=FILE$/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'denied', false, /sslrootcert=FILE$/],
  ['ERR_INVALID_ARG_TYPE', 'refused', false, /^database_unusable/],
]

test('postgres: each error code has a meaning, and a message that says what to do', () => {
  const found = codes.map(([code]) => {
    const isState = /^.{5}$/.test(code)
    const failure = toFailure(isState ? thrown(code) : thrown(undefined, code), 'lost')
    const { kind, message } = openingRefusal(failure, name) as Refusal
    return [code, failure.meaning, isBroken(failure), `${kind}: ${message}`, failure.code] as const
  })
  for (const [at, [code, meaning, ends, reported]] of codes.entries())
    expect(found[at]).toEqual([code, meaning, ends, expect.stringMatching(reported), code])
})

test('postgres: an unreachable server is reported as busy, and an outdated pooler is reported as unusable', () => {
  const { kind, message } = openingRefusal(new DatabaseFailure('unreachable', '57P03'), name) as Refusal
  expect([kind, message]).toEqual([
    'storage_busy',
    `${place}: no server answers; check that it runs, and check its host name and port`,
  ])
  expect(openingRefusal(new DatabaseFailure('unreachable', '08P01'), name)).toMatchObject({
    kind: 'database_unusable',
    message: `${place}: the server does not follow PostgreSQL's protocol; for PgBouncer, use 1.21 or newer with max_prepared_statements above 0`,
  })
  const error = new Refusal('field_invalid', 'no')
  expect(openingRefusal(error, name)).toBe(error)
})

test('postgres: errors contain no text of the server, no statement and no parameter', () => {
  const failure = toFailure(thrown('23505'), 'lost')
  expect<object>({ ...failure }).toEqual({
    name: 'DatabaseFailure',
    meaning: 'constraint',
    code: '23505',
    constraint: 'c_email',
  })
  const wrapped = new DrizzleQueryError('select $1', ['robin@example.com'], failure)
  expect(unwrapped(wrapped)).toBe(failure)
  for (const error of [
    failure,
    toRefusal(failure),
    toRefusal(wrapped),
    toRefusal(toFailure(thrown('53100'), 'lost')),
  ]) {
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/robin|select|Key \(/)
  }
  expect(failure.message).toBe('the change violates a constraint of the database (23505)')
})

test('postgres: a temporary failure becomes storage_busy, and a lasting failure becomes storage_failed', () => {
  const refusal = (failure: DatabaseFailure) => {
    const { kind, message, retryAfterSeconds, cause } = toRefusal(failure) as Refusal
    return [kind, message, retryAfterSeconds, cause === failure]
  }
  const busy = ['storage_busy', 'the service is busy; try again', 1, true]
  for (const meaning of ['lost', 'retry', 'busy', 'unreachable', 'readOnly'] as const) {
    expect(refusal(new DatabaseFailure(meaning))).toEqual(busy)
  }
  expect(refusal(new DatabaseFailure('full', '53300'))).toEqual(busy)
  const failed = (message: string) => ['storage_failed', message, null, true]
  expect(refusal(new DatabaseFailure('full', '53100'))).toEqual(
    failed('the database server is out of connections, memory or disk space'),
  )
  expect(refusal(new DatabaseFailure('denied', '28P01'))).toEqual(
    failed('the database server rejects this program, or is not trusted'),
  )
  expect(refusal(new DatabaseFailure('damaged', 'XX001'))).toEqual(
    failed('the disk of the database server fails, or its data is damaged'),
  )
  const file = new Refusal('settings_invalid', 'the file of sslrootcert cannot be read')
  expect(toRefusal(file)).toMatchObject({ kind: 'storage_failed', message: file.message, cause: file })
  const defect = new DatabaseFailure('refused', '42601')
  expect(toRefusal(defect)).toBe(defect)
  const other = new Error('other')
  expect(toRefusal(other)).toBe(other)
})
