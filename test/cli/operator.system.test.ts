import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { describeOperator } from '../../src/cli/storage'
import { Operator } from '../support/operator'

const accounts = ['root:x:0:0:root:/root:/bin/sh', 'olive:x:1000:1000:,,,:/home/olive:/bin/sh', ''].join('\n')

test.each<[number | null, string | undefined, string]>([
  [0, undefined, 'operator root'],
  [1000, undefined, 'operator olive'],
  [1001, undefined, 'operator 1001'],
  [0, '1000', 'operator root (sudo by 1000 olive)'],
  [0, '1001', 'operator root (sudo by 1001)'],
  // A SUDO_UID that is 0, invalid or empty does not change the actor.
  [0, '0', 'operator root'],
  [0, 'olive', 'operator root'],
  [0, '', 'operator root'],
  [0, '1000\n1001', 'operator root'],
  [0, '99999999999', 'operator root'],
  // SUDO_UID is ignored unless the uid is 0 (root), because other users can set SUDO_UID themselves.
  [1000, '0', 'operator olive'],
  [1001, '1000', 'operator 1001'],
  [null, '1000', 'operator unknown'],
])('cli: the actor for uid %p with SUDO_UID %p is %p', (uid, sudoUid, actor) => {
  expect(describeOperator(uid, sudoUid, accounts)).toBe(actor)
})

test('cli: the actor is the uid if /etc/passwd has no entry', () => {
  expect(describeOperator(0, undefined, '')).toBe('operator 0')
})

test('cli: the actor does not depend on the environment, except on SUDO_UID for root', async () => {
  using operator = new Operator()
  await operator.do('init')
  const names = ['USER', 'LOGNAME', 'USERNAME', 'SUDO_USER', 'HOME', 'LNAME']
  const alice = Object.fromEntries(names.map((name) => [name, 'alice']))
  const add = (name: string, settings: Record<string, string>) =>
    operator.run(['organization', 'add', name], '', settings)
  expect((await add('One', alice)).code).toBe(0)
  expect((await add('Two', { ...alice, SUDO_UID: '4294967' })).code).toBe(0)
  const uid = process.getuid?.() ?? -1
  const self = describeOperator(uid, undefined, readFileSync('/etc/passwd', 'utf8'))
  const lines = await operator.ask<{ actor: string }[]>('audit', 'list')
  expect(lines.map(({ actor }) => actor)).toEqual([self, uid === 0 ? `${self} (sudo by 4294967)` : self])
})
