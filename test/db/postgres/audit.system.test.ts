import { expect, test } from 'bun:test'
import { auditStart } from '../../../src/domain/audit'
import { line, refusal, tenLines } from '../../support/audit-lines'
import { describeOnPostgres } from '../../support/postgres-databases'
import { type AuditPlace, openAuditPlace } from './audit-place'

const now = Date.UTC(2026, 11, 1, 12)

/** A log of ten lines. Every third line is a refused authentication. */
async function openTenLines(): Promise<AuditPlace> {
  const place = await openAuditPlace()
  await place.append(tenLines)
  return place
}

/** Opens a log of ten lines. Then adds line 11 between booking requests. */
async function openWithRequests(): Promise<AuditPlace> {
  const place = await openTenLines()
  await place.book()
  await place.book()
  await place.append([line(10)])
  await place.book()
  expect(await place.audit.verify(null)).toMatchObject(intactUpTo(11))
  return place
}

const intactUpTo = (id: number) => ({ intact: true, head: { id } }) as const
const broken = (id: number, fault: string) => ({ intact: false, id, fault }) as const
const asWritten = 'the line was altered'
const unsealed = 'the seal of the newest line is missing or was altered'

describeOnPostgres('postgres: tampering with the audit log without the key', () => {
  const inserted = (id: string) =>
    `INSERT INTO audit SELECT ${id}, at, actor, action, record, outcome, hash FROM audit WHERE id = 4`
  const before = 'the line lies in the part that was pruned'
  test.each<[what: string, statements: string[], id: number, fault: string]>([
    ['the removal of all lines', ['DELETE FROM audit'], 1, 'the lines from here to line 10 are missing'],
    ['a line inserted before all others', [inserted('-9223372036854775808')], -(2 ** 63), before],
    ['a missing seal', [`DELETE FROM settings WHERE name = 'audit'`], 10, unsealed],
  ])('verification finds %s', async (_, statements, id, fault) => {
    await using place = await openTenLines()
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(10))
    await place.attack(...statements)
    expect(await place.audit.verify(null)).toEqual(broken(id, fault))
  })

  test('verification finds a changed value in any column of any line', async () => {
    await using place = await openTenLines()
    const others = {
      at: '7',
      actor: `'x'`,
      action: `'member.erase'`,
      record: `'x'`,
      outcome: `'x'`,
      hash: `'x'`,
    }
    for (const [column, other] of Object.entries(others)) {
      for (let id = 1; id <= 10; id++) {
        await place.attack(
          `CREATE TABLE kept AS SELECT * FROM audit WHERE id = ${id}`,
          `UPDATE audit SET ${column} = ${other} WHERE id = ${id}`,
        )
        expect(await place.audit.verify(null), `${column} of ${id}`).toEqual(broken(id, asWritten))
        await place.attack(
          `UPDATE audit SET ${column} = (SELECT ${column} FROM kept) WHERE id = ${id}`,
          'DROP TABLE kept',
        )
      }
    }
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(10))
  })
})

describeOnPostgres('postgres: the audit log with several nodes', () => {
  const keepOld = [
    'CREATE TABLE old_audit AS TABLE audit',
    `CREATE TABLE old_settings AS SELECT * FROM settings WHERE name = 'audit'`,
  ]
  const putBackLog = [
    'DELETE FROM audit',
    'INSERT INTO audit SELECT * FROM old_audit',
    `DELETE FROM settings WHERE name = 'audit'`,
    'INSERT INTO settings SELECT * FROM old_settings',
  ]

  test('verification with a recorded head detects an older copy of the log', async () => {
    await using place = await openWithRequests()
    await place.attack(...keepOld)
    const [noted] = await place.append([line(11)])
    await place.attack(...putBackLog)
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(11))
    expect(await place.audit.verify({ id: 12, hash: noted?.hash ?? '' })).toEqual(
      broken(12, 'the lines up to the given head are missing'),
    )
  })

  test('the log passes verification after an erasure and a prune', async () => {
    await using place = await openWithRequests()
    await place.attack('UPDATE booking_requests SET member_id = NULL')
    const { state } = await place.audit.walked.stand()
    expect(await place.act((audit) => audit.removeUpTo('acts', state?.acts.head ?? auditStart))).toBe(8)
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(11))
    await place.book()
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(11))
    await place.append([line(11)])
    expect(await place.act((audit) => audit.removeUpTo('refusals', state?.refusals.head ?? auditStart))).toBe(
      3,
    )
    await place.append([line(12)])
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(13))
  })

  test('the log passes verification after nodes were cut off during transactions', async () => {
    await using place = await openTenLines()
    const cutOff = async (work: (node: Awaited<ReturnType<typeof place.node>>) => Promise<unknown>) => {
      const node = await place.node()
      const [[pid]] = (await node.connection`SELECT pg_backend_pid()`.values()) as [[number]]
      await work(node)
      await place.attack(`SELECT pg_terminate_backend(${pid}, 5000)`)
      expect(await place.audit.verify(null)).toMatchObject({ intact: true })
    }
    await cutOff((node) => place.beginBooking(node))
    await cutOff((node) => place.book(node))
    await cutOff(async ({ connection, audit }) => {
      await connection.unsafe('BEGIN; SELECT pg_advisory_xact_lock(1)').simple()
      await audit.append([line(10)])
    })
    await cutOff((node) => place.act((audit) => audit.append([line(10)]), node))
    expect(await place.book()).toBe(3)
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(11))
  })

  test('verification passes while nodes add requests, add audit lines and prune', async () => {
    await using place = await openTenLines()
    const [booking, acting, pruning] = [await place.node(), await place.node(), await place.node()]
    const done = { bookings: 0, acts: 0, prunes: 0 }
    let isOver = false
    const busy = async (name: keyof typeof done, work: () => Promise<unknown>) => {
      for (; !isOver; done[name]++) await work()
    }
    const others = [
      busy('bookings', () => place.book(booking)),
      busy('acts', () => place.act((audit) => audit.append([line(done.acts), refusal(0)]), acting)),
      busy('prunes', async () => {
        const [first] = await pruning.audit.list(1, { after: 0, actions: ['member.show'] })
        if (first) await place.act((audit) => audit.removeUpTo('acts', first), pruning)
      }),
    ]
    const verdicts = []
    while (Math.min(...Object.values(done)) < 30) verdicts.push(await place.audit.verify(null))
    isOver = true
    await Promise.all(others)
    expect(verdicts.filter(({ intact }) => !intact)).toEqual([])
    expect(verdicts.length).toBeGreaterThan(3)
    expect(await place.audit.verify(null)).toMatchObject({ intact: true })
  })
})

describeOnPostgres('postgres: appended audit lines', () => {
  test('lines of several nodes get ids without gaps', async () => {
    await using place = await openTenLines()
    const nodes = await Promise.all([1, 2, 3].map(() => place.node()))
    const appended = await Promise.all(
      nodes.flatMap((node) => [place.act((audit) => audit.append([line(20), refusal(21)]), node)]),
    )
    const stored = await place.audit.list(6)
    expect(appended.flat().toSorted((a, b) => a.id - b.id)).toEqual(stored)
    expect(stored.map(({ id }) => id)).toEqual([11, 12, 13, 14, 15, 16])
    let lost: Awaited<ReturnType<typeof place.append>> = []
    const failed = place.act(async (audit) => {
      lost = await audit.append([line(30)])
      throw new Error('no COMMIT')
    })
    expect(await failed.catch((error) => error.message)).toBe('no COMMIT')
    const isThere = (one = lost[0]) => place.audit.isThere(one ?? auditStart)
    expect(lost.map(({ id }) => id)).toEqual([17])
    expect([await isThere(), await isThere(stored[0])]).toEqual([false, true])
    await place.append([line(31)])
    expect(await isThere()).toBe(false)
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(17))
  })

  test('appending no lines sends no statement', async () => {
    await using place = await openTenLines()
    const { audit, asked } = await place.node()
    expect(await audit.append([])).toEqual([])
    expect(asked).toEqual([])
  })

  test('triggers reject changing, truncating or deleting audit lines', async () => {
    await using place = await openTenLines()
    const refused = (statement: string) =>
      place.connection.unsafe(statement).then(
        () => 'done',
        (error) => error.message,
      )
    expect(await refused('DELETE FROM audit WHERE id = 3')).toBe('audit lines stay')
    expect(await refused(`UPDATE audit SET actor = 'x'`)).toBe('audit lines stay as they are')
    expect(await refused('TRUNCATE audit')).toBe('audit lines stay as they are')
  })
})

describeOnPostgres('postgres: email conflicts in the audit log', () => {
  test('the nth newest email conflict is null if a partner has fewer than n conflicts', async () => {
    await using place = await openAuditPlace()
    await place.append(
      [1, 2, 3].map((at) => line(at, { action: 'member.email-conflict', actor: 'partner 1' })),
    )
    const at = (back: number, after = now) => place.audit.conflictAt({ actor: 'partner 1', after, back })
    expect([await at(1), await at(3), await at(4), await at(3, now + 1)]).toEqual([
      now + 3,
      now + 1,
      null,
      null,
    ])
  })
})

describeOnPostgres('postgres: statements of the audit log', () => {
  test('no statement on the audit log scans a whole table', async () => {
    await using place = await openAuditPlace()
    await place.attack(
      `INSERT INTO audit SELECT id, id, 'operator ' || id % 9, 'member.show', 'member ' || id % 500, 'done', id
       FROM generate_series(1, 20000) id`,
      `INSERT INTO booking_requests (record_key, is_intake, state, submitted_at)
       SELECT id, true, 'unassigned', 0 FROM generate_series(1, 20000) id`,
      'ANALYZE',
    )
    const { audit, asked, connection } = await place.node()
    await audit.walked.stand()
    await audit.walked.linesAfter(null, 10)
    await audit.walked.linesAfter(5, 10)
    await audit.isThere({ id: 5, hash: '5' })
    await audit.countRefusals({ since: 0, most: 10 })
    await audit.countRefusals({ since: 0, most: 10, partnerId: 1 })
    await audit.countEmailConflicts(0)
    await audit.listReviewed([1])
    await audit.conflictAt({ actor: 'partner 1', after: 0, back: 1 })
    for (const after of [undefined, 5]) {
      await audit.list(10, { after })
      await audit.list(10, { after, since: 5 })
      await audit.list(10, { after, actor: 'operator 1' })
      await audit.list(10, { after, record: 'member 1' })
      await audit.list(10, { after, actor: 'operator 1', record: 'member 1' })
    }
    await place.act((audit) => audit.append([line(1)]), { audit, connection, asked })
    const { head } = (await audit.walked.stand()).state?.acts ?? { head: auditStart }
    await place.act((audit) => audit.removeUpTo('acts', head), { audit, connection, asked })
    const statements = [...new Set(asked)]
    expect(statements.length).toBeGreaterThan(20)
    await connection.unsafe('SET plan_cache_mode = force_generic_plan').simple()
    const whole: string[] = []
    for (const [index, statement] of statements.entries()) {
      const count = Math.max(0, ...Array.from(statement.matchAll(/\$(\d+)/g), ([, number]) => Number(number)))
      const values = count === 0 ? '' : `(${Array(count).fill('NULL').join()})`
      const [, plan] = await connection
        .unsafe(`PREPARE asked_${index} AS ${statement}; EXPLAIN EXECUTE asked_${index}${values}`)
        .simple()
      if (/Seq Scan on (audit|booking_requests)/.test(JSON.stringify(plan))) whole.push(statement)
    }
    expect(whole).toEqual([])
  })
})
