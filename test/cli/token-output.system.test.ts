import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { Operator } from '../support/operator'

describe('cli: token --output', () => {
  const operator = new Operator()
  const file = (name: string) => operator.folder.file(name)
  const tokens = () => operator.ask<{ state: string }[]>('token', 'list')
  const issue = ['token', 'issue', 'Lantern', '--output']

  beforeAll(async () => {
    await operator.do('init')
    await operator.do('organization', 'add', 'North Care')
    await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
  })
  afterAll(() => operator[Symbol.dispose]())

  test('no token is issued if the --output file cannot be written', async () => {
    writeFileSync(file('taken'), 'as it was')
    expect(await operator.run([...issue, file('taken')])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'error: --output: the file already exists\nTry: choose another path\n',
    })
    expect(readFileSync(file('taken'), 'utf8')).toBe('as it was')
    expect((await operator.run([...issue, file('no/such/folder')])).code).toBe(1)
    // If a script has no value for the file name, it passes an empty argument.
    expect(await operator.run([...issue, ''])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: "error: option '-o, --output <file>' must not be empty\n",
    })
    expect(await tokens()).toEqual([])
    expect(readdirSync(operator.folder.path).filter((name) => name.includes('unfinished'))).toEqual([])
  })

  test('no token is issued if stdout is closed or /dev/null', async () => {
    for (const stdout of ['>&-', '> /dev/null']) {
      expect(await operator.runShell(`token issue Lantern ${stdout}`)).toMatchObject({
        code: 2,
        stderr:
          'error: the token cannot be printed, because stdout is closed or /dev/null\nTry: use --output <file>\n',
      })
    }
    expect(await tokens()).toEqual([])
  })

  test('--output writes a token file that only its owner can read, and a refused command leaves no file', async () => {
    const message = await operator.do(...issue, file('first'))
    expect(message).toBe(
      `The token of Lantern is in ${file('first')}. Only the owner of the file can read it.\n`,
    )
    expect(statSync(file('first')).mode & 0o777).toBe(0o600)
    const token = readFileSync(file('first'), 'utf8')
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    expect((await operator.run(['token', 'verify'], token)).stdout).toContain('200')

    expect((await operator.run([...issue, file('second')])).code).toBe(4)
    const rotated = await operator.run([
      'token',
      'rotate',
      'Lantern',
      '--yes',
      '--json',
      '--output',
      file('third'),
    ])
    expect([rotated.code, rotated.stderr]).toEqual([0, ''])
    const next = JSON.parse(readFileSync(file('third'), 'utf8')).token
    expect((await operator.run(['token', 'verify'], next)).stdout).toContain('200')
    expect((await operator.run(['token', 'verify'], token)).stdout).toContain('401')
    expect(readdirSync(operator.folder.path).filter((name) => /second|unfinished/.test(name))).toEqual([])
  })
})
