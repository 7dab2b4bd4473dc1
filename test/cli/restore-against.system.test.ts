import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { booking, provider, region } from '../support/builders'
import { Operator } from '../support/operator'

const operator = new Operator()
const file = (name: string) => operator.folder.file(name)
const replaced = file('replaced.sqlite')
const keyFile = ['--master-key-file', `${operator.database}.key`]

let first = ''
let second = ''
const kidOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString()).kid

beforeAll(async () => {
  await operator.do('init')
  await operator.do('organization', 'add', 'North Care')
  for (const name of ['Lantern', 'Harbour']) {
    await operator.do('partner', 'add', name, '--organization', 'North Care')
  }
  const directory = { regions: [region()], providers: [provider('on-1'), provider('on-2')] }
  writeFileSync(file('directory.json'), JSON.stringify(directory))
  await operator.do('directory', 'load', file('directory.json'))
  first = (await operator.do('token', 'issue', 'Lantern')).trim()
  await using service = await operator.serve()
  for (const name of ['Canaryone', 'Canarytwo', 'Canarythree']) {
    const told = booking(name, undefined, { email: `${name}@example.com` })
    expect((await service.post(told, first)).status).toBe(201)
  }
  await operator.do('backup', file('backup.age'))
  expect((await service.post(booking('later'), first)).status).toBe(201)
  await operator.do('token', 'revoke', 'Lantern', '--yes')
  second = (await operator.do('token', 'issue', 'Lantern')).trim()
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

test('what the replaced database revoked, deactivated and erased is told before the restored one is there, and asked', async () => {
  const before = readdirSync(operator.folder.path)
  const { code, stdout, stderr } = await restore('new.sqlite', '--against', replaced)
  expect([code, stdout, readdirSync(operator.folder.path)]).toEqual([2, '', before])
  expect(stderr).toBe(
    [
      `anteroom: what ${replaced} did since the backup is not in it:`,
      `  token ${kidOf(first)} of Lantern: valid again`,
      '  partner Harbour: active again',
      '  provider on-2: offered again',
      '  member 2: active again',
      '  member 1: erased, and there again',
      '  provider on-1, 2099-12-01 to 2099-12-02: offered again in this time off',
      '  request 2: as it was before, its slot too',
      `  token ${kidOf(second)} of Lantern: not known any more: rotate it`,
      '  requests submitted since: 1 lost',
      'anteroom: this needs --yes where there is no terminal to ask on',
      '',
    ].join('\n'),
  )
  expect(stderr).not.toContain('Canary')
})

test('with --yes it is made, and what becomes valid again is told for programs', async () => {
  const { code, stdout, stderr } = await restore('yes.sqlite', '--against', replaced, '--yes', '--json')
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toEqual({
    database: file('yes.sqlite'),
    backup: file('backup.age'),
    madeAt: expect.stringMatching(/Z$/),
    older: false,
    undone: {
      tokens: [{ id: kidOf(first), partner: 'Lantern' }],
      partners: [{ id: 2, name: 'Harbour' }],
      organizations: [],
      providers: [{ id: 2, name: 'on-2' }],
      deactivatedMembers: [2],
      erasedMembers: [1],
      changedRequests: [2],
      lostAbsences: ['on-1, 2099-12-01 to 2099-12-02'],
      lostTokens: [{ id: kidOf(second), partner: 'Lantern' }],
      lostRequests: 1,
    },
  })
  expect(existsSync(file('yes.sqlite'))).toBe(true)
})

test('with --yes a person is told what to do again', async () => {
  const { code, stdout, stderr } = await restore('told.sqlite', '--against', replaced, '--yes')
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('\nWhat was done since is not in it:\n  token ')
  expect(stdout).toContain('\n  member 1: erased, and there again\n')
  expect(stdout).toEndWith(
    'Do that again: anteroom token revoke, partner deactivate, provider deactivate, provider away, member erase, request move.\n',
  )
})

test('nothing is asked where nothing becomes valid again', async () => {
  const { code, stdout, stderr } = await restore('same.sqlite', '--against', file('yes.sqlite'))
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toBe(
    `Made the database ${file('same.sqlite')} of the backup ${file('backup.age')}.\n` +
      'Nothing was revoked, deactivated or erased since.\n',
  )
})

test('where no replaced database is named, that nothing is known is said plainly, and asked', async () => {
  const { code, stdout, stderr } = await restore('unknown.sqlite')
  expect([code, stdout, existsSync(file('unknown.sqlite'))]).toEqual([2, '', false])
  expect(stderr).toMatch(
    /^anteroom: what was revoked, deactivated or erased after \S+Z is valid or there again\nrequests that were moved or declined since, .*as they were before\nto have it listed, .*--against FILE\n/,
  )
})

test('what is no later state of the same database is refused, and nothing is made', async () => {
  const other = new Operator()
  try {
    await other.do('init')
    await other.do('organization', 'add', 'Elsewhere')
    writeFileSync(file('text'), 'no database')
    for (const [against, fault] of [
      [other.database, 'that database is no later state of the one that the backup was made of'],
      [file('text'), 'the file is not a database that can be read'],
      [file('absent'), `there is no database at ${file('absent')}`],
    ] as const) {
      expect(await restore('refused.sqlite', '--yes', '--against', against)).toEqual({
        code: 6,
        signal: null,
        stdout: '',
        stderr: `anteroom: --against: ${fault}\n`,
      })
      expect(existsSync(file('refused.sqlite'))).toBe(false)
    }
  } finally {
    other[Symbol.dispose]()
  }
})
