import { describe, expect, test } from 'bun:test'
import type { AuditEntry } from '../../src/domain/audit'
import type { Member } from '../../src/domain/member'
import type { Records } from '../../src/operations/context'
import { findMembers } from '../../src/operations/members'
import { act, member, partner } from '../domain/values'

/** Records of so many members, every fortieth of whom is called Sought, and what is asked of them. */
function recordsOf(count: number) {
  const members = Array.from({ length: count }, (_, index): Member => {
    const firstName = index % 40 === 0 ? 'Sought' : 'Robin'
    const email = `robin-${index + 1}@example.com`
    const externalUserId = index === 1 ? 'Sought' : `P-${index + 1}`
    return { ...member, id: index + 1, externalUserId, profile: { ...member.profile, firstName, email } }
  })
  const asked: [after: number, most: number][] = []
  const audit: AuditEntry[] = []
  const line = { ...act, action: 'member.find' } as const
  const store = {
    async listPartners() {
      return [partner]
    },
    async findMember(partnerId: number, externalUserId: string) {
      return (
        members.find((one) => one.partnerId === partnerId && one.externalUserId === externalUserId) ?? null
      )
    },
    async findMemberByEmail(email: string) {
      const found = members.find(({ profile }) => profile.email === email) ?? null
      audit.push({ ...line, record: found && `member ${found.id}`, outcome: 'done' })
      return found
    },
    async listMembers(after: number, most: number) {
      asked.push([after, most])
      return members.filter(({ id }) => id > after).slice(0, most)
    },
    async appendAudit(entries: readonly AuditEntry[]) {
      audit.push(...entries)
    },
  }
  const told = () => audit.map(({ record, outcome }) => [record, outcome])
  return { records: { store } as unknown as Records, asked, told }
}

describe('members are looked for', () => {
  test('by name a thousand at a time; the first fifty are shown, all are counted, and a line tells of each shown', async () => {
    const { records, asked, told } = recordsOf(2_500)
    const { found, count } = await findMembers(records, 'SOUGHT', act)
    expect(count).toBe(63)
    const ids = Array.from({ length: 50 }, (_, index) => index * 40 + 1)
    expect(found.map(({ member: { id }, by }) => [id, by])).toEqual(ids.map((id) => [id, 'name']))
    expect(asked).toEqual([
      [0, 1_000],
      [1_000, 1_000],
      [2_000, 1_000],
      [2_500, 1_000],
    ])
    expect(told()).toEqual([[null, '63 found'], ...ids.map((id) => [`member ${id}`, 'done'])])
  })

  test("by the whole of an address or a partner's id without a look at others", async () => {
    const { records, asked, told } = recordsOf(100)
    expect((await findMembers(records, 'P-7', act)).found).toMatchObject([
      { member: { id: 7 }, by: "partner's id" },
    ])
    expect((await findMembers(records, 'robin-9@example.com', act)).found).toMatchObject([
      { member: { id: 9 }, by: 'e-mail' },
    ])
    expect(asked).toEqual([])
    expect(told()).toEqual([
      [null, '1 found'],
      ['member 7', 'done'],
      ['member 9', 'done'],
      [null, '1 found'],
    ])
  })

  test('by what may be a name too are found under both', async () => {
    const { records } = recordsOf(50)
    const { found, count } = await findMembers(records, 'Sought', act)
    expect(found.map(({ member: { id }, by }) => [id, by])).toEqual([
      [1, 'name'],
      [2, "partner's id"],
      [41, 'name'],
    ])
    expect(count).toBe(3)
  })

  test('where there is none the line tells that', async () => {
    const { records, told } = recordsOf(0)
    expect(await findMembers(records, 'sought', act)).toEqual({ found: [], count: 0 })
    expect(told()).toEqual([[null, '0 found']])
  })
})
