import { expect, test } from 'bun:test'
import { inspect } from 'node:util'
import { SQL } from 'bun'
import { DrizzleQueryError } from 'drizzle-orm'
import {
  DatabaseFailure,
  isBroken,
  type Meaning,
  meaningOf,
  toFailure,
  toRefusal,
} from '../../../db/postgres/client/failure'
import { Refusal } from '../../../src/domain/errors'

/** As the driver throws it. */
function thrown(errno: string | undefined, code = 'ERR_POSTGRES_SERVER_ERROR'): Error {
  const values = {
    detail: 'Key (email)=(robin@example.com) exists',
    where: 'robin',
    hint: 'robin',
    constraint: 'c_email',
  }
  return new SQL.PostgresError('robin@example.com is there', { code, errno, ...values })
}

test.each<[string, Meaning, boolean]>([
  ['40001', 'retry', false],
  ['40P01', 'retry', false],
  ['55P03', 'retry', false],
  ['57014', 'retry', false],
  ['25P02', 'retry', false],
  ['25P03', 'retry', true],
  ['25P04', 'retry', true],
  ['25006', 'readOnly', false],
  ['23505', 'constraint', false],
  ['23P01', 'constraint', false],
  ['53300', 'full', false],
  ['53100', 'full', false],
  ['28P01', 'denied', false],
  ['3D000', 'denied', false],
  ['42501', 'denied', false],
  ['58030', 'damaged', false],
  ['XX001', 'damaged', false],
  ['XX000', 'refused', false],
  ['42601', 'refused', false],
  ['57P01', 'lost', true],
  ['57P02', 'lost', true],
  ['57P03', 'lost', true],
  ['08006', 'lost', true],
])('SQLSTATE %s means %s', (code, meaning, ends) => {
  const failure = toFailure(thrown(code), 'lost')
  expect([failure.meaning, failure.code, isBroken(failure)]).toEqual([meaning, code, ends])
})

test.each<[string, Meaning, boolean]>([
  ['ERR_POSTGRES_CONNECTION_CLOSED', 'lost', true],
  ['ERR_POSTGRES_CONNECTION_REFUSED', 'lost', true],
  ['ERR_POSTGRES_TLS_NOT_AVAILABLE', 'denied', false],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'denied', false],
  ['CERT_HAS_EXPIRED', 'denied', false],
  ['ERR_INVALID_ARG_TYPE', 'refused', false],
])("the driver's %s means %s", (code, meaning, ends) => {
  const failure = toFailure(thrown(undefined, code), 'lost')
  expect([failure.meaning, failure.code, isBroken(failure)]).toEqual([meaning, code, ends])
})

test("nothing of the server's words, of the statement and of its parameters comes out", () => {
  const failure = toFailure(thrown('23505'), 'lost')
  expect<object>({ ...failure }).toEqual({
    name: 'DatabaseFailure',
    meaning: 'constraint',
    code: '23505',
    constraint: 'c_email',
  })
  const wrapped = new DrizzleQueryError('select $1', ['robin@example.com'], failure)
  expect(meaningOf(wrapped)).toBe('constraint')
  for (const error of [
    failure,
    toRefusal(failure),
    toRefusal(wrapped),
    toRefusal(toFailure(thrown('53100'), 'lost')),
  ]) {
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/robin|select|Key \(/)
  }
  expect(failure.message).toBe('a constraint of the database forbids it (23505)')
})

test('what passes is busy, what an operator has to mend has failed, and a defect stays one', () => {
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
  expect(refusal(new DatabaseFailure('full', '53100'))).toEqual(failed('the database server has no room'))
  expect(refusal(new DatabaseFailure('denied', '28P01'))).toEqual(
    failed('the database server does not let this program in, or cannot be trusted'),
  )
  expect(refusal(new DatabaseFailure('damaged', 'XX001'))).toEqual(
    failed('the disk of the database server, or its data, fails'),
  )
  const file = new Refusal('settings_invalid', 'the file of sslrootcert cannot be read')
  expect(toRefusal(file)).toMatchObject({ kind: 'storage_failed', message: file.message, cause: file })
  const defect = new DatabaseFailure('refused', '42601')
  expect(toRefusal(defect)).toBe(defect)
  const other = new Error('other')
  expect([toRefusal(other), meaningOf(other)]).toEqual([other, null])
})
