import { describe, expect, test } from 'bun:test'
import type { AuditEntry } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import type { Member } from '../../src/domain/member'
import type { Store } from '../../src/domain/ports/store'
import type { Records } from '../../src/operations/context'
import { rotateMasterKey } from '../../src/operations/maintenance'
import { eraseMember, findMembers, finishErasure } from '../../src/operations/members'
import { act, booking, member, partner } from '../domain/values'
import { factsStore } from '../support/facts-store'

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
  const store: Store = {
    ...factsStore({
      partners: { list: () => [partner] },
      members: {
        find: (partnerId, externalUserId) =>
          members.find((one) => one.partnerId === partnerId && one.externalUserId === externalUserId) ?? null,
        findByEmail(email) {
          const found = members.find(({ profile }) => profile.email === email) ?? null
          audit.push({
            ...act,
            action: 'member.find',
            record: found && `member ${found.id}`,
            outcome: 'done',
          })
          return found
        },
        list(after, most) {
          asked.push([after, most])
          return members.filter(({ id }) => id > after).slice(0, most)
        },
      },
    }),
    async appendAudit(entries) {
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

/** Records that have one member erased and one key put in force, and what comes of clearing away what was before. */
function recordsThat(purge: () => Promise<boolean>): Records {
  const records = {
    store: factsStore({
      members: { findForStaff: (id) => (id === member.id ? member : null) },
      requests: { listOf: () => [{ ...booking, id: 5 }] },
      notes: { idsOfMember: () => [] },
      audit: {
        list: () => [{ ...act, id: 1, action: 'member.erase', record: null, outcome: 'done', hash: '' }],
      },
    }),
    maintenance: { purge, keptAfterErasure: async () => 'In backups.' },
    keyring: { hasRotated: false, rotate: async () => '/key' },
  }
  return records as unknown as Records
}

describe('what was erased is erased, and a key that was put in force is in force', () => {
  const allOf = async (records: Records): Promise<unknown[]> => [
    await eraseMember(records, member, act),
    await finishErasure(records, member.id + 1),
    await rotateMasterKey(records, undefined, act),
  ]
  const keptIn = 'In backups.'

  test('where the storage refuses to clear away what was before: that is still to be done', async () => {
    for (const kind of ['storage_failed', 'storage_busy'] as const) {
      const records = recordsThat(() => Promise.reject(new Refusal(kind, 'the disk is full')))
      expect(await allOf(records)).toEqual([
        { holding: [5], isPurged: false, keptIn },
        { isPurged: false, keptIn },
        { path: '/key', isPurged: false },
      ])
    }
  })

  test('where it is cleared away', async () => {
    expect(await allOf(recordsThat(async () => true))).toEqual([
      { holding: [5], isPurged: true, keptIn },
      { isPurged: true, keptIn },
      { path: '/key', isPurged: true },
    ])
  })

  test('and what nobody foresaw is told as what it is', async () => {
    const records = recordsThat(() => Promise.reject(new Error('a defect')))
    await expect(eraseMember(records, member, act)).rejects.toThrow('a defect')
    await expect(finishErasure(records, member.id + 1)).rejects.toThrow('a defect')
    await expect(rotateMasterKey(records, undefined, act)).rejects.toThrow('a defect')
  })
})
