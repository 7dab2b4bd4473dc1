import { describe, expect, test } from 'bun:test'
import type { AuditEntry } from '../../src/domain/audit'
import type { Member } from '../../src/domain/member'
import type { Records } from '../../src/operations/context'
import { findMembersByName } from '../../src/operations/members'
import { act, member } from '../domain/values'

/** Records of so many members, every fortieth of whom is called Sought, and what is asked of them. */
function recordsOf(count: number) {
  const members = Array.from({ length: count }, (_, index): Member => {
    const firstName = index % 40 === 0 ? 'Sought' : 'Robin'
    return { ...member, id: index + 1, profile: { ...member.profile, firstName } }
  })
  const asked: [after: number, most: number][] = []
  const audit: AuditEntry[] = []
  const store = {
    async listMembers(after: number, most: number) {
      asked.push([after, most])
      return members.filter(({ id }) => id > after).slice(0, most)
    },
    async appendAudit(entries: readonly AuditEntry[]) {
      audit.push(...entries)
    },
  }
  return { records: { store } as unknown as Records, asked, audit }
}

describe('members are looked for by name', () => {
  test('a thousand at a time; the first fifty are shown, all are counted, and one line tells', async () => {
    const { records, asked, audit } = recordsOf(2_500)
    const { members, count } = await findMembersByName(records, 'SOUGHT', act)
    expect(count).toBe(63)
    expect(members.map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, index) => index * 40 + 1))
    expect(asked).toEqual([
      [0, 1_000],
      [1_000, 1_000],
      [2_000, 1_000],
      [2_500, 1_000],
    ])
    expect(audit).toEqual([{ ...act, action: 'member.find', record: null, outcome: '63 found' }])
  })

  test('where there is none the line tells that', async () => {
    const { records, audit } = recordsOf(0)
    expect(await findMembersByName(records, 'sought', act)).toEqual({ members: [], count: 0 })
    expect(audit).toMatchObject([{ outcome: '0 found' }])
  })
})
