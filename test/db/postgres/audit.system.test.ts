import { expect, test } from 'bun:test'
import { verifyLog } from '../../../db/audit/verification'
import { archivesOf, logOver } from '../../../db/queries/audit'
import { type AuditEntry, type AuditFilter, auditStart } from '../../../src/domain/audit'
import { countRefusals, filterLines } from '../../support/audit-lines'
import { Folder } from '../../support/folder'
import { describeOnPostgres } from '../../support/postgres-databases'
import { type AuditPlace, hashes, openAuditPlace } from './audit-place'

const now = Date.UTC(2026, 11, 1, 12)

const line = (index: number, different: Partial<AuditEntry> = {}): AuditEntry => ({
  at: now + index,
  actor: `operator ${index % 3}`,
  action: 'member.show',
  record: index % 2 ? `member ${index}` : null,
  outcome: 'done',
  ...different,
})
const refusal = (index: number) =>
  line(index, { action: 'authentication.refuse', actor: '::1', outcome: 'token_invalid' })

/** A log of ten lines, every third a refused authentication. */
async function openTenLines(): Promise<AuditPlace> {
  const place = await openAuditPlace()
  await place.append(Array.from({ length: 10 }, (_, index) => (index % 3 === 2 ? refusal : line)(index)))
  return place
}

/** One with requests, too: three groups of them, and an act after the second. */
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
const asWritten = 'the line is not as it was written'
const unsealed = 'the seal of the newest line is missing or not as it was written'

const inSettings = (json: string) =>
  `UPDATE settings SET value = convert_to((${json})::text, 'UTF8') WHERE name = 'audit'`
const state = `convert_from(value, 'UTF8')::jsonb`

describeOnPostgres('without the key, and with no head noted elsewhere, there is found on PostgreSQL', () => {
  const inserted = (id: string) =>
    `INSERT INTO audit SELECT ${id}, at, actor, action, record, outcome, hash FROM audit WHERE id = 4`
  const before = 'the line stands among those that were pruned'
  test.each<[what: string, statements: string[], id: number, fault: string]>([
    ['all lines gone', ['DELETE FROM audit'], 1, 'the lines from here to line 10 are missing'],
    ['a line put in before all numbers', [inserted('-9223372036854775808')], -(2 ** 63), before],
    ['a seal that is gone', [`DELETE FROM settings WHERE name = 'audit'`], 10, unsealed],
  ])('%s', async (_, statements, id, fault) => {
    await using place = await openTenLines()
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(10))
    await place.attack(...statements)
    expect(await place.audit.verify(null)).toEqual(broken(id, fault))
  })

  test('another value of any column of any line', async () => {
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

describeOnPostgres('the log of several nodes:', () => {
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

  test('an older log that was put back is found by a head that was noted', async () => {
    await using place = await openWithRequests()
    await place.attack(...keepOld)
    const [noted] = await place.append([line(11)])
    await place.attack(...putBackLog)
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(11))
    expect(await place.audit.verify({ id: 12, hash: noted?.hash ?? '' })).toEqual(
      broken(12, 'the lines up to the one noted are missing'),
    )
  })

  test('an erasure, and an act that was pruned, are no fault', async () => {
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

  test('nodes that are cut off at any moment leave a log that is intact', async () => {
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

  test('a check beside bookings and acts finds it intact each time', async () => {
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

describeOnPostgres('lines that are appended on PostgreSQL', () => {
  test('are told, have ids without gaps from whichever node, and one that is not stored is not there', async () => {
    await using place = await openTenLines()
    const nodes = await Promise.all([1, 2, 3].map(() => place.node()))
    const told = await Promise.all(
      nodes.flatMap((node) => [place.act((audit) => audit.append([line(20), refusal(21)]), node)]),
    )
    const stored = await place.audit.list(6)
    expect(told.flat().toSorted((a, b) => a.id - b.id)).toEqual(stored)
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

  test('ask for nothing where there are none', async () => {
    await using place = await openTenLines()
    const { audit, asked } = await place.node()
    expect(await audit.append([])).toEqual([])
    expect(asked).toEqual([])
  })

  test('hold whatever an actor is called', async () => {
    await using place = await openAuditPlace()
    const actors = ['a "b\' \\ $1', '{"x":1}', 'Zoë 🦆\n', 'null']
    await place.append(actors.map((actor) => line(0, { actor })))
    expect((await place.audit.list(10)).map(({ actor }) => actor)).toEqual(actors)
    expect(await place.audit.list(1, { actor: actors[0] })).toMatchObject([{ id: 1 }])
    expect(await place.audit.verify(null)).toMatchObject(intactUpTo(4))
  })

  test.each([
    `DELETE FROM settings WHERE name = 'audit'`,
    inSettings(`jsonb_set(${state}, '{acts,head,id}', '8')`),
  ])('heal no seal that is wrong, and neither do requests (%s)', async (statement) => {
    await using place = await openTenLines()
    await place.attack(statement)
    await place.append([line(10)])
    await place.book()
    expect(await place.audit.list(1)).toMatchObject([{ id: 11 }])
    expect(await place.audit.head()).toMatchObject({ id: 11 })
    expect(await place.audit.verify(null)).toEqual(broken(11, unsealed))
  })

  test('stay as they are: the database refuses to change one, or to remove one that was not pruned', async () => {
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

describeOnPostgres('lists of the log on PostgreSQL', () => {
  test('have the lines that fit, in their order, whatever is asked for', async () => {
    await using place = await openAuditPlace()
    const actors = ['olive', 'pat', 'partner 1', '::1']
    const records = ['partner 1', 'member 2', 'request 3', null]
    const actions = ['member.show', 'token.issue', 'authentication.refuse', 'request.read-screening'] as const
    const pick = <T>(all: readonly T[], index: number): T => all[index % all.length] as T
    // Several of an instant, and some that were noted late.
    const entries = Array.from({ length: 300 }, (_, index) => ({
      at: now + Math.floor(index / 3) - (index % 7 === 0 ? 40 : 0),
      actor: pick(actors, index * 7 + Math.floor(index / 5)),
      action: pick(actions, index * 3 + Math.floor(index / 11)),
      record: pick(records, index * 5 + Math.floor(index / 13)),
      outcome: pick(['done', 'token_invalid', 'token_revoked, claimed'], Math.floor(index / 4)),
    }))
    const all = await place.append(entries)
    const subjects: AuditFilter[] = [
      {},
      { actor: 'olive' },
      { record: 'partner 1' },
      { actor: 'partner 1', record: 'member 2' },
      { actions: ['token.issue', 'member.show'] },
      { anyOf: [{ actor: 'partner 1' }, { record: 'partner 1' }] },
      { anyOf: [{ actor: 'olive' }, { actor: 'pat', record: 'request 3' }], record: 'request 3' },
      { anyOf: [] },
      { actor: 'nobody' },
    ]
    const times: AuditFilter[] = [
      {},
      { since: now + 20, until: now + 70 },
      { after: 0 },
      { after: 120 },
      { after: 999 },
      { after: 50, since: now + 30 },
    ]
    let found = 0
    for (const limit of [1, 7, 1_000]) {
      for (const subject of subjects) {
        for (const time of times) {
          const filter = { ...subject, ...time }
          const listed = await place.audit.list(limit, filter)
          expect(listed, JSON.stringify({ limit, filter })).toEqual(filterLines(all, limit, filter))
          found += listed.length
        }
      }
    }
    expect(found).toBeGreaterThan(1_000)
    for (const partnerId of [undefined, 1, 2]) {
      const asked = { since: now + 5, most: 1_000, partnerId }
      expect(await place.audit.countRefusals(asked)).toEqual(countRefusals(all, asked))
    }
    const lookedAt = all.some(
      ({ action, record, outcome }) =>
        action === 'request.read-screening' && record === 'request 3' && outcome === 'done',
    )
    expect(lookedAt).toBe(true)
    expect(await place.audit.looksAtRisk([1, 2, 3])).toEqual([3])
    expect(await place.audit.looksAtRisk([])).toEqual([])
  })

  test('tell when the conflict was that is so many back', async () => {
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

describeOnPostgres('a prune on PostgreSQL', () => {
  const ids = async ({ audit }: AuditPlace) => (await audit.list(100)).map(({ id }) => id)
  const act = { actor: 'olive', at: now }

  /** With a connection of its own for each question that is asked outside of a transaction. */
  async function openPruned() {
    const place = await openTenLines()
    const [reader, writer] = [await place.node(), await place.node()]
    const log = logOver(hashes, async (work) => work(reader.audit))
    return {
      place,
      folder: new Folder(),
      log,
      archives: archivesOf(log, (work) => place.act(work, writer)),
      async [Symbol.asyncDispose]() {
        this.folder[Symbol.dispose]()
        await place[Symbol.asyncDispose]()
      },
    }
  }

  test('moves the lines of one chain to an archive, from which the log goes on', async () => {
    await using opened = await openPruned()
    const { place, folder, archives, log } = opened
    const target = folder.file('archive')
    const head = (await place.audit.list(1, { actor: 'operator 1', until: now + 6 }))[0]
    expect(await archives.prune({ chain: 'acts', before: now + 6, target }, act)).toBe(4)
    expect(await ids(place)).toEqual([3, 6, 7, 8, 9, 10, 11])
    expect(await place.audit.list(1)).toMatchObject([{ ...act, action: 'audit.prune', record: 'line 5' }])
    expect(await verifyLog(log, null)).toMatchObject(intactUpTo(11))
    const archive = { chain: 'acts', start: auditStart, head: { id: 5, hash: head?.hash } } as const
    expect(await archives.check(target, null)).toMatchObject({
      intact: true,
      archive,
      next: 'the log goes on from it',
    })
    const refusals = { chain: 'refusals', before: now + 6, target: folder.file('refusals') } as const
    expect(await archives.prune(refusals, act)).toBe(2)
    expect(await ids(place)).toEqual([7, 8, 9, 10, 11, 12])
    expect(await verifyLog(log, null)).toMatchObject(intactUpTo(12))
    await place.append([line(20)])
    expect(await verifyLog(log, null)).toMatchObject(intactUpTo(13))
    const again = await archives
      .prune({ chain: 'acts', before: now + 8, target }, act)
      .catch((error) => error)
    expect(again).toMatchObject({
      kind: 'field_invalid',
      message: '--output: there is a file at that path already',
    })
  })
})

describeOnPostgres('of the statements of the log on PostgreSQL', () => {
  test('none reads a table whole, whatever the parameters are', async () => {
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
    await audit.looksAtRisk([1])
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
