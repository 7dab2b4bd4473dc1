import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeOnPostgres } from '../../support/postgres-databases'
import { connectTo } from './connections'
import { fillTables, growing } from './many-rows'
import { openPostgresPlace } from './place'
import { type SentStatement, statementsSent } from './sent-statements'
import { callAllPorts } from './use-all'

/** A node of an EXPLAIN plan. */
interface Step {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Filter?: string
  readonly Plans?: readonly Step[]
}

interface Planned {
  readonly text: string
  readonly steps: readonly Step[]
}

/** Returns the generic plans of statements. PostgreSQL uses a generic plan after several runs of a statement. */
async function plansOf(url: string, statements: readonly SentStatement[]): Promise<Planned[]> {
  await using server = connectTo(url, 1)
  return await server.on(async (connection) => {
    await connection.send('SET plan_cache_mode = force_generic_plan')
    const explain = async ({ text, types }: SentStatement): Promise<Planned> => {
      const [declared, given] = types.length > 0 ? [`(${types})`, `(${types.map(() => 'NULL')})`] : ['', '']
      await connection.send(`PREPARE asked ${declared} AS ${text}`)
      const [rows] = await connection.send(`EXPLAIN (FORMAT JSON) EXECUTE asked ${given}`)
      await connection.send('DEALLOCATE asked')
      const plan = rows?.[0]?.[0]
      const [explained] = typeof plan === 'string' ? JSON.parse(plan) : plan
      return { text, steps: stepsOf(explained.Plan) }
    }
    const plans: Planned[] = []
    for (const statement of statements) plans.push(await explain(statement))
    return plans
  })
}

function stepsOf(step: Step): Step[] {
  return [step, ...(step.Plans ?? []).flatMap(stepsOf)]
}

/** Partial indexes over requests that await action by staff. */
const small = ['booking_requests_waiting', 'booking_requests_unassigned']

function readWhole(step: Step, above: Step | undefined): string | null {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '' } = step
  const isFirstOfIndex = above?.['Node Type'] === 'Limit' && index !== '' && !step.Filter
  const isWhole = type === 'Seq Scan' || (/^Index/.test(type) && !step['Index Cond'])
  return isWhole && !isFirstOfIndex && !small.includes(index) && growing.includes(table) ? table : null
}

function wholeTables({ steps }: Planned): string[] {
  const above = (step: Step) => steps.find(({ Plans = [] }) => Plans.includes(step))
  return steps.flatMap((step) => readWhole(step, above(step)) ?? [])
}

/** Statements that read a whole table on purpose. */
const exceptions: readonly { name: string; tables: readonly string[]; statement: RegExp; why: string }[] = [
  {
    name: 'lists and counts of requests for operators',
    tables: ['booking_requests', 'members'],
    statement:
      /^select (count\(\*\) from "booking_requests"|"id"(, "member_id")? from "booking_requests"|.* from "booking_requests" left join "members" on "members"\."id" = "booking_requests"\."member_id")( where .*)?( order by .*)?$/,
    why: 'filters can be anything, and no request of a partner waits for it',
  },
]

const exceptionFor = (statement: string, table: string) =>
  exceptions.find((one) => one.statement.test(statement) && one.tables.includes(table))

let place: Awaited<ReturnType<typeof openPostgresPlace>>
let statements: readonly SentStatement[]
let plans: readonly Planned[]

describeOnPostgres('postgres: query plans of all statements', () => {
  beforeAll(async () => {
    place = await openPostgresPlace()
    statements = (await statementsSent(() => callAllPorts(place))).statements
    await fillTables(place.url)
    plans = await plansOf(place.url, statements)
  }, 300_000)
  afterAll(() => place?.[Symbol.asyncDispose]())

  const wholes = () =>
    plans.flatMap((one) => wholeTables(one).map((table) => ({ statement: one.text, table })))

  test('no statement scans a whole growing table at 100,000 rows', () => {
    expect(wholes().filter(({ statement, table }) => !exceptionFor(statement, table))).toEqual([])
  })

  test('every listed exception is still needed', () => {
    const used = new Set(wholes().map(({ statement, table }) => exceptionFor(statement, table)?.name))
    expect(exceptions.filter(({ name }) => !used.has(name))).toEqual([])
  })

  test('statements on every growing table are covered', () => {
    expect(statements.length).toBeGreaterThan(150)
    expect(growing.filter((table) => !statements.some(({ text }) => text.includes(table)))).toEqual([])
  })

  const indexesOf = (words: RegExp) => {
    const found = plans.filter(({ text }) => words.test(text))
    expect(found.length).toBeGreaterThan(0)
    return [
      ...new Set(found.flatMap(({ steps }) => steps.flatMap((step) => step['Index Name'] ?? []))),
    ].sort()
  }

  test('the query for a booking decision uses the expected indexes', () => {
    expect(indexesOf(/^SELECT coalesce\(member\.id/)).toEqual([
      'audit_actor',
      'booking_requests_held',
      'booking_requests_intakes',
      'booking_requests_slot',
      'changes_pkey',
      'members_email_hash_key',
      'members_partner_id_external_user_id_hash_key',
      'replays_partner_id_key_hash_key',
    ])
  })

  test.each([
    [
      'the taken slots of given providers',
      /^select "(provider_id|id)", .* && int8range/,
      ['booking_requests_slot'],
    ],
    [
      'the taken slots of all providers between two instants',
      /^select "starts_at", .* && int8range/,
      ['booking_requests_slot', 'providers_pkey'],
    ],
    ['the changes since a version', /from "changes" where "changes"."version" >= /, ['changes_pkey']],
    [
      'the requests submitted since an instant',
      /between \$\d and \d+ and /,
      ['booking_requests_submitted', 'members_pkey'],
    ],
    [
      'a request of a partner',
      /inner join "members".*"partner_id" = /,
      ['booking_requests_pkey', 'members_pkey'],
    ],
    ['a page of changes', /"position" > \$\d/, ['booking_requests_pkey', 'request_positions_order']],
    ['the newest change of a partner', /^select max\("position"\)/, ['request_positions_order']],
    ['the next position of a request', /^WITH placed AS/, ['booking_requests_pkey']],
    ['the notes of a request', /^select "id" from "request_notes" /, ['request_notes_request']],
    [
      'the expired retry receipts',
      /^select "request_id" from "replays" where "replays"."submitted_at" <= /,
      ['replays_submitted'],
    ],
    ['the refused authentications', /"refusals"/, ['audit_action', 'audit_record']],
    ['the staff who read a risk', /'request\.read-screening'/, ['audit_record']],
    [
      'the oldest waiting request',
      /^select count\(\*\), min\("submitted_at" \+ 0\).*in \('unassigned', 'pending'\)$/,
      ['booking_requests_waiting'],
    ],
    [
      'the number of unassigned requests',
      /^select count.*"state" = 'unassigned'\)$/,
      ['booking_requests_unassigned'],
    ],
    ['the audit lines about a record', /"audit"\."record" = \$\d/, ['audit_record']],
    [
      'a page of waiting requests',
      /^select "id", "member_id" from "booking_requests" where .*"state" = 'unassigned'.* limit /,
      ['booking_requests_unassigned'],
    ],
  ])('the query for %s uses the expected indexes', (_, words, indexes) => {
    expect(indexesOf(words)).toEqual(indexes)
  })
})
