import { expect, test } from 'bun:test'
import packed from 'moment-timezone/data/packed/latest.json'
import { bundledPackages } from '../../deploy/release/bundled'
import { noticesOf } from '../../deploy/release/notices'
import { notices } from '../../src/built'
import { takeStorageFlags } from '../../src/cli/command'
import { didYouMean } from '../../src/domain/did-you-mean'
import { Operator } from '../support/operator'
import { runProgram } from '../support/process'

test('cli: storage options may be given before, between and after the words of a command', async () => {
  using operator = new Operator()
  await operator.do('init')
  await operator.do('organization', 'add', 'North')
  const { database } = operator
  const lines = [
    ['--database', database, 'organization', 'list'],
    [`--database=${database}`, 'organization', 'list'],
    ['organization', '--database', database, 'list', '--json'],
    ['--master-key-file', `${database}.key`, 'organization', '--database', database, 'list'],
    ['organization', 'list', '--json', '--database', database],
  ]
  for (const words of lines) {
    const { code, stdout, stderr } = await operator.run(words, '', { ANTEROOM_DATABASE: '/nowhere' })
    expect([words, code, stderr]).toEqual([words, 0, ''])
    expect(stdout).toContain('North')
  }
})

test('cli: storage options before a command that needs no database are ignored', async () => {
  for (const words of [['version'], ['help'], ['completion', 'bash'], ['help', 'completion']]) {
    expect((await runProgram(['--database', '/nowhere', ...words])).code, words.join(' ')).toBe(0)
  }
  const { code, stderr } = await runProgram(['version', '--database', '/nowhere'])
  expect([code, stderr]).toEqual([2, "error: unknown option '--database'\nTry: anteroom version --help\n"])
  expect(await runProgram(['organization', 'list', '--database'])).toMatchObject({
    code: 2,
    stderr: "error: option '--database' needs a value\n",
  })
})

test('cli: the command line parser ignores storage options after another option or after --', () => {
  const taken = (line: string) => {
    const { words, flags } = takeStorageFlags(line.split(' '))
    return [words.join(' '), flags.map(({ said, behind }) => [...said, behind].join(' '))]
  }
  expect(taken('--zones z a --database d b --json --database e')).toEqual([
    'a b --json --database e',
    ['--zones z 0', '--database d 1'],
  ])
  expect(taken('a -- --database d')).toEqual(['a -- --database d', []])
  expect(taken('a --database')).toEqual(['a', ['--database 1']])
  expect(taken('a --database=x=y')).toEqual(['a', ['--database x=y 1']])
})

test.each([
  ['tokn', 'token'],
  ['isue', 'issue'],
  ['verfy', 'verify'],
  ['tokne', 'token'],
  ['serv', 'serve'],
  ['nosuch', null],
  ['x', null],
  ['', null],
])('cli: the suggestion for the mistyped word %p is %p', (word, meant) => {
  expect(didYouMean(word, ['token', 'issue', 'verify', 'serve', 'organization'])).toBe(meant)
})

test('cli: no ref is suggested if there are too many refs to compare in a second', () => {
  const refs = Array.from({ length: 1_000 }, (_, index) => `${'x'.repeat(196)}${index}`)
  expect(didYouMean(`${'x'.repeat(196)}1000`, refs)).toBeNull()
  expect(didYouMean(`${'x'.repeat(196)}y`, refs.slice(0, 1))).toBe(refs[0] as string)
})

test('cli: version shows the versions of the program, Bun, SQLite and the zone data', async () => {
  const { stdout } = await runProgram(['version', '--json'])
  expect(JSON.parse(stdout)).toEqual({
    anteroom: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    commit: expect.stringMatching(/^([0-9a-f]{40}(-dirty)?|unknown)$/),
    bun: Bun.version,
    sqlite: process.versions.sqlite,
    zoneData: packed.version,
  })
  const { anteroom, commit } = JSON.parse(stdout)
  const short = commit.replace(/^(.{12})[0-9a-f]*/, '$1')
  const line = `${anteroom} (commit ${short}, Bun ${Bun.version}, zone data ${packed.version})\n`
  for (const words of [['--version'], ['-V'], ['--version', 'serve']]) {
    expect((await runProgram(words)).stdout).toBe(line)
  }
})

test('cli: version --licenses shows the bundled licenses, and is refused outside the built executable', async () => {
  const { code, stdout } = await runProgram(['version', '--licenses'])
  expect([code, stdout]).toEqual([0, noticesOf(await bundledPackages())])
  expect(() => notices()).toThrow('only the built executable contains the licenses')
})

test('cli: init, migrate and key rotate print their results as JSON', async () => {
  using operator = new Operator()
  const { database } = operator
  expect(await operator.ask('init')).toEqual({ database, masterKeyFile: `${database}.key` })
  expect(await operator.ask('migrate')).toEqual({ upgraded: false, copy: null })
  expect(await operator.ask('key', 'rotate', '--yes')).toEqual({
    masterKeyFile: `${database}.key`,
    purged: true,
    resumed: false,
  })
})

test('cli: token issue with "--output -" prints the token on stdout and creates no file', async () => {
  using operator = new Operator()
  await operator.do('init')
  await operator.do('partner', 'add', 'Lantern')
  expect(await operator.do('token', 'issue', 'Lantern', '-o', '-')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
  expect(await Bun.file(operator.folder.file('-')).exists()).toBe(false)
})
