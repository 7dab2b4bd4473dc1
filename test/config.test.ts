import { describe, expect, test } from 'bun:test'
import { type Flags, readServerConfig, readStorageConfig } from '../src/config'
import { Refusal } from '../src/domain/errors'

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
