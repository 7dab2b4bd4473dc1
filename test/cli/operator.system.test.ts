import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { describeOperator } from '../../src/cli/storage'
import { Operator } from '../support/operator'

const accounts = ['root:x:0:0:root:/root:/bin/sh', 'olive:x:1000:1000:,,,:/home/olive:/bin/sh', ''].join('\n')

/** The login uid of the processes that the tests start. */
function ownLogin(): string {
  return existsSync('/proc/self/loginuid') ? readFileSync('/proc/self/loginuid', 'utf8') : ''
}

type Known = Parameters<typeof describeOperator>[1]
const login = (loginUid: string) => ({ loginUid })
const sudo = (sudoUid: string) => ({ loginUid: '4294967295', sudoUid })
const says = (variable: string) => ({ loginUid: '', variable })

test.each<[number | null, Known, string, boolean]>([
  [1000, login('1000'), 'operator olive', true],
  [999, login('1000'), 'operator 999 (olive, by login uid)', true],
  [0, login('1001'), 'operator root (1001, by login uid)', true],
  // The kernel's word counts before the words of the environment.
  [0, { loginUid: '1000', sudoUid: '33', variable: 'pat' }, 'operator root (olive, by login uid)', true],
  [0, { ...sudo('1000'), variable: 'pat' }, 'operator root (olive, says SUDO_UID)', true],
  [0, login('0'), 'operator root', false],
  [1000, login('4294967295'), 'operator olive', false],
  [1000, login(''), 'operator olive', false],
  [1000, login('olive'), 'operator olive', false],
  [0, sudo('1000'), 'operator root (olive, says SUDO_UID)', true],
  [0, sudo('1001'), 'operator root (1001, says SUDO_UID)', true],
  // A SUDO_UID that is 0, invalid or empty does not change the actor.
  ...['0', 'olive', '', '1000\n1001', '99999999999'].map(
    (uid) => [0, sudo(uid), 'operator root', false] as [number, Known, string, boolean],
  ),
  // SUDO_UID is ignored unless the uid is 0 (root), because other users can set SUDO_UID themselves.
  [1001, sudo('1000'), 'operator 1001', false],
  [999, says('olive'), 'operator 999 (olive, says ANTEROOM_OPERATOR)', true],
  [999, says('1000'), 'operator 999 (olive, says ANTEROOM_OPERATOR)', true],
  [999, says('pat.o@example.org'), 'operator 999 (pat.o@example.org, says ANTEROOM_OPERATOR)', true],
  ...['', 'root', '0', 'olive, by login uid', 'a)', '-x', 'x'.repeat(65)].map(
    (variable) => [999, says(variable), 'operator 999', false] as [number, Known, string, boolean],
  ),
  [null, says('olive'), 'operator unknown (olive, says ANTEROOM_OPERATOR)', true],
])('cli: the actor for uid %p with %p is %p', (uid, caller, actor, isNamed) => {
  expect(describeOperator(uid, caller, accounts)).toEqual({ actor, isNamed })
})

test('cli: the actor is the uid if /etc/passwd has no entry', () => {
  expect(describeOperator(0, login(''), '').actor).toBe('operator 0')
})

test('cli: the actor does not depend on the environment, except on SUDO_UID for root and on ANTEROOM_OPERATOR', async () => {
  using operator = new Operator()
  await operator.do('init')
  const names = ['USER', 'LOGNAME', 'USERNAME', 'SUDO_USER', 'HOME', 'LNAME']
  const alice = Object.fromEntries(names.map((name) => [name, 'alice']))
  const add = (name: string, settings: Record<string, string>) =>
    operator.run(['organization', 'add', name], '', settings)
  expect((await add('One', alice)).code).toBe(0)
  expect((await add('Two', { ...alice, SUDO_UID: '4294967' })).code).toBe(0)
  expect((await add('Three', { ...alice, ANTEROOM_OPERATOR: 'pat' })).code).toBe(0)
  const uid = process.getuid?.() ?? -1
  const loginUid = ownLogin()
  const self = (more: Partial<Known>) =>
    describeOperator(uid, { loginUid, ...more }, readFileSync('/etc/passwd', 'utf8')).actor
  const lines = await operator.ask<{ actor: string }[]>('audit', 'list')
  expect(lines.map(({ actor }) => actor)).toEqual([
    self({}),
    self({ sudoUid: '4294967' }),
    self({ variable: 'pat' }),
  ])
})

test('cli: with --require-operator, no command shows a person to an operator whom the log cannot name', async () => {
  using operator = new Operator()
  await operator.do('init')
  const required = { ANTEROOM_REQUIRE_OPERATOR: 'true' }
  const isKnown = describeOperator(process.getuid?.() ?? null, { loginUid: ownLogin() }, '').isNamed
  const listed = [
    'request list',
    'member find x',
    'appointments',
    'audit affected --partner x --since 2026-01-01T00:00:00Z',
  ]
  for (const words of listed) {
    const unnamed = await operator.run(words.split(' '), '', required)
    const refusal =
      'error: the audit log could not name you, so no person is shown\nTry: log in as yourself, or hand over your account in ANTEROOM_OPERATOR\n'
    if (!isKnown) expect([words, unnamed.code, unnamed.stderr]).toEqual([words, 4, refusal])
    const named = await operator.run(words.split(' '), '', { ...required, ANTEROOM_OPERATOR: 'pat' })
    expect([words, named.stderr]).not.toEqual([words, refusal])
  }
  expect((await operator.run(['request', 'list'], '', required)).code).toBe(isKnown ? 0 : 4)
  expect((await operator.run(['request', 'list', '--require-operator'])).code).toBe(isKnown ? 0 : 4)
  for (const words of [['partner', 'list'], ['status'], ['request', 'list']]) {
    const { stderr } = await operator.run(words, '', words[0] === 'request' ? {} : required)
    expect([words, stderr]).toEqual([words, ''])
  }
  const lines = await operator.ask<{ outcome: string }[]>('audit', 'list', '--action', 'request.list')
  if (!isKnown) expect(lines.map(({ outcome }) => outcome)).toContain('operator_unknown')
})
