import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { openPlace, openTestDatabase, openTestEngine } from './place'
import { counted, keepUp, useEverything } from './use-everything'

/** Everything that the engine prepares or runs on a database that is there, while each method of its ports is called. */
async function statementsOf(): Promise<Set<string>> {
  await using place = await openPlace()
  const statements = new Set<string>()
  // The schema that doctor compares with is made anew, in memory.
  const note = ({ filename }: Database, text: string) => {
    if (filename !== ':memory:') statements.add(text)
  }
  const { prepare, query, run } = Database.prototype
  const spies = [
    spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database, ...words) {
      note(this, words[0])
      return prepare.apply(this, words)
    } as typeof prepare),
    spyOn(Database.prototype, 'query').mockImplementation(function (this: Database, text) {
      note(this, text)
      return query.call(this, text)
    } as typeof query),
    spyOn(Database.prototype, 'run').mockImplementation(function (this: Database, ...words) {
      note(this, words[0])
      return run.apply(this, words)
    } as typeof run),
  ]
  try {
    const again = await place.openAgain()
    const called = new Set<string>()
    await useEverything({ ...place, ...again, store: counted(again.store, called) })
    expect(Object.keys(again.store).filter((name) => !called.has(name))).toEqual([])
    const engine = openTestEngine(place.path)
    const kept = new Set<string>()
    await keepUp(counted(engine.maintenance, kept), place.freeTarget)
    await engine.close()
    expect(Object.keys(engine.maintenance).filter((name) => !kept.has(name))).toEqual([])
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return statements
}

const isPlannable = (statement: string) => /^\s*(select|insert|update|delete|with)\b/i.test(statement)

/** The tables that a plan reads from end to end. */
function scannedBy(database: Database, statement: string): string[] {
  const plan = database.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${statement}`).all()
  return plan.flatMap(({ detail }) => /^SCAN (\w+)(?:$| (?!VIRTUAL|ROW))/.exec(detail)?.[1] ?? [])
}

/** As many as an operator has made by hand, whatever partners and members do. */
const small = ['settings', 'organizations', 'partners', 'regions', 'sqlite_schema']

/** What is read whole on purpose. */
const exceptions: readonly { name: string; table: string; statement: RegExp; why: string }[] = [
  {
    name: 'the requests that an operator lists and counts',
    table: 'booking_requests',
    statement:
      /^select (count\(\*\), min\(.*?\) from "booking_requests"|"id" from "booking_requests"|.* from "booking_requests" left join "members" on "members"\."id" = "booking_requests"\."member_id")( where (?!.*json_each).*)?( order by .*)?$/,
    why: 'by whatever they ask; no request of a partner waits for it. Those that wait have an index of their own',
  },
  {
    name: 'refused authentications',
    table: 'refusals',
    statement: /^select "record", "outcome", count\(\*\), max\("at"\) from \(select .* limit \?\) "refusals"/,
    why: 'no more of them than the limit inside were read',
  },
  {
    name: 'the newest or the first audit lines',
    table: 'audit',
    statement: /^select .* from "audit" order by "audit"."id" (asc|desc) limit \?$/,
    why: 'read from its end or its start, and no further than the lines asked for',
  },
  {
    name: 'scalar subqueries in one statement',
    table: 'one_row',
    statement: /from \(select 1\) as one_row/,
    why: 'it is one row',
  },
  {
    name: 'all keys',
    table: 'partner_keys',
    statement: /^select .* from "partner_keys"( where "partner_keys"."partner_id" = \?)? order by/,
    why: 'few to each partner; read where an operator has changed a partner or a key',
  },
  {
    name: 'the time zones of all providers',
    table: 'providers',
    statement: /^select distinct "time_zone" from "providers"$/,
    why: 'for the appointments of a day by the clock of each; no request of a partner waits for it',
  },
  {
    name: 'all rows of all tables',
    table:
      'partner_keys|providers|licenses|in_person_regions|members|booking_requests|request_notes|replays|changes|audit|sqlite_sequence',
    statement: /^SELECT (count\(\*\) AS count FROM|CASE typeof\()/,
    why: 'the manifest of a backup tells of them; read in the copy, in the process that makes it',
  },
]

const exceptionFor = (statement: string, table: string) =>
  exceptions.find((one) => one.statement.test(statement) && one.table.split('|').includes(table))

let database: Database
let place: Awaited<ReturnType<typeof openPlace>>
let statements: string[]

beforeAll(async () => {
  // The table of an upgrade is there for no longer than that.
  const isOfUpgrade = (statement: string) => statement.includes('unkeyed_audit')
  statements = [...(await statementsOf())].filter((one) => isPlannable(one) && !isOfUpgrade(one))
  place = await openPlace()
  database = openTestDatabase(place.path)
})

afterAll(async () => {
  database?.close()
  await place?.[Symbol.asyncDispose]()
})

const scans = () =>
  statements.flatMap((statement) => scannedBy(database, statement).map((table) => ({ statement, table })))

describe('of the statements that the engine runs', () => {
  test('none reads a table whole that grows', () => {
    const growing = scans().filter(({ table }) => !small.includes(table))
    expect(growing.filter(({ statement, table }) => !exceptionFor(statement, table))).toEqual([])
  })

  test('those that may are there still, and no exception is wider than it has to be', () => {
    const used = new Set(scans().map(({ statement, table }) => exceptionFor(statement, table)?.name))
    expect(exceptions.filter(({ name }) => !used.has(name))).toEqual([])
  })

  test('all are known, of every table', () => {
    expect(statements.length).toBeGreaterThan(50)
    const tables = database
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all()
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('sqlite_'))
    expect(tables.filter((name) => !statements.some((text) => text.includes(name)))).toEqual([])
  })
})

const planOf = (statement: string) =>
  database
    .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${statement}`)
    .all()
    .map(({ detail }) => detail)

test('the conflicts over addresses of a partner are found by an index, and no other line is looked at', () => {
  const [statement = ''] = statements.filter((text) => /from "audit" .* offset \?$/.test(text))
  expect(planOf(statement)).toEqual([
    'SEARCH audit USING COVERING INDEX audit_actor (actor=? AND action=? AND at>?)',
  ])
})

describe('lines of the audit log', () => {
  const ordered = () => statements.filter((text) => / order by "audit"."at" (asc|desc), /.test(text))

  test('that are narrowed are found in their order: none is read beyond those asked for, and nothing is sorted', () => {
    const shapes = ordered().map((text) => planOf(text).join())
    const range = '(?:at>\\? AND at<\\?)'
    const allowed = [
      `SEARCH audit USING INDEX audit_record \\(record=\\? AND action=\\? AND ${range}\\)`,
      `SEARCH audit USING INDEX audit_actor \\(actor=\\? AND action=\\? AND ${range}\\)`,
      `SEARCH audit USING INDEX audit_action \\(action=\\? AND ${range}\\)`,
    ].map((plan) => new RegExp(`^${plan}$`))
    expect(shapes.filter((plan) => !allowed.some((one) => one.test(plan)))).toEqual([])
    // Each is used, in both directions, and would not be without the action.
    expect(allowed.map((one) => shapes.filter((plan) => one.test(plan)).length)).toEqual([3, 2, 2])
    const [unbound = ''] = ordered().filter((text) =>
      text.includes('"audit"."actor" = ? and "audit"."action" = ?'),
    )
    expect(planOf(unbound.replace(' and "audit"."action" = ?', '')).join()).toContain('TEMP B-TREE')
  })
})

test('what is kept for retries is found by its key, what of it has expired by when it was stored, and the rest is left', () => {
  const of = (words: string) =>
    statements.filter((text) => text.includes('"replays"') && text.includes(words))
  expect(of('"key_hash" = ?').map(planOf)).toEqual([
    ['SEARCH replays USING INDEX sqlite_autoindex_replays_1 (partner_id=? AND key_hash=?)'],
  ])
  expect(of('"submitted_at" <= ?').map(planOf)).toEqual([
    ['SEARCH replays USING COVERING INDEX replays_submitted (submitted_at<?)'],
  ])
  const byId = 'SEARCH replays USING INTEGER PRIMARY KEY (rowid=?)'
  const ofMany = [byId, 'LIST SUBQUERY 1', 'SCAN json_each VIRTUAL TABLE INDEX 1:']
  expect(of('delete').map(planOf)).toEqual([[byId], ofMany])
})

test('who has looked at a risk, and who was refused, is read from indexes', () => {
  const of = (words: string) =>
    statements.filter((text) => text.includes(words) && !text.includes(' join ')).map(planOf)
  expect(of("'request.read-screening'").map(([search]) => search)).toEqual([
    'SEARCH audit USING INDEX audit_record (record=? AND action=?)',
  ])
  expect(of('"refusals"').map((plan) => plan.slice(0, 2))).toEqual([
    ['CO-ROUTINE refusals', 'SEARCH audit USING INDEX audit_action (action=? AND at>?)'],
    ['CO-ROUTINE refusals', 'SEARCH audit USING INDEX audit_record (record=? AND action=? AND at>?)'],
  ])
})

describe('of the requests that an operator lists and counts', () => {
  const onRequests = () => statements.filter((text) => text.includes('from "booking_requests"'))
  const pages = () => onRequests().filter((text) => text.includes('"id" in (select "id"'))

  test('those that wait are found by the index that has no others, however long ago they came', () => {
    const isOfWaiting = /"state" (in \('unas|= 'unas)/
    const listed = onRequests().filter((text) => isOfWaiting.test(text) && / left join |min\(/.test(text))
    // Of each of three, all or old intakes alone: a list and two pages. And the oldest of whatever is counted.
    expect(listed).toHaveLength(3 * 2 * 3 + 5 * 2)
    for (const statement of listed) {
      const index = /"state" = 'unas/.test(statement) ? '(unassigned|waiting)' : 'waiting'
      const ofRequests = planOf(statement).filter((step) => /^(SCAN|SEARCH) booking_requests /.test(step))
      expect(ofRequests.at(-1)).toMatch(
        new RegExp(`^(SCAN|SEARCH) booking_requests USING (COVERING )?INDEX booking_requests_${index}$`),
      )
    }
  })

  test('a page is chosen before anything of it is read, and whose they are is asked of no other', () => {
    expect(pages()).toHaveLength(5 * 2 * 2)
    for (const statement of pages()) {
      const plan = planOf(statement)
      expect(plan[0]).toBe('SEARCH booking_requests USING INTEGER PRIMARY KEY (rowid=?)')
      expect(plan.filter((step) => step.startsWith('SEARCH members'))).toHaveLength(1)
      expect(/\(select ("id".*)\) order by/.exec(statement)?.[1]).not.toContain('members')
    }
  })

  test('those that wait are counted without a look at members', () => {
    const counts = onRequests().filter((text) => text.startsWith('select count(*)'))
    expect(counts).toHaveLength(5 * 2)
    expect(counts.filter((text) => text.includes('members'))).toEqual([])
  })
})

test('what was submitted since an instant is found by it, and then whose it is', () => {
  const [statement = ''] = statements.filter((text) => text.includes('"submitted_at" between ? and'))
  expect(planOf(statement)).toEqual([
    'SEARCH booking_requests USING INDEX booking_requests_submitted (submitted_at>? AND submitted_at<?)',
    'CORRELATED SCALAR SUBQUERY 1',
    'SEARCH members USING INTEGER PRIMARY KEY (rowid=?)',
  ])
})

describe('of the slots that requests hold', () => {
  const heldIn = "in ('pending', 'accepted')"
  const onSlots = () => statements.filter((statement) => statement.includes(heldIn))
  const ofProviders = () => onSlots().filter((statement) => /"provider_id" (= \?|in \()/.test(statement))

  test('every question is answered by the partial index', () => {
    expect(onSlots().length).toBeGreaterThan(1)
    for (const statement of onSlots()) {
      const plan = database.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${statement}`).all()
      const [index, owner] = statement.includes('"member_id" = ?')
        ? ['INDEX booking_requests_held', 'member_id']
        : ['INDEX booking_requests_slot', 'provider_id']
      expect(plan.map(({ detail }) => detail).join()).toStartWith(
        `SEARCH booking_requests USING ${index} (${owner}=? AND starts_at>?`,
      )
    }
  })

  test('and would not be, were the states parameters: the check above would find it', () => {
    expect(ofProviders().length).toBe(onSlots().length - 1)
    for (const statement of ofProviders()) {
      const bound = statement.replace(heldIn, 'in (?, ?)')
      expect(scannedBy(database, bound)).toEqual(['booking_requests'])
      expect(exceptionFor(bound, 'booking_requests')).toBeUndefined()
    }
  })
})
