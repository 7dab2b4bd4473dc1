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
])('%s is an address, and is shown as one that says the same', (text, expected) => {
  expect(isDatabaseAddress(text)).toBe(true)
  const address = { ...plain, ...expected }
  expect(parseDatabaseAddress(text)).toEqual(address)
  expect(parseDatabaseAddress(shownAddress(text))).toEqual({ ...address, password: null })
})

const form = 'must be as postgres://user@host:5432/name?sslmode=verify-full'
const far =
  'sslmode: must be verify-full for a host that is not this machine, so that nobody between reads along'
const mode =
  'sslmode: must be verify-full, or disable on this machine; any other lets somebody between read along'
const host = 'has a host that is neither a name nor an address; IPv6 stands in brackets'

const spaces = 'must have no space and no end of a line; a space in a name or a password is written as %20'

test.each([
  ['', form],
  ['postgres:rooms', form],
  ['postgres://', `names no user: ${form}`],
  ['postgres://anteroom@localhost/rooms ', spaces],
  ['postgres://anteroom@localhost/rooms\n', spaces],
  ['postgres://anteroom@localhost/rooms\u0007', spaces],
  [
    'postgres://anteroom@localhost/rooms/',
    `${form}; @, :, / and ? in a user, a password or a name are written as %40, %3A, %2F and %3F`,
  ],
  ['postgres://localhost/rooms', `names no user: ${form}`],
  ['postgres://anteroom@localhost', `names no database: ${form}`],
  ['postgres://anteroom@localhost/', `names no database: ${form}`],
  ['postgres://anteroom@localhost/?sslmode=disable', `names no database: ${form}`],
  ['postgres://anteroom@/rooms', `names no host: ${form}`],
  ['postgres://anteroom@/rooms?host=db.example', 'host: must be the folder of a socket, as /run/postgresql'],
  [
    'postgres://anteroom@localhost/rooms?host=/run',
    'host and port as parameters: only for a socket, where no host stands before the name',
  ],
  [
    'postgres://anteroom@localhost/rooms#now',
    'must have no fragment; # in a name or a password is written as %23',
  ],
  [
    'postgres://anteroom:p@ss@localhost/rooms',
    `${form}; @, :, / and ? in a user, a password or a name are written as %40, %3A, %2F and %3F`,
  ],
  ['postgres://anteroom@db.example/rooms', far],
  ['postgres://anteroom@db.example/rooms?sslmode=disable', far],
  ['postgres://anteroom@localhost,10.0.0.7/rooms', far],
  ['postgres://anteroom@127.0.0.1.example/rooms', far],
  ['postgres://anteroom@localhost/rooms?sslmode=require', mode],
  ['postgres://anteroom@db.example/rooms?sslmode=prefer', mode],
  ['postgres://anteroom@db.example/rooms?sslmode=verify-ca', mode],
  ['postgres://anteroom@localhost/rooms?sslmode=', 'gives sslmode without a value'],
  ['postgres://anteroom@localhost/rooms?sslmode=disable&sslmode=disable', 'gives sslmode twice'],
  [
    'postgres://anteroom@localhost/rooms?prepare=false',
    'has a parameter that is not known; known are sslmode, sslrootcert, host, port',
  ],
  [
    'postgres://anteroom@localhost/rooms?options=-csearch_path%3Dx',
    'has a parameter that is not known; known are sslmode, sslrootcert, host, port',
  ],
  ['postgres://anteroom@localhost:0/rooms', 'has a port that is none: 1 to 65535'],
  ['postgres://anteroom@localhost:65536/rooms', 'has a port that is none: 1 to 65535'],
  ['postgres://anteroom@localhost:/rooms', 'has a port that is none: 1 to 65535'],
  ['postgres://anteroom@localhost,/rooms', host],
  ['postgres://anteroom@::1/rooms', host],
  ['postgres://anteroom@[::1%25eth0]/rooms', host],
  ['postgres://anteroom@[localhost]/rooms', host],
  ['postgres://anteroom@local!host/rooms', host],
  ['postgres://anteroom@local host/rooms', spaces],
  [
    'postgres://anteroom:100%@localhost/rooms',
    'has a % that is not followed by two digits of a byte in UTF-8; % itself is written as %25',
  ],
  ['postgres://anteroom@localhost/ro%00oms', 'must have no %00'],
])('%p is no address: %s', (text, fault) => {
  expect(parseDatabaseAddress(text)).toBe(fault)
  expect(shownAddress(text)).toBe('postgres://(an address that cannot be read)')
})

test.each([
  'rooms.db',
  '/var/lib/anteroom/rooms.db',
  'postgres.db',
  './postgres://x',
  'mysql://anteroom@localhost/rooms',
])('%s is not the address of a server', (text) => {
  expect(isDatabaseAddress(text)).toBe(false)
})

test('an address is shown without its password', () => {
  expect(shownAddress('postgresql://an%40teroom:s3cret@localhost:5432,[::1]:7/rooms?sslmode=disable')).toBe(
    'postgres://an%40teroom@localhost,[::1]:7/rooms',
  )
  expect(shownAddress('postgres://anteroom:s3cret@/rooms?host=/run/postgresql&port=5433')).toBe(
    'postgres://anteroom@/rooms?host=/run/postgresql&port=5433',
  )
})
