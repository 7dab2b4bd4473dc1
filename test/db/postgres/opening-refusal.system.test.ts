import { expect, test } from 'bun:test'
import { DatabaseFailure, type Meaning } from '../../../db/postgres/client/failure'
import { openingRefusal } from '../../../db/postgres/opening-refusal'
import { Refusal } from '../../../src/domain/errors'

const name = 'postgres://anteroom@db1,db2/rooms?sslmode=verify-full&sslrootcert=/etc/ca.pem'

function told(meaning: Meaning, code: string | null = null): string {
  const refusal = openingRefusal(new DatabaseFailure(meaning, code), name) as Refusal
  return `${refusal.kind}: ${refusal.message}`
}

const place = 'postgres://anteroom@db1,db2/rooms'

test.each([
  ['unreachable', 'no server answers there: is it running, and are its name and its port right?'],
  ['readOnly', 'it is a standby, which cannot be written: name the primary too, as host1,host2'],
  ['full', 'the server has no room'],
] as const)('a server that is %s may be had at another try', (meaning, words) => {
  expect(told(meaning, '57P03')).toBe(`storage_busy: ${place}: ${words}`)
})

test.each(['retry', 'busy', 'lost'] as const)('a database that says %s is busy', (meaning) => {
  expect(told(meaning)).toBe('storage_busy: the database is busy; try again')
})

test('PgBouncer, which does not take what PostgreSQL takes, is told how', () => {
  expect(told('unreachable', '08P01')).toBe(
    `database_unusable: ${place}: it does not speak as PostgreSQL does; for PgBouncer in transaction mode the address says prepare=false`,
  )
})

test.each([
  [
    'NO_PASSWORD',
    'the server asks for a password, and none was found: neither the address nor PGPASSWORD has one, and the password file (PGPASSFILE, else ~/.pgpass) is not there, or has no line for this host, port, database and user',
  ],
  ['28P01', 'the server does not take the password, or knows no such role'],
  [
    '28000',
    'the server does not let this role in from here (its pg_hba.conf), or not as this user of the machine (peer), or knows no such role',
  ],
  ['3D000', 'the server has no such database: have it made there (createdb), then give the command again'],
  ['42501', 'the role has no right to the tables: use the one that made them, or have them granted to it'],
  ['ERR_POSTGRES_TLS_NOT_AVAILABLE', 'the server speaks no TLS, which sslmode=verify-full asks for'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', "the server's certificate is for another name than the address has"],
  ['CERT_HAS_EXPIRED', "the server's certificate has expired"],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    "the server's certificate is signed by nobody who is trusted: name its authority by sslrootcert=FILE",
  ],
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    "the server's certificate is signed by nobody who is trusted: name its authority by sslrootcert=FILE",
  ],
  ['28xxx', 'the database server does not let this program in, or cannot be trusted (28xxx)'],
])('%s is for an operator to mend', (code, words) => {
  expect(told('denied', code)).toBe(`database_unusable: ${place}: ${words}`)
})

test('what is no failure of the database is what it was', () => {
  const error = new Refusal('field_invalid', 'no')
  expect(openingRefusal(error, name)).toBe(error)
})
