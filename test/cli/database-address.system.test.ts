import { afterAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { Operator } from '../support/operator'

const operator = new Operator()
afterAll(() => operator[Symbol.dispose]())

const address = 'postgres://anteroom:canary@localhost:1/anteroom'

test.each(['init', 'status', 'doctor', 'migrate', 'organization list'])(
  'cli: %s does not print the password of a database address',
  async (words) => {
    const environment = { ANTEROOM_DATABASE: address, ANTEROOM_MASTER_KEY_FILE: operator.folder.file('key') }
    const { code, stdout, stderr } = await operator.run(words.split(' '), '', environment)
    expect([code === 0, stdout]).toEqual([false, ''])
    expect(stderr).toStartWith('error: ')
    expect(stderr).not.toContain('canary')
  },
)

test('cli: --database with a password is refused before anything is opened', async () => {
  const { code, stdout, stderr } = await operator.run(['status', '--database', address])
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toBe(
    'error: --database: must not contain a password, because every process can read it; ' +
      'use PGPASSWORD, PGPASSFILE, ~/.pgpass or ANTEROOM_DATABASE\n' +
      'ANTEROOM_MASTER_KEY_FILE or --master-key-file: is required for a database server\n',
  )
})

test.each(['sandbox --database', 'restore a.age --to b.sqlite --against'])(
  'cli: %s refuses the address of a database server and does not print its password',
  async (words) => {
    const { code, stdout, stderr } = await operator.run([...words.split(' '), address])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('must be a file, not the address of a database server')
    expect(stderr).not.toContain('canary')
  },
)

test('cli: restore refuses a database on a database server and does not print its password', async () => {
  const { code, stdout, stderr } = await operator.run(['restore', 'a.age', '--to', address, '--yes'])
  expect([code, stdout]).toEqual([6, ''])
  expect(stderr).toStartWith('error: ')
  expect(stderr).not.toContain('canary')
})

test('cli: the name of a database file may begin like the address of a database server', async () => {
  const database = operator.folder.file('postgres:')
  const { stdout } = await operator.run(['init', '--json'], '', { ANTEROOM_DATABASE: database })
  expect(JSON.parse(stdout)).toEqual({ database, masterKeyFile: `${database}.key` })
  expect(existsSync(database)).toBe(true)
})
