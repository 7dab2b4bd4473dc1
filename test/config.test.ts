import { afterAll, describe, expect, test } from 'bun:test'
import { truncateSync, writeFileSync } from 'node:fs'
import { type Flags, readServerConfig, readStorageConfig } from '../src/config'
import { Refusal } from '../src/domain/errors'
import { Folder } from './support/folder'

const keyOf = (flags: Flags, environment: Record<string, string> = {}) =>
  readStorageConfig({ database: 'a.sqlite', ...flags }, environment).masterKey

test.each<[string, Flags, Record<string, string>, ReturnType<typeof keyOf>]>([
  ['nowhere else: beside the database', {}, {}, { file: 'a.sqlite.key' }],
  ['a file', { masterKeyFile: 'k' }, { ANTEROOM_MASTER_KEY_FILE: 'other' }, { file: 'k' }],
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
    'a file, whatever systemd passes on beside it',
    {},
    { CREDENTIALS_DIRECTORY: '/run/c', ANTEROOM_MASTER_KEY_FILE: 'k' },
    { file: 'k' },
  ],
])('the master key is taken from %s', (_, flags, environment, source) => {
  expect(keyOf(flags, environment)).toEqual(source)
})

test.each<[Flags, Record<string, string>, string]>([
  [
    {},
    { ANTEROOM_MASTER_KEY: 'BwcH', ANTEROOM_MASTER_KEY_FILE: 'k' },
    'ANTEROOM_MASTER_KEY and ANTEROOM_MASTER_KEY_FILE: give the master key in one way',
  ],
  [
    { masterKeyFd: '3' },
    { ANTEROOM_MASTER_KEY_FILE: 'k' },
    'ANTEROOM_MASTER_KEY_FILE and --master-key-fd: give the master key in one way',
  ],
  [
    { masterKeyFd: '3', masterKeyFile: 'k' },
    { ANTEROOM_MASTER_KEY: 'BwcH' },
    'ANTEROOM_MASTER_KEY and --master-key-file and --master-key-fd: give the master key in one way',
  ],
  [{ masterKeyFd: '2' }, {}, '--master-key-fd: must be 0, or from 3 to 9999'],
  [{}, { ANTEROOM_MASTER_KEY_FD: '03' }, 'ANTEROOM_MASTER_KEY_FD: must be 0, or from 3 to 9999'],
])('a master key that is given as %p and %p is refused', (flags, environment, message) => {
  expect(() => keyOf(flags, environment)).toThrow(message)
})

const needed = { database: 'a.sqlite', baseUrl: 'https://x.example' }

const capsOf = (flags: object, environment: Record<string, string> = {}) => {
  const { openRequests, emailConflicts } = readServerConfig({ ...needed, ...flags }, environment).limits
  return { openRequests, emailConflicts }
}

describe('serve holds its callers to', () => {
  test('10 open requests of a member and 20 addresses of others in an hour, unless told otherwise', () => {
    expect(capsOf({})).toEqual({ openRequests: 10, emailConflicts: 20 })
  })

  test('what a flag says, then what the environment says, and to nothing where that is off', () => {
    const environment = { ANTEROOM_OPEN_REQUESTS: '3', ANTEROOM_EMAIL_CONFLICTS_PER_HOUR: 'off' }
    expect(capsOf({}, environment)).toEqual({ openRequests: 3, emailConflicts: null })
    expect(capsOf({ openRequests: 'off', emailConflictsPerHour: '7' }, environment)).toEqual({
      openRequests: null,
      emailConflicts: 7,
    })
  })

  test.each(['0', '-1', '1.5', '1e3', '', 'none', 'OFF', '1000000000'])('and not to %p', (value) => {
    const why = 'must be a whole number from 1 on, or off'
    expect(() => capsOf({ openRequests: value }, { ANTEROOM_EMAIL_CONFLICTS_PER_HOUR: value })).toThrow(
      new Refusal('settings_invalid', `--open-requests: ${why}\nANTEROOM_EMAIL_CONFLICTS_PER_HOUR: ${why}`),
    )
  })
})

describe('a settings file', () => {
  const folder = new Folder()
  const path = folder.file('settings')
  afterAll(() => folder[Symbol.dispose]())
  const read = (text: string, flags: Flags = {}, environment: Record<string, string> = {}) => {
    writeFileSync(path, text)
    return readServerConfig({ settings: path, ...flags }, environment)
  }

  test('sets what neither a flag nor the environment sets', () => {
    const text = `ANTEROOM_DATABASE=a.sqlite\nANTEROOM_BASE_URL="https://x.example/"\nANTEROOM_PORT=1\nANTEROOM_HOST=::1\n`
    const config = read(text, { port: '3' }, { ANTEROOM_PORT: '2', ANTEROOM_HOST: '127.0.0.2' })
    expect(config).toMatchObject({
      database: 'a.sqlite',
      masterKey: { file: 'a.sqlite.key' },
      baseUrl: 'https://x.example',
      port: 3,
      host: '127.0.0.2',
      overruled: [
        `${path} line 4: ANTEROOM_HOST: has no effect, since the environment sets it otherwise`,
        `${path} line 3: ANTEROOM_PORT: has no effect, since --port sets it otherwise`,
      ],
    })
    expect(read('ANTEROOM_PORT=3', { ...needed, port: '3' }).overruled).toEqual([])
  })

  test('is named by the environment too, and read by every command', () => {
    writeFileSync(path, 'ANTEROOM_DATABASE=a.sqlite\nANTEROOM_MASTER_KEY_FILE=k\nANTEROOM_PORT=1')
    expect(readStorageConfig({}, { ANTEROOM_SETTINGS: path })).toMatchObject({
      database: 'a.sqlite',
      masterKey: { file: 'k' },
    })
  })

  test('has each fault told with its line, and no value', () => {
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
      `${path} line 5: ANTEROOM_HOST: a quotation mark is left open, or something stands behind it`,
      `${path} line 2: PATH: is no setting`,
      `${path} line 3: ANTEROOM_MASTER_KEY: is not taken from a file; name a file of its own by ANTEROOM_MASTER_KEY_FILE`,
      `${path} line 4: ANTEROOM_SETTINGS: is no setting`,
      `${path} line 1: ANTEROOM_PORT: must be a port from 0 to 65535`,
      `${path} line 6: ANTEROOM_MASTER_KEY_FILE and --master-key-fd: give the master key in one way`,
      'ANTEROOM_TLS_CERTIFICATE or --tls-certificate: is required, since a certificate and its key go together',
    ]
    expect(() => read(text, { ...needed, masterKeyFd: '3' })).toThrow(
      new Refusal('settings_invalid', faults.join('\n')),
    )
  })

  test('that is not there, is no file or too large for one is told, and nobody waits for a pipe', () => {
    const [pipe, large] = [`${folder.path}/pipe`, `${folder.path}/large`]
    Bun.spawnSync(['mkfifo', pipe])
    writeFileSync(large, '')
    truncateSync(large, 65_537)
    expect(() => readServerConfig({ ...needed, settings: pipe }, {})).toThrow(
      `the settings file ${pipe} is not a file`,
    )
    expect(() => readServerConfig({ ...needed, settings: large }, {})).toThrow(
      `the settings file ${large} is too large to be one`,
    )
    expect(() => readServerConfig({ ...needed, settings: '/nowhere/s' }, {})).toThrow(
      'there is no settings file at /nowhere/s',
    )
    expect(() => readServerConfig({ ...needed, settings: folder.path }, {})).toThrow(
      `the settings file ${folder.path} is not a file`,
    )
  })

  test('that is not there is all that is told: whatever is missing stands in it', () => {
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
])('HTTPS by %p and %p is done with %p', (flags, environment, tls) => {
  expect(readServerConfig({ ...needed, ...flags }, environment).tls).toEqual(tls)
})

test.each<[Flags, string]>([
  [
    { tlsCertificate: 'c' },
    'ANTEROOM_TLS_KEY or --tls-key: is required, since a certificate and its key go together',
  ],
  [
    { behindProxy: '0.0.0.0/0' },
    '--behind-proxy: must be addresses or networks with commas between, as 10.0.0.7,2001:db8::/32: no names, no ports, and not all addresses there are',
  ],
])('HTTPS by %p is refused', (flags, message) => {
  expect(() => readServerConfig({ ...needed, ...flags }, {})).toThrow(
    new Refusal('settings_invalid', message),
  )
})

test('the proxies that do HTTPS are those of the networks that are named, and none unless there are any', () => {
  const { behindProxy } = readServerConfig({ ...needed, behindProxy: '10.0.0.0/8,::1' }, {})
  expect(['10.1.2.3', '::1', '11.0.0.1'].map((address) => behindProxy?.include(address))).toEqual([
    true,
    true,
    false,
  ])
  expect(readServerConfig(needed, {}).behindProxy).toBeNull()
})
