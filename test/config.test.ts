import { afterAll, describe, expect, test } from 'bun:test'
import { truncateSync, writeFileSync } from 'node:fs'
import { type Flags, readCopyConfig, readServerConfig, readStorageConfig } from '../src/config'
import { Refusal } from '../src/domain/errors'
import { makeFifo } from './support/fifo'
import { Folder } from './support/folder'

const keyOf = (flags: Flags, environment: Record<string, string> = {}) =>
  readStorageConfig({ database: 'a.sqlite', ...flags }, environment).masterKey

test.each<[string, Flags, Record<string, string>, ReturnType<typeof keyOf>]>([
  ['the file next to the database by default', {}, {}, { file: 'a.sqlite.key' }],
  [
    'the file of --master-key-file',
    { masterKeyFile: 'k' },
    { ANTEROOM_MASTER_KEY_FILE: 'other' },
    { file: 'k' },
  ],
  ['the environment', {}, { ANTEROOM_MASTER_KEY: 'BwcH' }, { base64: 'BwcH' }],
  ['a file descriptor', {}, { ANTEROOM_MASTER_KEY_FD: '3' }, { descriptor: 3 }],
  ['stdin', { masterKeyFd: '0' }, {}, { descriptor: 0 }],
  [
    "systemd's credentials",
    {},
    { CREDENTIALS_DIRECTORY: '/run/c' },
    { credential: '/run/c/anteroom-master-key' },
  ],
  [
    'the named file, even if systemd passes a credential',
    {},
    { CREDENTIALS_DIRECTORY: '/run/c', ANTEROOM_MASTER_KEY_FILE: 'k' },
    { file: 'k' },
  ],
])('config: the master key is taken from %s', (_, flags, environment, source) => {
  expect(keyOf(flags, environment)).toEqual(source)
})

test.each<[Flags, Record<string, string>, string]>([
  [
    {},
    { ANTEROOM_MASTER_KEY: 'BwcH', ANTEROOM_MASTER_KEY_FILE: 'k' },
    'ANTEROOM_MASTER_KEY and ANTEROOM_MASTER_KEY_FILE: give the master key in only one way',
  ],
  [
    { masterKeyFd: '3' },
    { ANTEROOM_MASTER_KEY_FILE: 'k' },
    'ANTEROOM_MASTER_KEY_FILE and --master-key-fd: give the master key in only one way',
  ],
  [
    { masterKeyFd: '3', masterKeyFile: 'k' },
    { ANTEROOM_MASTER_KEY: 'BwcH' },
    'ANTEROOM_MASTER_KEY and --master-key-file and --master-key-fd: give the master key in only one way',
  ],
  [{ masterKeyFd: '2' }, {}, '--master-key-fd: must be 0 or from 3 to 9999'],
  [{}, { ANTEROOM_MASTER_KEY_FD: '03' }, 'ANTEROOM_MASTER_KEY_FD: must be 0 or from 3 to 9999'],
])('config: master key settings %p and %p are rejected', (flags, environment, message) => {
  expect(() => keyOf(flags, environment)).toThrow(message)
})

const needed = { database: 'a.sqlite', baseUrl: 'https://x.example' }

const capsOf = (flags: object, environment: Record<string, string> = {}) => {
  const { openRequests, emailConflicts } = readServerConfig({ ...needed, ...flags }, environment).limits
  return { openRequests, emailConflicts }
}

describe('config: the number of nodes', () => {
  const onServer = { ...needed, database: 'postgres://anteroom@127.0.0.1/anteroom', masterKeyFile: 'k' }
  const nodesOf = (flags: Flags) => readServerConfig(flags, {}).limits.nodes

  test('the number of nodes is 1 by default and at most 64', () => {
    expect([nodesOf(needed), nodesOf(onServer)]).toEqual([1, 1])
    expect([nodesOf({ ...onServer, nodes: '2' }), nodesOf({ ...onServer, nodes: '64' })]).toEqual([2, 64])
    for (const nodes of ['0', '65', '02', '1.5', 'off', ''])
      expect(() => nodesOf({ ...onServer, nodes })).toThrow('--nodes: must be a whole number from 1 to 64')
  })

  test('the number of nodes must be 1 if the database is a file', () => {
    expect(nodesOf({ ...needed, nodes: '1' })).toBe(1)
    expect(() => nodesOf({ ...needed, nodes: '2' })).toThrow(
      'ANTEROOM_NODES or --nodes: must be 1, because only one server can use a database file',
    )
    expect(readStorageConfig(needed, { ANTEROOM_NODES: '2' }).database).toBe('a.sqlite')
  })
})

describe('config: the limits on open requests and email conflicts', () => {
  test('the limits are 10 open requests and 20 email conflicts an hour by default', () => {
    expect(capsOf({})).toEqual({ openRequests: 10, emailConflicts: 20 })
  })

  test('the limits are taken from the flag, then from the environment, and can be switched off', () => {
    const environment = { ANTEROOM_OPEN_REQUESTS: '3', ANTEROOM_EMAIL_CONFLICTS_PER_HOUR: 'off' }
    expect(capsOf({}, environment)).toEqual({ openRequests: 3, emailConflicts: null })
    expect(capsOf({ openRequests: 'off', emailConflictsPerHour: '7' }, environment)).toEqual({
      openRequests: null,
      emailConflicts: 7,
    })
  })

  test.each(['0', '-1', '1.5', '1e3', '', 'none', 'OFF', '1000000000'])(
    'the limit %p is rejected',
    (value) => {
      const why = 'must be off or a whole number from 1'
      expect(() => capsOf({ openRequests: value }, { ANTEROOM_EMAIL_CONFLICTS_PER_HOUR: value })).toThrow(
        new Refusal('settings_invalid', `--open-requests: ${why}\nANTEROOM_EMAIL_CONFLICTS_PER_HOUR: ${why}`),
      )
    },
  )
})

describe('config: a settings file', () => {
  const folder = new Folder()
  const path = folder.file('settings')
  afterAll(() => folder[Symbol.dispose]())
  const read = (text: string, flags: Flags = {}, environment: Record<string, string> = {}) => {
    writeFileSync(path, text)
    return readServerConfig({ settings: path, ...flags }, environment)
  }

  test('flags and the environment override a settings file', () => {
    const text = `ANTEROOM_DATABASE=a.sqlite\nANTEROOM_BASE_URL="https://x.example/"\nANTEROOM_PORT=1\nANTEROOM_HOST=::1\n`
    const config = read(text, { port: '3' }, { ANTEROOM_PORT: '2', ANTEROOM_HOST: '127.0.0.2' })
    expect(config).toMatchObject({
      database: 'a.sqlite',
      masterKey: { file: 'a.sqlite.key' },
      baseUrl: 'https://x.example',
      port: 3,
      host: '127.0.0.2',
      overruled: [
        `${path} line 4: ANTEROOM_HOST: has no effect because the environment overrides it`,
        `${path} line 3: ANTEROOM_PORT: has no effect because --port overrides it`,
      ],
    })
    expect(read('ANTEROOM_PORT=3', { ...needed, port: '3' }).overruled).toEqual([])
  })

  test('a settings file can be named by the environment, and applies to every command', () => {
    writeFileSync(path, 'ANTEROOM_DATABASE=a.sqlite\nANTEROOM_MASTER_KEY_FILE=k\nANTEROOM_PORT=1')
    expect(readStorageConfig({}, { ANTEROOM_SETTINGS: path })).toMatchObject({
      database: 'a.sqlite',
      masterKey: { file: 'k' },
    })
  })

  test('each fault of a settings file is reported with its line, and without the value', () => {
    const text = [
      'ANTEROOM_PORT=secret',
      'PATH=secret',
      'ANTEROOM_MASTER_KEY=secret',
      'ANTEROOM_SETTINGS=secret',
      'ANTEROOM_HOST="secret',
      'ANTEROOM_MASTER_KEY_FILE=secret',
      'ANTEROOM_TLS_KEY=secret',
    ].join('\n')
    const faults = [
      `${path} line 5: ANTEROOM_HOST: a quotation mark is not closed, or text follows it`,
      `${path} line 2: PATH: is not a setting`,
      `${path} line 3: ANTEROOM_MASTER_KEY: is not read from a settings file; use ANTEROOM_MASTER_KEY_FILE`,
      `${path} line 4: ANTEROOM_SETTINGS: cannot be set in a settings file`,
      `${path} line 1: ANTEROOM_PORT: must be a port from 0 to 65535`,
      `${path} line 6: ANTEROOM_MASTER_KEY_FILE and --master-key-fd: give the master key in only one way`,
      'ANTEROOM_TLS_CERTIFICATE or --tls-certificate: is missing; set both the TLS certificate and its key',
    ]
    expect(() => read(text, { ...needed, masterKeyFd: '3' })).toThrow(
      new Refusal('settings_invalid', faults.join('\n')),
    )
  })

  test('a settings file that is missing, too large or a pipe is rejected without waiting', () => {
    const [pipe, large] = [`${folder.path}/pipe`, `${folder.path}/large`]
    makeFifo(pipe)
    writeFileSync(large, '')
    truncateSync(large, 65_537)
    expect(() => readServerConfig({ ...needed, settings: pipe }, {})).toThrow(
      `the settings file ${pipe} is not a file`,
    )
    expect(() => readServerConfig({ ...needed, settings: large }, {})).toThrow(
      `the settings file ${large} is larger than 65536 bytes`,
    )
    expect(() => readServerConfig({ ...needed, settings: '/nowhere/s' }, {})).toThrow(
      'there is no settings file at /nowhere/s',
    )
    expect(() => readServerConfig({ ...needed, settings: folder.path }, {})).toThrow(
      `the settings file ${folder.path} is not a file`,
    )
  })

  test('a missing settings file is reported as the only fault', () => {
    expect(() => readServerConfig({ settings: '/nowhere/s' }, {})).toThrow(
      new Refusal('settings_invalid', 'there is no settings file at /nowhere/s'),
    )
  })
})

test.each<[Flags, Record<string, string>, ReturnType<typeof readServerConfig>['tls']]>([
  [{}, {}, null],
  [
    { tlsCertificate: 'c', tlsKey: 'k' },
    { CREDENTIALS_DIRECTORY: '/run/c' },
    { certificate: 'c', key: 'k', isCredential: false },
  ],
  [
    { tlsCertificate: 'c' },
    { CREDENTIALS_DIRECTORY: '/run/c', ANTEROOM_TLS_KEY: '/run/c/key' },
    { certificate: 'c', key: '/run/c/key', isCredential: true },
  ],
  [
    { tlsCertificate: 'c', tlsKey: '/run/credentials' },
    { CREDENTIALS_DIRECTORY: '/run/c' },
    { certificate: 'c', key: '/run/credentials', isCredential: false },
  ],
])('config: the TLS flags %p and the environment %p give the TLS settings %p', (flags, environment, tls) => {
  expect(readServerConfig({ ...needed, ...flags }, environment).tls).toEqual(tls)
})

test.each<[Flags, string]>([
  [
    { tlsCertificate: 'c' },
    'ANTEROOM_TLS_KEY or --tls-key: is missing; set both the TLS certificate and its key',
  ],
  [
    { behindProxy: '0.0.0.0/0' },
    '--behind-proxy: must be addresses or networks separated by commas, such as 10.0.0.7,2001:db8::/32; names, ports and /0 are not allowed',
  ],
])('config: the HTTPS flags %p are rejected', (flags, message) => {
  expect(() => readServerConfig({ ...needed, ...flags }, {})).toThrow(
    new Refusal('settings_invalid', message),
  )
})

test('config: only addresses within the networks of --behind-proxy are trusted proxies', () => {
  const { proxies } = readServerConfig({ ...needed, behindProxy: '10.0.0.0/8,::1' }, {})
  expect(['10.1.2.3', '::1', '11.0.0.1'].map((address) => proxies?.include(address))).toEqual([
    true,
    true,
    false,
  ])
  expect(readServerConfig(needed, {}).proxies).toBeNull()
})

const address = 'postgres://anteroom@localhost/anteroom'
const withPassword = 'postgres://anteroom:canary@localhost/anteroom'

describe('config: a database on a PostgreSQL server', () => {
  const keyed = { ANTEROOM_MASTER_KEY_FILE: 'k' }

  test.each([address, address.replace('postgres', 'postgresql')])(
    "the address %s names a database, and the login comes from libpq's environment variables",
    (database) => {
      const environment = { ...keyed, PGPASSWORD: 'p', PGPASSFILE: '/run/pgpass', HOME: '/home/olive' }
      expect(readStorageConfig({ database }, environment)).toEqual({
        database,
        login: { password: 'p', passFile: '/run/pgpass', isPassFileCredential: false },
        masterKey: { file: 'k' },
        zoneFolder: undefined,
      })
      expect(readStorageConfig({ database }, { ...keyed, HOME: '/home/olive' }).login).toEqual({
        password: null,
        passFile: '/home/olive/.pgpass',
        isPassFileCredential: false,
      })
      expect(readStorageConfig({ database }, { ...keyed, PGPASSWORD: '', PGPASSFILE: '' }).login).toEqual({
        password: null,
        passFile: null,
        isPassFileCredential: false,
      })
    },
  )

  test.each(['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'])(
    '%s does not decide which server is trusted',
    (name) => {
      const remote = 'postgres://anteroom@db1.example.org/anteroom?sslmode=verify-full'
      const withCa = (database: string, path = '/ca.pem') =>
        readStorageConfig({ database, masterKeyFile: 'k' }, { [name]: path })
      expect(() => withCa(remote)).toThrow(
        new Refusal('settings_invalid', `${name}: would decide which database server is trusted`, {
          action: 'unset it, or add sslrootcert=FILE to the address',
        }),
      )
      for (const database of [`${remote}&sslrootcert=/own.pem`, address, 'a.sqlite'])
        expect(withCa(database).database).toBe(database)
      expect(withCa(remote, '').database).toBe(remote)
    },
  )

  test('the password file may be a systemd credential', () => {
    const environment = {
      CREDENTIALS_DIRECTORY: '/run/credentials/a',
      PGPASSFILE: '/run/credentials/a/pgpass',
    }
    expect(readStorageConfig({ database: address }, environment).login).toEqual({
      password: null,
      passFile: '/run/credentials/a/pgpass',
      isPassFileCredential: true,
    })
    const other = { ...environment, PGPASSFILE: '/run/credentials/another' }
    expect(readStorageConfig({ database: address }, other).login?.isPassFileCredential).toBe(false)
  })

  test('a database on a server requires a setting for the master key', () => {
    const missing = 'ANTEROOM_MASTER_KEY_FILE or --master-key-file: is required for a database server'
    expect(() => readStorageConfig({ database: address }, {})).toThrow(missing)
    expect(() => readServerConfig({ database: address }, {})).toThrow(
      `ANTEROOM_BASE_URL or --base-url: is required\n${missing}`,
    )
    expect(keyOf({ database: address, masterKeyFd: '3' })).toEqual({ descriptor: 3 })
    expect(keyOf({ database: address }, { ANTEROOM_MASTER_KEY: 'BwcH' })).toEqual({ base64: 'BwcH' })
    expect(keyOf({ database: address }, { CREDENTIALS_DIRECTORY: '/run/c' })).toEqual({
      credential: '/run/c/anteroom-master-key',
    })
  })

  test('a database password is refused on the command line, and accepted from the environment and a settings file', () => {
    const fault =
      '--database: must not contain a password, because every process can read it; ' +
      'use PGPASSWORD, PGPASSFILE, ~/.pgpass or ANTEROOM_DATABASE'
    expect(() => readStorageConfig({ database: withPassword }, keyed)).toThrow(
      new Refusal('settings_invalid', fault),
    )
    expect(readStorageConfig({}, { ...keyed, ANTEROOM_DATABASE: withPassword }).database).toBe(withPassword)
    using folder = new Folder()
    const path = folder.file('settings')
    writeFileSync(path, `ANTEROOM_DATABASE=${withPassword}\n`)
    expect(readStorageConfig({ settings: path }, keyed).database).toBe(withPassword)
  })

  test('a server address with a fault is rejected without showing its password', () => {
    const read = () =>
      readStorageConfig({}, { ...keyed, ANTEROOM_DATABASE: `${withPassword}?sslmode=require` })
    expect(read).toThrow(/^ANTEROOM_DATABASE: sslmode: must be verify-full/)
    expect(read).not.toThrow(/canary/)
  })
})

test.each([
  'postgres',
  'postgres.sqlite',
  './postgres://x',
  './postgres:/x',
  '/srv/my host=1/a.sqlite',
  'C:\\a.sqlite',
  '~/a.sqlite',
  '../a.sqlite',
  'a host.sqlite',
])('config: the database %p is a file, and its key is next to it', (database) => {
  expect(readStorageConfig({ database }, {})).toEqual({
    database,
    masterKey: { file: `${database}.key` },
    zoneFolder: undefined,
  })
})

test.each([
  'POSTGRES://anteroom:canary@localhost/anteroom',
  ' postgres://anteroom:canary@localhost/anteroom',
  '"postgres://anteroom:canary@localhost/anteroom"',
  'postgres:/anteroom:canary@localhost/anteroom',
  'postgresql:anteroom:canary@localhost/anteroom',
  'postgres//anteroom:canary@localhost/anteroom',
  'jdbc:postgresql://localhost/anteroom?password=canary',
  'mysql://anteroom:canary@localhost/anteroom',
  'host=localhost dbname=anteroom user=anteroom password=canary',
  'user=anteroom password=canary dbname = anteroom',
])('config: the malformed server address %p is rejected without showing its password', (database) => {
  const fault = (name: string) =>
    `${name}: is not a valid address; an address must look like postgres://user@host:5432/name?sslmode=verify-full; ` +
    'for a file with this name, write ./ before it'
  expect(() => readStorageConfig({}, { ANTEROOM_DATABASE: database })).toThrow(
    new Refusal('settings_invalid', fault('ANTEROOM_DATABASE')),
  )
  expect(() => readCopyConfig({ from: 'a.sqlite', to: database }, {})).toThrow(
    new Refusal('settings_invalid', fault('--to')),
  )
})
