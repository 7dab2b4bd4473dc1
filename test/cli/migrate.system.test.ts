import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { Operator } from '../support/operator'
import { Sandbox } from '../support/process'

let operator = undefined as unknown as Operator
beforeEach(() => {
  operator = new Operator()
})
afterEach(() => operator[Symbol.dispose]())

async function refusalOf(...args: string[]): Promise<[number | null, string]> {
  const { code, stdout, stderr } = await operator.run(args)
  expect(stdout).toBe('')
  return [code, stderr]
}

test('cli: migrate reports that a database without pending migrations is up to date', async () => {
  await operator.do('init')
  expect(await operator.do('migrate')).toBe('The database is up to date.\n')
})

describe('cli: output that cannot be written', () => {
  const sh = (command: string) => operator.runShell(command)

  test('token issue reports that a token is in force but could not be printed, and advises a rotation', async () => {
    await operator.do('init')
    await operator.do('partner', 'add', 'Lantern')
    const { code, stderr } = await sh('token issue Lantern > /dev/full')
    const why =
      'the token is in force, but it could not be printed and cannot be shown again\nTry: rotate the token'
    expect([code, stderr]).toEqual([6, `error: ${why}\n`])
    expect(await operator.do('token', 'rotate', 'Lantern', '--yes')).toMatch(/^eyJ/)
  })
})

describe('cli: a path that is not a file', () => {
  const made: [string, (path: string) => void][] = [
    ['a pipe', (path) => expect(Bun.spawnSync(['mkfifo', path]).exitCode).toBe(0)],
    ['a folder', (path) => mkdirSync(path)],
  ]

  test.each(made)('%s at the database path is refused at once', async (_, make) => {
    make(operator.database)
    const refused = [6, 'error: the database path is not a file\n'] as [number, string]
    expect(await refusalOf('organization', 'list')).toEqual(refused)
    expect(await refusalOf('migrate')).toEqual(refused)
    expect(await refusalOf('init')).toEqual([
      6,
      'error: a file already exists at the database path\nTry: choose another path\n',
    ])
    await using sandbox = new Sandbox(['sandbox', '--port', '0', '--database', operator.database])
    expect(await sandbox.exit()).toMatchObject({ code: 6, stderr: refused[1] })
  })

  test.each(made)('%s at the master key path is refused at once', async (_, make) => {
    await operator.do('init')
    const key = operator.folder.file('key')
    make(key)
    expect(await refusalOf('organization', 'list', '--master-key-file', key)).toEqual([
      6,
      'error: the master key path is not a file\n',
    ])
  })

  test.each(made)('%s as the target of a backup is refused at once', async (_, make) => {
    await operator.do('init')
    const place = operator.folder.file('backup')
    make(place)
    expect(await refusalOf('backup', place)).toEqual([
      6,
      'error: the file already exists\nTry: choose another path\n',
    ])
  })
})
