import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { times } from '../support/long'
import { messagesIn, Operator, stopping } from '../support/operator'
import { eventually, Program, theProgram } from '../support/process'

setDefaultTimeout(300_000)

const serving = ['serve', '--port', '0', '--base-url', 'https://api.example']
const refused = [7, 'error: another server already uses this database\nTry: stop it first\n']

let operator = undefined as unknown as Operator
let lockFile = ''
beforeEach(() => {
  operator = new Operator(theProgram)
  lockFile = `${operator.database}.serving`
})
afterEach(() => operator[Symbol.dispose]())

async function endOfServe(database = operator.database): Promise<[number | null, string]> {
  const { code, stdout, stderr } = await operator.run([...serving, '--database', database])
  expect(stdout).toBe('')
  return [code, stderr]
}

test('db: a second server on the same file is refused, even through a link', async () => {
  await operator.do('init')
  const link = operator.folder.file('link.sqlite')
  symlinkSync(operator.database, link)
  symlinkSync(`${operator.database}.key`, `${link}.key`)
  await using service = await operator.serve()
  expect(await endOfServe()).toEqual(refused as [number, string])
  expect(await endOfServe(link)).toEqual(refused as [number, string])
  await operator.do('organization', 'add', 'North Care')
  await operator.do('backup', 'backup.age')
  await operator.do('doctor')
  expect(statSync(lockFile)).toMatchObject({ size: 0, mode: 0o100600 })
  const stopped = await service.stop()
  expect([stopped.code, messagesIn(stopped.stderr)]).toEqual([0, stopping])
  // The empty lock file remains. The next server ignores it.
  expect(readdirSync(operator.folder.path).filter((name) => name.includes('serving'))).toEqual([
    'anteroom.sqlite.serving',
  ])
  rmSync(operator.database)
  await operator.do('restore', 'backup.age', '--to', operator.database, '--yes')
  await using again = await operator.serve()
  expect((await again.stop()).code).toBe(0)
})

test('db: a killed server releases the serve lock', async () => {
  await operator.do('init')
  await using service = await operator.serve()
  expect(await service.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
  expect(readdirSync(operator.folder.path)).not.toContain('anteroom.sqlite.serving-journal')
  await using again = await operator.serve()
  expect((await again.stop()).code).toBe(0)
})

test('db: if two servers start at the same moment, exactly one serves', async () => {
  await operator.do('init')
  for (let round = 0; round < times(5, 20); round++) {
    const start = () => new Program(serving, { env: { ANTEROOM_DATABASE: operator.database } })
    await using one = start()
    await using other = start()
    const both = [one, other]
    await eventually('one server to listen and the other to end', () => {
      return both.some(({ stdout }) => stdout.includes('\n')) && both.some(({ isRunning }) => !isRunning)
    })
    const [winner, loser] = one.isRunning ? [one, other] : [other, one]
    const { code, stdout, stderr } = await loser.exit()
    expect([code, stderr, stdout]).toEqual([...refused, ''] as [number, string, string])
    const stopped = await winner.stop()
    expect([stopped.code, messagesIn(stopped.stderr)]).toEqual([0, stopping])
  }
})

describe('db: the path of the serve lock file', () => {
  const inTheWay: [string, () => void][] = [
    ['a file with content', () => writeFileSync(lockFile, 'notes')],
    ['a folder', () => mkdirSync(lockFile)],
    ['a dangling link', () => symlinkSync('nowhere', lockFile)],
    ['a link to another file', () => symlinkSync(`${operator.database}.key`, lockFile)],
  ]
  test.each(inTheWay)('serve refuses %s and does not change it', async (_, make) => {
    await operator.do('init')
    make()
    const before = readdirSync(operator.folder.path)
    const fault = `${lockFile} is in the way of the lock file\nTry: move it away first`
    expect(await endOfServe()).toEqual([6, `error: ${fault}\n`])
    expect(readdirSync(operator.folder.path)).toEqual(before)
  })
})

test('db: a database file with two names (a hard link) is refused', async () => {
  await operator.do('init')
  const second = operator.folder.file('second.sqlite')
  linkSync(operator.database, second)
  const fault = 'the database file has two names (a hard link)\nTry: remove the unused name'
  expect(await endOfServe()).toEqual([6, `error: ${fault}\n`])
  const byLink = await operator.run(['partner', 'list', '--database', second])
  expect([byLink.code, byLink.stderr]).toEqual([6, `error: ${fault}\n`])
  rmSync(second)
  await using service = await operator.serve()
  expect((await service.stop()).code).toBe(0)
})

test('db: starting a server removes the files of an interrupted init', async () => {
  await operator.do('init')
  const left = `${operator.database}.unfinished-0-1-00000000`
  mkdirSync(left)
  writeFileSync(join(left, 'key'), 'k')
  linkSync(operator.database, join(left, 'whole'))
  const longAgo = new Date(Date.now() - 3_600_000)
  utimesSync(left, longAgo, longAgo)
  await using service = await operator.serve()
  expect(existsSync(left)).toBe(false)
  expect((await service.stop()).code).toBe(0)
})

test('db: init refuses to create a database next to the write-ahead log of another database', async () => {
  const log = `${operator.database}-wal`
  writeFileSync(log, 'x')
  const fault = `${log} belongs to another database\nTry: stop all servers of this path, then move the file away (docs/incident.md)`
  expect(await operator.run(['init'])).toMatchObject({ code: 6, stdout: '', stderr: `error: ${fault}\n` })
  rmSync(log)
})

test('db: serve refuses a missing or foreign database file, and creates no lock file', async () => {
  expect(await endOfServe()).toEqual([
    6,
    `error: there is no database at ${operator.database}\nTry: check --database, or run anteroom init\n`,
  ])
  writeFileSync(operator.database, 'x'.repeat(200))
  expect(await endOfServe()).toEqual([
    6,
    'error: the file is not a readable database\nTry: check its path, or restore a backup\n',
  ])
  rmSync(operator.database)
  const theirs = new Database(operator.database)
  theirs.run('CREATE TABLE theirs (id INTEGER)')
  theirs.close()
  expect(await endOfServe()).toEqual([
    6,
    'error: the database file belongs to another application\nTry: choose another path\n',
  ])
  expect(existsSync(lockFile)).toBe(false)
})

const canMount = process.getuid?.() === 0 && Bun.spawnSync(['sh', '-c', 'unshare -m true']).exitCode === 0
test.if(canMount)(
  'db: serve fails in a read-only folder, and the error names the missing permission',
  async () => {
    await operator.do('init')
    const { path } = operator.folder
    const script = `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"`
    const child = Bun.spawnSync(['unshare', '-m', 'sh', '-c', script, path, ...theProgram, ...serving], {
      env: { PATH: process.env.PATH ?? '', ANTEROOM_DATABASE: operator.database },
    })
    const fault = `${lockFile} cannot be created\nTry: give the user that runs serve write access to the folder of the database`
    expect([child.exitCode, child.stderr.toString()]).toEqual([6, `error: ${fault}\n`])
  },
)
