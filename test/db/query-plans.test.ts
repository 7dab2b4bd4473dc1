import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { openPlace, openTestDatabase, openTestEngine } from './place'
import { callMaintenance, callStore, counted } from './use-everything'

/** Calls each method of the engine's ports. Returns the statements that the engine prepares or runs. */
async function statementsOf(): Promise<Set<string>> {
  await using place = await openPlace()
  const statements = new Set<string>()
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
    await callStore({ ...place, ...again, store: counted(again.store, called) })
    expect(Object.keys(again.store).filter((name) => !called.has(name))).toEqual([])
    const engine = openTestEngine(place.path)
    const kept = new Set<string>()
    await callMaintenance(counted(engine.maintenance, kept), place.freeTarget)
    await engine.close()
    expect(Object.keys(engine.maintenance).filter((name) => !kept.has(name))).toEqual([])
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return statements
}

const isPlannable = (statement: string) => /^\s*(select|insert|update|delete|with)\b/i.test(statement)

function scannedBy(database: Database, statement: string): string[] {
  const plan = database.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${statement}`).all()
  return plan.flatMap(({ detail }) => /^SCAN (\w+)(?:$| (?!VIRTUAL|ROW))/.exec(detail)?.[1] ?? [])
}

/** The size of these tables depends on operators, and not on partners or members. */
const small = ['settings', 'organizations', 'partners', 'regions', 'unread_risks', 'sqlite_schema']

/** Statements that read a whole table on purpose. */
const exceptions: readonly { name: string; table: string; statement: RegExp; why: string }[] = [
  {
    name: 'lists and counts of requests for operators',
    table: 'booking_requests',
    statement:
      /^select (count\(\*\), min\(.*?\) from "booking_requests"|"id"(, "member_id")? from "booking_requests"|.* from "booking_requests" left join "members" on "members"\."id" = "booking_requests"\."member_id")( where (?!.*json_each).*)?( order by .*)?$/,
    why: 'filters can be anything, and no request of a partner waits for it; waiting requests have a partial index',
  },
  {
    name: 'refused authentications',
    table: 'refusals',
    statement: /^select "record", "outcome", count\(\*\), max\("at"\) from \(select .* limit \?\) "refusals"/,
    why: 'the subquery has a limit',
  },
  {
    name: 'the newest or the first audit lines',
    table: 'audit',
    statement: /^select .* from "audit" order by "audit"."id" (asc|desc) limit \?$/,
    why: 'read from one end, up to the limit',
  },
  {
    name: 'scalar subqueries in one statement',
    table: 'one_row',
    statement: /from \(select 1\) as one_row/,
    why: 'it is a single row',
  },
  {
    name: 'all keys',
    table: 'partner_keys',
    statement: /^select .* from "partner_keys"( where "partner_keys"."partner_id" = \?)? order by/,
    why: 'a partner has few keys; read after an operator changed a partner or a key',
  },
  {
    name: 'the time zones of all providers',
    table: 'providers',
    statement: /^select distinct "time_zone" from "providers"$/,
    why: 'for the appointments of a local day; no request of a partner waits for it',
  },
  {
    name: 'the names of all providers',
    table: 'providers',
    statement: /^select "id", "ref", "first_name", "last_name" from "providers"$/,
    why: 'to find a provider by name, or to suggest one after an operator named an unknown one',
  },
  {
    name: 'all rows of all tables',
    table:
      'partner_keys|providers|licenses|in_person_regions|members|booking_requests|request_positions|request_notes|replays|changes|audit|sqlite_sequence',
    statement: /^SELECT (count\(\*\) AS count FROM|CASE typeof\()/,
    why: 'for the manifest of a backup; read from the copy, in the process that makes it',
  },
]

const exceptionFor = (statement: string, table: string) =>
  exceptions.find((one) => one.statement.test(statement) && one.table.split('|').includes(table))

let database: Database
let place: Awaited<ReturnType<typeof openPlace>>
let statements: string[]

beforeAll(async () => {
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

describe('db: query plans of all SQLite statements', () => {
  test('no statement scans a whole growing table', () => {
    const growing = scans().filter(({ table }) => !small.includes(table))
    expect(growing.filter(({ statement, table }) => !exceptionFor(statement, table))).toEqual([])
  })

  test('every listed exception is still needed', () => {
    const used = new Set(scans().map(({ statement, table }) => exceptionFor(statement, table)?.name))
    expect(exceptions.filter(({ name }) => !used.has(name))).toEqual([])
  })

  test('statements on every table are covered', () => {
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

test('db: email conflicts of a partner are counted from a covering index', () => {
  const [statement = ''] = statements.filter((text) => /from "audit" .* offset \?$/.test(text))
  expect(planOf(statement)).toEqual([
    'SEARCH audit USING COVERING INDEX audit_actor (actor=? AND action=? AND at>?)',
  ])
})

describe('db: query plans of filtered audit lines', () => {
  const ordered = () => statements.filter((text) => / order by "audit"."at" (asc|desc), /.test(text))

  test('filtered audit lines are read in the order of an index', () => {
    const shapes = ordered().map((text) => planOf(text).join())
    const range = '(?:at>\\? AND at<\\?)'
    const allowed = [
      `SEARCH audit USING INDEX audit_record \\(record=\\? AND action=\\? AND ${range}\\)`,
      `SEARCH audit USING INDEX audit_actor \\(actor=\\? AND action=\\? AND ${range}\\)`,
      `SEARCH audit USING INDEX audit_action \\(action=\\? AND ${range}\\)`,
    ].map((plan) => new RegExp(`^${plan}$`))
    expect(shapes.filter((plan) => !allowed.some((one) => one.test(plan)))).toEqual([])
    expect(allowed.map((one) => shapes.filter((plan) => one.test(plan)).length)).toEqual([3, 2, 2])
    const [unbound = ''] = ordered().filter((text) =>
      text.includes('"audit"."actor" = ? and "audit"."action" = ?'),
    )
    expect(planOf(unbound.replace(' and "audit"."action" = ?', '')).join()).toContain('TEMP B-TREE')
  })
})

test('db: an index finds retry receipts by their key, and expired receipts by their submission time', () => {
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

test('db: reads of screening risks and refused authentications use indexes', () => {
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

describe('db: query plans of request lists for operators', () => {
  const onRequests = () => statements.filter((text) => text.includes('from "booking_requests"'))
  const lists = () => onRequests().filter((text) => text.startsWith('select "id", "member_id" from'))
  const pages = () => lists().filter((text) => text.includes(' limit ?'))

  test('waiting requests of any age are read from a partial index', () => {
    const isOfWaiting = /"state" (in \('unas|= 'unas)/
    const counts = onRequests().filter((text) => text.includes('min('))
    const listed = [...lists(), ...counts].filter((text) => isOfWaiting.test(text))
    expect(listed).toHaveLength(3 * 2 * 3 + 5 * 2)
    for (const statement of listed) {
      const index = /"state" = 'unas/.test(statement) ? '(unassigned|waiting)' : 'waiting'
      const ofRequests = planOf(statement).filter((step) => /^(SCAN|SEARCH) booking_requests /.test(step))
      expect(ofRequests.at(-1)).toMatch(
        new RegExp(`^(SCAN|SEARCH) booking_requests USING (COVERING )?INDEX booking_requests_${index}$`),
      )
    }
  })

  test('a page of requests is chosen without reading members', () => {
    expect(pages()).toHaveLength(5 * 2 * 2 + 1)
    expect(pages().filter((text) => text.includes('members'))).toEqual([])
  })

  test("a page of a member's requests is read from the index on members", () => {
    const [statement = ''] = pages().filter((text) => text.includes('"member_id" = ?'))
    expect(planOf(statement)).toContain(
      'SEARCH booking_requests USING COVERING INDEX booking_requests_member (member_id=?)',
    )
  })

  test('waiting requests are counted without reading members', () => {
    const counts = onRequests().filter((text) => text.startsWith('select count(*)'))
    expect(counts).toHaveLength(5 * 2 + 1)
    expect(counts.filter((text) => text.includes('members'))).toEqual([])
  })
})

test('db: the list of changes is read from an index in its order, and positions are found at its end', () => {
  const of = (words: string) => statements.filter((text) => text.includes(words))
  const search = 'USING COVERING INDEX request_positions_order (partner_id=? AND position>?)'
  const byId = 'USING INTEGER PRIMARY KEY (rowid=?)'
  expect(of('"position" > ?').map(planOf)).toEqual([
    [`SEARCH request_positions ${search}`, `SEARCH booking_requests ${byId}`],
  ])
  const newest = 'USING COVERING INDEX request_positions_order (partner_id=?)'
  expect(of('select max("position")').map(planOf)).toEqual([[`SEARCH request_positions ${newest}`]])
  expect(of('insert into "request_positions"').map(planOf)).toEqual([
    [`SEARCH booking_requests ${byId}`, 'CORRELATED SCALAR SUBQUERY 1', `SEARCH theirs ${newest}`],
  ])
})

test('db: a request of a partner and an unread risk are found by their keys', () => {
  const of = (words: RegExp) => statements.filter((text) => words.test(text)).map(planOf)
  expect(of(/inner join "members".*"partner_id" = /)).toEqual([
    [
      'SEARCH booking_requests USING INTEGER PRIMARY KEY (rowid=?)',
      'SEARCH members USING INTEGER PRIMARY KEY (rowid=?)',
    ],
  ])
  const [byHash] = of(/delete from "unread_risks"/)
  expect(byHash).toEqual(['SEARCH unread_risks USING INDEX sqlite_autoindex_unread_risks_1 (request_hash=?)'])
})

test('db: requests submitted since an instant are read from an index', () => {
  const [statement = ''] = statements.filter((text) => text.includes('"submitted_at" between ? and'))
  expect(planOf(statement)).toEqual([
    'SEARCH booking_requests USING INDEX booking_requests_submitted (submitted_at>? AND submitted_at<?)',
    'CORRELATED SCALAR SUBQUERY 1',
    'SEARCH members USING INTEGER PRIMARY KEY (rowid=?)',
  ])
})

describe('db: query plans of taken slots', () => {
  const heldIn = "in ('pending', 'accepted')"
  const onSlots = () => statements.filter((statement) => statement.includes(heldIn))
  const ofProviders = () => onSlots().filter((statement) => /"provider_id" (= \?|in \()/.test(statement))

  test('every query for taken slots uses a partial index', () => {
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

  test('a query for taken slots would scan the whole table if the states were parameters', () => {
    expect(ofProviders().length).toBe(onSlots().length - 1)
    for (const statement of ofProviders()) {
      const bound = statement.replace(heldIn, 'in (?, ?)')
      expect(scannedBy(database, bound)).toEqual(['booking_requests'])
      expect(exceptionFor(bound, 'booking_requests')).toBeUndefined()
    }
  })
})
