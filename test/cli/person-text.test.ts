import { describe, expect, test } from 'bun:test'
import { personText } from '../../src/cli/terminal/persons'
import { emptyProfile, type Member } from '../../src/domain/member'
import type { Records } from '../../src/operations/context'
import { partner } from '../domain/values'
import { factsStore } from '../support/facts-store'

const records = {
  store: factsStore({ partners: { list: () => [{ ...partner, id: 1, name: 'quietwater' }] } }),
} as unknown as Records

function member(firstName: string, lastName: string, externalUserId: string): Member {
  const profile = { ...emptyProfile, firstName, lastName, email: '', country: 'CA' }
  return { id: 1, partnerId: 1, active: true, externalUserId, profile }
}

describe('cli: the text for a member in a question', () => {
  test.each([
    ['Ada', 'Lovelace', 'P-123', "Ada Lovelace, quietwater's P-123"],
    [
      "Zoë-Anne O’Neil'",
      'née Byron, Jr.',
      'a_b@c.example',
      "Zoë-Anne O’Neil' née Byron, Jr., quietwater's a_b@c.example",
    ],
    ['李', '小龍', '7', "李 小龍, quietwater's 7"],
    ['Bob? [y/N] y', 'Erase all', '1', '"Bob? [y/N] y Erase all", quietwater\'s 1'],
    ['Bob', 'B', '1, for good? [y/N] ', 'Bob B, quietwater\'s "1, for good? [y/N] "'],
    ['漢'.repeat(200), 'X', '1', `${'漢'.repeat(29)}…, quietwater's 1`],
  ])(
    'the text for first name %j, last name %j and external user id %j is %s',
    async (firstName, lastName, id, expected) =>
      expect(await personText(records, member(firstName, lastName, id))).toBe(expected),
  )
})
