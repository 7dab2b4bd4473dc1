import { expect, test } from 'bun:test'
import {
  type DatabaseAddress,
  isDatabaseAddress,
  parseDatabaseAddress,
  shownAddress,
} from '../../src/domain/addresses'

const plain: DatabaseAddress = {
  hosts: [{ host: 'localhost', port: 5432 }],
  user: 'anteroom',
  database: 'rooms',
  password: null,
  sslMode: 'disable',
  sslRootCert: null,
}

test.each<[string, Partial<DatabaseAddress>]>([
  ['postgres://anteroom@localhost/rooms', {}],
  ['postgresql://anteroom@localhost:5432/rooms?sslmode=disable', {}],
  ['postgres://anteroom@127.9.9.9:6543/rooms', { hosts: [{ host: '127.9.9.9', port: 6543 }] }],
  ['postgres://anteroom@[::1]/rooms', { hosts: [{ host: '::1', port: 5432 }] }],
  ['postgres://anteroom@[::1]:7/rooms', { hosts: [{ host: '::1', port: 7 }] }],
  ['postgres://anteroom:@localhost/rooms', { password: '' }],
  [
    'postgres://an%40teroom:p%3A%2F%3F%23%25%C3%A9@localhost/r%20ooms',
    { user: 'an@teroom', password: 'p:/?#%é', database: 'r ooms' },
  ],
  [
    'postgres://anteroom@db-1.example,db-2.example:5433,[2001:db8::7]:1/rooms?sslmode=verify-full&sslrootcert=/etc/ca%2Bours.pem',
    {
      hosts: [
        { host: 'db-1.example', port: 5432 },
        { host: 'db-2.example', port: 5433 },
        { host: '2001:db8::7', port: 1 },
      ],
      sslMode: 'verify-full',
      sslRootCert: '/etc/ca+ours.pem',
    },
  ],
  ['postgres://anteroom@/rooms?host=/run/postgresql', { hosts: [{ host: '/run/postgresql', port: 5432 }] }],
  ['postgres://anteroom@/rooms?host=%2Frun%2Fpg&port=5433', { hosts: [{ host: '/run/pg', port: 5433 }] }],
])(
  'domain: %s is a database address, and its displayed form is parsed to the same address',
  (text, expected) => {
    expect(isDatabaseAddress(text)).toBe(true)
    const address = { ...plain, ...expected }
    expect(parseDatabaseAddress(text)).toEqual(address)
    expect(parseDatabaseAddress(shownAddress(text))).toEqual({ ...address, password: null })
  },
)

const form = 'must look like postgres://user@host:5432/name?sslmode=verify-full'
const far =
  'sslmode: must be verify-full for a host on another machine, because other modes can be intercepted'
const mode =
  'sslmode: must be verify-full, or disable for a host on this machine, because other modes can be intercepted'
const host = 'has an invalid host; use a name, an IPv4 address or an IPv6 address in brackets'

const spaces = 'must not contain spaces or line breaks; write a space in a name or password as %20'

test.each([
  ['', form],
  ['postgres:rooms', form],
  ['postgres://', `has no user; the address ${form}`],
  ['postgres://anteroom@localhost/rooms ', spaces],
  ['postgres://anteroom@localhost/rooms\n', spaces],
  ['postgres://anteroom@localhost/rooms\u0007', spaces],
  [
    'postgres://anteroom@localhost/rooms/',
    `${form}; in a user, password or name, write @ as %40, : as %3A, / as %2F and ? as %3F`,
  ],
  ['postgres://localhost/rooms', `has no user; the address ${form}`],
  ['postgres://anteroom@localhost', `has no database; the address ${form}`],
  ['postgres://anteroom@localhost/', `has no database; the address ${form}`],
  ['postgres://anteroom@localhost/?sslmode=disable', `has no database; the address ${form}`],
  ['postgres://anteroom@/rooms', `has no host; the address ${form}`],
  [
    'postgres://anteroom@/rooms?host=db.example',
    'host: must be the folder of a socket, such as /run/postgresql',
  ],
  [
    'postgres://anteroom@localhost/rooms?host=/run',
    'has a host before the name, so host and port must not be parameters; use parameters for sockets only',
  ],
  [
    'postgres://anteroom@localhost/rooms#now',
    'must not contain a fragment; write # in a name or password as %23',
  ],
  [
    'postgres://anteroom:p@ss@localhost/rooms',
    `${form}; in a user, password or name, write @ as %40, : as %3A, / as %2F and ? as %3F`,
  ],
  ['postgres://anteroom@db.example/rooms', far],
  ['postgres://anteroom@db.example/rooms?sslmode=disable', far],
  ['postgres://anteroom@localhost,10.0.0.7/rooms', far],
  ['postgres://anteroom@127.0.0.1.example/rooms', far],
  ['postgres://anteroom@localhost/rooms?sslmode=require', mode],
  ['postgres://anteroom@db.example/rooms?sslmode=prefer', mode],
  ['postgres://anteroom@db.example/rooms?sslmode=verify-ca', mode],
  ['postgres://anteroom@localhost/rooms?sslmode=', 'has sslmode without a value'],
  ['postgres://anteroom@localhost/rooms?sslmode=disable&sslmode=disable', 'has sslmode twice'],
  [
    'postgres://anteroom@localhost/rooms?prepare=false',
    'has an unknown parameter; use only sslmode, sslrootcert, host, port',
  ],
  [
    'postgres://anteroom@localhost/rooms?options=-csearch_path%3Dx',
    'has an unknown parameter; use only sslmode, sslrootcert, host, port',
  ],
  ['postgres://anteroom@localhost:0/rooms', 'has an invalid port; use 1 to 65535'],
  ['postgres://anteroom@localhost:65536/rooms', 'has an invalid port; use 1 to 65535'],
  ['postgres://anteroom@localhost:/rooms', 'has an invalid port; use 1 to 65535'],
  ['postgres://anteroom@localhost,/rooms', host],
  ['postgres://anteroom@::1/rooms', host],
  ['postgres://anteroom@[::1%25eth0]/rooms', host],
  ['postgres://anteroom@[localhost]/rooms', host],
  ['postgres://anteroom@local!host/rooms', host],
  ['postgres://anteroom@local host/rooms', spaces],
  ['postgres://anteroom:100%@localhost/rooms', 'has invalid percent-encoding; write % itself as %25'],
  ['postgres://anteroom@localhost/ro%00oms', 'must not contain %00'],
])('domain: %p is not a valid database address: %s', (text, fault) => {
  expect(parseDatabaseAddress(text)).toBe(fault)
  expect(shownAddress(text)).toBe('postgres://(invalid address)')
})

test.each([
  'rooms.db',
  '/var/lib/anteroom/rooms.db',
  'postgres.db',
  './postgres://x',
  'mysql://anteroom@localhost/rooms',
])('domain: %s is not a PostgreSQL address', (text) => {
  expect(isDatabaseAddress(text)).toBe(false)
})

test('domain: a database address is displayed without its password', () => {
  expect(shownAddress('postgresql://an%40teroom:s3cret@localhost:5432,[::1]:7/rooms?sslmode=disable')).toBe(
    'postgres://an%40teroom@localhost,[::1]:7/rooms',
  )
  expect(shownAddress('postgres://anteroom:s3cret@/rooms?host=/run/postgresql&port=5433')).toBe(
    'postgres://anteroom@/rooms?host=/run/postgresql&port=5433',
  )
})
