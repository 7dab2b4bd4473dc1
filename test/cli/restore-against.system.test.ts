import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { booking, provider, region } from '../support/builders'
import { Operator } from '../support/operator'

const operator = new Operator()
const file = (name: string) => operator.folder.file(name)
const replaced = file('replaced.sqlite')
const keyFile = ['--master-key-file', `${operator.database}.key`]

let first = ''
const kidOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString()).kid

beforeAll(async () => {
  await operator.do('init')
  await operator.do('organization', 'add', 'North Care')
  for (const name of ['Lantern', 'Harbour']) {
    await operator.do('partner', 'add', name, '--organization', 'North Care')
  }
  const directory = { regions: [region()], providers: [provider('on-1'), provider('on-2')] }
  await operator.loadDirectory(directory)
  first = (await operator.do('token', 'issue', 'Lantern')).trim()
  await using service = await operator.serve()
  for (const name of ['Canaryone', 'Canarytwo', 'Canarythree']) {
    const body = booking(name, undefined, { email: `${name}@example.com` })
    expect((await service.post(body, first)).status).toBe(201)
  }
  await operator.do('backup', file('backup.age'))
  expect((await service.post(booking('later'), first)).status).toBe(201)
  await operator.do('token', 'revoke', 'Lantern', '--yes')
  await operator.do('token', 'issue', 'Lantern')
  await operator.do('partner', 'deactivate', 'Harbour', '--yes')
  await operator.do('provider', 'deactivate', 'on-2', '--yes')
  await operator.do('provider', 'away', 'on-1', '2099-12-01', '2099-12-02')
  await operator.do('request', 'close', '2', '--yes')
  await operator.do('member', 'erase', '1', '--yes')
  await operator.do('member', 'deactivate', '2', '--yes')
  await service.stop()
  renameSync(operator.database, replaced)
})
afterAll(() => operator[Symbol.dispose]())

const restore = (to: string, ...flags: string[]) =>
  operator.run(['restore', file('backup.age'), '--to', file(to), ...keyFile, ...flags])

test('cli: restore --against lists revived tokens and members, record counts and the newest audit lines before it asks for confirmation', async () => {
  const before = readdirSync(operator.folder.path)
  const { code, stdout, stderr } = await restore('new.sqlite', '--against', replaced)
  expect([code, stdout, readdirSync(operator.folder.path)]).toEqual([2, '', before])
  const lines = stderr.split('\n')
  expect(lines.slice(0, -5)).toEqual([
    `anteroom: changes in ${replaced} since the backup are not in it:`,
    `  token ${kidOf(first)} of Lantern: valid again`,
    '  member 2: active again',
    '  member 1: erased, and present again',
    '  partner_keys: 2 in the replaced database, 1 in the backup',
    '  booking_requests: 4 in the replaced database, 3 in the backup',
  ])
  expect(lines.slice(-5)).toEqual([
    expect.stringMatching(/^ {2}newest audit line in the replaced database: \d+:[0-9a-f]{64}$/),
    expect.stringMatching(/^ {2}newest audit line in the backup: \d+:[0-9a-f]{64}$/),
    'error: there is no terminal to ask on',
    'Try: use --yes',
    '',
  ])
  expect(stderr).not.toContain('Canary')
})

test('cli: restore --against with --yes and --json prints the revived tokens and members', async () => {
  const { code, stdout, stderr } = await restore('yes.sqlite', '--against', replaced, '--yes', '--json')
  expect([code, stderr]).toEqual([0, ''])
  const head = { id: expect.any(Number), hash: expect.stringMatching(/^[0-9a-f]{64}$/) }
  const counts = { organizations: 1, partners: 2, providers: 2 }
  expect(JSON.parse(stdout)).toEqual({
    database: file('yes.sqlite'),
    backup: file('backup.age'),
    madeAt: expect.stringMatching(/Z$/),
    older: false,
    undone: {
      heads: { backup: head, replaced: head },
      counts: {
        backup: { ...counts, partner_keys: 1, members: 3, booking_requests: 3 },
        replaced: { ...counts, partner_keys: 2, members: 3, booking_requests: 4 },
      },
      tokens: [{ id: kidOf(first), partner: 'Lantern' }],
      deactivatedMembers: [2],
      erasedMembers: [1],
    },
  })
  expect(existsSync(file('yes.sqlite'))).toBe(true)
})

test('cli: restore --against with --yes prints the changes to repeat', async () => {
  const { code, stdout, stderr } = await restore('told.sqlite', '--against', replaced, '--yes')
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('\nChanges since the backup are not in it:\n  token ')
  expect(stdout).toContain('\n  member 1: erased, and present again\n')
  expect(stdout).toMatch(
    /\nRepeat them with anteroom token revoke, member deactivate and member erase\.\nFor the other changes, read the audit log: anteroom audit list --after \d+ --database \S+\n$/,
  )
})

test('cli: restore --against needs no confirmation if nothing was done since the backup', async () => {
  const { code, stdout, stderr } = await restore('same.sqlite', '--against', file('yes.sqlite'))
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toBe(
    `Created the database ${file('same.sqlite')} from the backup ${file('backup.age')}.\n` +
      'Nothing was changed since the backup.\n',
  )
})

test('cli: restore without --against says that later changes are unknown, and asks for confirmation', async () => {
  const { code, stdout, stderr } = await restore('unknown.sqlite')
  expect([code, stdout, existsSync(file('unknown.sqlite'))]).toEqual([2, '', false])
  expect(stderr).toMatch(
    /^anteroom: revocations, deactivations and erasures after \S+Z are undone\nchanges to requests .* are undone too\nto list them, .*--against FILE\n/,
  )
})

test('cli: restore --against refuses a database that is not a later state of the backup', async () => {
  const other = new Operator()
  try {
    await other.do('init')
    await other.do('organization', 'add', 'Elsewhere')
    writeFileSync(file('text'), 'no database')
    for (const [against, fault] of [
      [other.database, 'the database is not a later state of the backup\nTry: omit the option'],
      [file('text'), 'the file is not a readable database\nTry: check its path, or restore a backup'],
      [file('absent'), `there is no database at ${file('absent')}`],
    ] as const) {
      expect(await restore('refused.sqlite', '--yes', '--against', against)).toEqual({
        code: 6,
        signal: null,
        stdout: '',
        stderr: `error: --against: ${fault}\n`,
      })
      expect(existsSync(file('refused.sqlite'))).toBe(false)
    }
  } finally {
    other[Symbol.dispose]()
  }
})
