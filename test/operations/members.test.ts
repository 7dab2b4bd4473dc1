import { describe, expect, test } from 'bun:test'
import type { AuditEntry } from '../../src/domain/audit'
import type { RequestEnd } from '../../src/domain/booking-request'
import { Refusal } from '../../src/domain/errors'
import type { Member } from '../../src/domain/member'
import type { Store } from '../../src/domain/ports/store'
import type { Records } from '../../src/operations/context'
import { findMembers } from '../../src/operations/find-records'
import { rotateMasterKey } from '../../src/operations/maintenance'
import { eraseDue, eraseMember, finishErasure, membersDue } from '../../src/operations/members'
import { act, booking, member, partner } from '../domain/values'
import { factsStore } from '../support/facts-store'

/** Records of `count` members. Every fortieth member has the first name Sought. A batch takes `batchMillis`. */
function recordsOf(count: number, batchMillis = 0) {
  const members = Array.from({ length: count }, (_, index): Member => {
    const firstName = index % 40 === 0 ? 'Sought' : 'Robin'
    const email = `robin-${index + 1}@example.com`
    const externalUserId = index === 1 ? 'Sought' : `P-${index + 1}`
    return { ...member, id: index + 1, externalUserId, profile: { ...member.profile, firstName, email } }
  })
  const asked: [before: number, most: number][] = []
  const audit: AuditEntry[] = []
  const store: Store = {
    ...factsStore({
      partners: { list: () => [partner] },
      audit: { list: () => [] },
      members: {
        find: (partnerId, externalUserId) =>
          members.find((one) => one.partnerId === partnerId && one.externalUserId === externalUserId) ?? null,
        findByEmail: (email) => members.find(({ profile }) => profile.email === email) ?? null,
        list(before, most) {
          asked.push([before, most])
          return members
            .filter(({ id }) => id < before)
            .toReversed()
            .slice(0, most)
        },
      },
    }),
    async appendAudit(entries) {
      audit.push(...entries)
    },
  }
  const auditLines = () => audit.map(({ record, outcome }) => [record, outcome])
  const clock = { now: () => asked.length * batchMillis }
  return { records: { store, clock } as unknown as Records, asked, auditLines }
}

describe('operations: searching for members', () => {
  test('a search by name reads a hundred members at a time, and returns and audits the newest fifty', async () => {
    const { records, asked, auditLines } = recordsOf(2_450)
    const { found, count, searched } = await findMembers(records, 'SOUGHT', act)
    expect([count, searched]).toEqual([62, null])
    const ids = Array.from({ length: 50 }, (_, index) => 2_441 - index * 40)
    expect(found.map(({ member: { id }, by }) => [id, by])).toEqual(ids.map((id) => [id, 'name']))
    expect(asked).toHaveLength(25)
    expect(asked.slice(0, 3)).toEqual([
      [Number.MAX_SAFE_INTEGER, 100],
      [2_351, 100],
      [2_251, 100],
    ])
    expect(auditLines()).toEqual([[null, '62 found'], ...ids.map((id) => [`member ${id}`, 'done'])])
  })

  test('a search by name stops after half a second and returns how many members it has read', async () => {
    const { records, asked } = recordsOf(2_500, 250)
    const { found, count, searched } = await findMembers(records, 'Sought', act)
    expect<unknown>(found.map(({ member: { id }, by }) => [id, by])).toEqual([
      [2, "partner's id"],
      ...[2_481, 2_441, 2_401, 2_361, 2_321].map((id) => [id, 'name'] as const),
    ])
    expect([count, searched, asked.length]).toEqual([6, 200, 2])
  })

  test('other work runs between two batches of a search', async () => {
    const { records, asked } = recordsOf(1_000)
    const search = findMembers(records, 'Sought', act)
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    expect(asked.length).toBeLessThan(4)
    await search
  })

  test('a search by a whole email address or external user id reads no other members', async () => {
    const { records, asked, auditLines } = recordsOf(100)
    expect((await findMembers(records, 'P-7', act)).found).toMatchObject([
      { member: { id: 7 }, by: "partner's id" },
    ])
    expect((await findMembers(records, 'robin-9@example.com', act)).found).toMatchObject([
      { member: { id: 9 }, by: 'e-mail' },
    ])
    expect(asked).toEqual([])
    expect(auditLines()).toEqual([
      [null, '1 found'],
      ['member 7', 'done'],
      ['member 9', 'done'],
      [null, '1 found'],
    ])
  })

  test('a search for a text finds members by name and by external user id together', async () => {
    const { records } = recordsOf(50)
    const { found, count } = await findMembers(records, 'Sought', act)
    expect(found.map(({ member: { id }, by }) => [id, by])).toEqual([
      [2, "partner's id"],
      [41, 'name'],
      [1, 'name'],
    ])
    expect(count).toBe(3)
  })

  test('a search without a result is audited', async () => {
    const { records, auditLines } = recordsOf(0)
    expect(await findMembers(records, 'sought', act)).toEqual({ found: [], count: 0, searched: null })
    expect(auditLines()).toEqual([[null, '0 found']])
  })
})

function recordsThat(purge: () => Promise<boolean>): Records {
  const records = {
    store: factsStore({
      members: { findForStaff: (id) => (id === member.id ? member : null) },
      requests: { listOf: () => [{ ...booking, id: 5 }] },
      notes: { ofMembers: () => [] },
      audit: {
        list: () => [{ ...act, id: 1, action: 'member.erase', record: null, outcome: 'done', hash: '' }],
      },
    }),
    maintenance: { purge, keptAfterErasure: async () => 'In backups.' },
    keyring: { hasRotated: false, rotate: async () => '/key' },
  }
  return records as unknown as Records
}

describe('operations: purging after an erasure or a key rotation', () => {
  const allOf = async (records: Records): Promise<unknown[]> => [
    await eraseMember(records, member, act),
    await finishErasure(records, member.id + 1),
    await rotateMasterKey(records, undefined, act),
  ]
  const keptIn = 'In backups.'

  test('an erasure or a key rotation reports that old data is not purged if the storage refuses the purge', async () => {
    for (const kind of ['storage_failed', 'storage_busy'] as const) {
      const records = recordsThat(() => Promise.reject(new Refusal(kind, 'the disk is full')))
      expect(await allOf(records)).toEqual([
        { holding: [5], isPurged: false, keptIn },
        { isPurged: false, keptIn },
        { path: '/key', isPurged: false },
      ])
    }
  })

  test('an erasure or a key rotation reports that old data is purged', async () => {
    expect(await allOf(recordsThat(async () => true))).toEqual([
      { holding: [5], isPurged: true, keptIn },
      { isPurged: true, keptIn },
      { path: '/key', isPurged: true },
    ])
  })

  test('an unexpected error of the purge is thrown', async () => {
    const records = recordsThat(() => Promise.reject(new Error('a defect')))
    await expect(eraseMember(records, member, act)).rejects.toThrow('a defect')
    await expect(finishErasure(records, member.id + 1)).rejects.toThrow('a defect')
    await expect(rotateMasterKey(records, undefined, act)).rejects.toThrow('a defect')
  })
})

describe('operations: members that are due', () => {
  /** Members 1 to `count`, each with one closed request that ended at the id of the member. */
  function recordsDue(count: number) {
    const asked: number[][] = []
    const endsOf = (ids: readonly number[]) => {
      asked.push([ids[0] ?? 0, ids.length])
      return ids.map((id): RequestEnd => {
        return { ...booking, id, memberId: id, state: 'closed', submittedAt: id, endsAt: null }
      })
    }
    const store = factsStore({
      members: {
        idsAfter: (after, most) =>
          Array.from({ length: Math.min(most, count - after) }, (_, index) => after + index + 1),
      },
      requests: { endsOf },
      notes: { ofMembers: () => [] },
    })
    const maintenance = { purge: async () => true, keptAfterErasure: async () => 'In backups.' }
    return { records: { store, maintenance } as unknown as Records, asked, store }
  }

  test('are found a thousand members at a time', async () => {
    const { records, asked } = recordsDue(2_500)
    const due = await Array.fromAsync(membersDue(records, 2_400))
    expect(due).toHaveLength(2_399)
    expect(due[2_398]).toEqual({ id: 2_399, endedAt: 2_399, openRequest: null })
    expect(asked).toEqual([
      [1, 1_000],
      [1_001, 1_000],
      [2_001, 500],
    ])
  })

  test('are erased fifty at a time, except those that are no longer due', async () => {
    const { records, asked, store } = recordsDue(120)
    const ids = Array.from({ length: 120 }, (_, index) => index + 1)
    const { erased, ...rest } = await eraseDue(records, ids, 111, act)
    expect(erased).toEqual(ids.slice(0, 110))
    expect(rest).toEqual({ isPurged: true, keptIn: 'In backups.' })
    expect(asked).toEqual([
      [1, 50],
      [51, 50],
      [101, 20],
    ])
    expect(store.written.map(([by]) => by)).toEqual([act, act, act])
  })
})
