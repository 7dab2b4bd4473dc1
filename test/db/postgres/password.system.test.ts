import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { passwordFor } from '../../../db/postgres/client/password'
import { Folder } from '../../support/folder'
import { addressOf } from './pools'

function found(lines: string, url = 'postgres://anteroom@localhost/rooms'): string | null {
  using folder = new Folder()
  const passFile = folder.file('pgpass')
  writeFileSync(passFile, lines, { mode: 0o600 })
  const address = addressOf(url)
  const [host] = address.hosts
  if (!host) throw new Error('no host')
  return passwordFor(address, host, { password: null, passFile })
}

test.each([
  ['localhost:5432:rooms:anteroom:right', 'right'],
  ['localhost:5432:rooms:anteroom:right\n', 'right'],
  ['localhost:5432:rooms:anteroom:right\r\n', 'right'],
  ['*:*:*:*:right', 'right'],
  ['db:5432:rooms:anteroom:other\nlocalhost:*:rooms:*:right\n*:*:*:*:late', 'right'],
  ['# localhost:5432:rooms:anteroom:no\n\nlocalhost:5432:rooms:anteroom:right', 'right'],
  ['localhost:5432:rooms:anteroom:a\\:b\\\\c', 'a:b\\c'],
  ['localhost:5432:rooms:anteroom:right:rest', 'right'],
  ['localhost:5432:rooms:anteroom:', ''],
  ['local\\host:5432:rooms:anteroom:right', 'right'],
  ['localhost:5433:rooms:anteroom:other', null],
  ['localhost:5432:room:anteroom:other', null],
  ['localhost:5432:rooms:other:other', null],
  ['LOCALHOST:5432:rooms:anteroom:other', null],
  ['localhost:5432:rooms:anteroom', null],
  ['loc*:5432:rooms:anteroom:other', null],
  ['\\*:5432:rooms:anteroom:other', null],
  ['', null],
])('postgres: a password file of %p gives the password %p', (lines, password) => {
  expect(found(lines)).toBe(password)
})

test('postgres: a password file may contain escaped colons and lines for a socket', () => {
  const odd = 'postgres://an%3Ateroom@[::1]:7/ro%5Coms'
  expect(found('\\:\\:1:7:ro\\\\oms:an\\:teroom:right', odd)).toBe('right')
  const socket = 'postgres://anteroom@/rooms?host=/run/postgresql'
  expect(found('/run/postgresql:5432:rooms:anteroom:right', socket)).toBe('right')
  expect(found('localhost:5432:rooms:anteroom:right', socket)).toBe('right')
  expect(found('/run:5432:rooms:anteroom:right', socket)).toBeNull()
})

test('postgres: the address overrides the environment, and the environment overrides the password file', () => {
  using folder = new Folder()
  const passFile = folder.file('pgpass')
  writeFileSync(passFile, '*:*:*:*:file', { mode: 0o600 })
  const host = { host: 'localhost', port: 5432 }
  const [without, within] = ['anteroom', 'anteroom:address'].map((user) =>
    addressOf(`postgres://${user}@localhost/rooms`),
  ) as [ReturnType<typeof addressOf>, ReturnType<typeof addressOf>]
  expect(passwordFor(within, host, { password: 'environment', passFile })).toBe('address')
  expect(passwordFor(without, host, { password: 'environment', passFile })).toBe('environment')
  expect(passwordFor(without, host, { password: '', passFile })).toBe('file')
  expect(passwordFor(without, host, { password: null, passFile: null })).toBeNull()
  expect(passwordFor(without, host, { password: null, passFile: folder.file('none') })).toBeNull()
})

test('postgres: a password file must be a regular file that other users cannot read', () => {
  using folder = new Folder()
  const passFile = folder.file('pgpass')
  const address = addressOf('postgres://anteroom@localhost/rooms')
  const host = { host: 'localhost', port: 5432 }
  const refused = (path: string) => () => passwordFor(address, host, { password: null, passFile: path })
  writeFileSync(passFile, '*:*:*:*:file')
  for (const mode of [0o640, 0o604, 0o620, 0o601]) {
    chmodSync(passFile, mode)
    expect(refused(passFile)).toThrow(
      `the password file ${passFile} is accessible to other users; run chmod 600 ${passFile}`,
    )
  }
  // systemd gives a credential file this mode.
  chmodSync(passFile, 0o440)
  const credential = { password: null, passFile, isPassFileCredential: true }
  expect(passwordFor(address, host, credential)).toBe('file')
  chmodSync(passFile, 0o400)
  expect(refused(passFile)()).toBe('file')
  mkdirSync(folder.file('folder'))
  expect(refused(folder.file('folder'))).toThrow(`the password file ${folder.file('folder')} is not a file`)
})
