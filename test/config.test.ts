import { expect, test } from 'bun:test'
import { type Flags, readStorageConfig } from '../src/config'

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
