import type { Connection } from '../../db/postgres/client/connection'
import { Pool } from '../../db/postgres/client/pool'
import { parseDatabaseAddress } from '../../src/domain/addresses'
import { Folder } from '../support/folder'
import type { Postgres } from '../support/postgres'
import { attempt, comparing, type Row, type RowSpec, rounds } from './row'
import { Serving } from './service'

// The number of connections that a node uses for bookings.
const [connections, seconds, providers] = [4, 2, 60]
const mostSlots = 10_000_000

// The statements of a booking, grouped into the same round trips as in the service. All their values are derived from
// three random numbers: id, provider and slot.
const hash = (which: number) => `sha256(convert_to('${which} ' || :id::text, 'UTF8'))`
const bytes = (length: number) => `decode(repeat('ab', ${length}), 'hex')`
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ')
const beginning = [
  'BEGIN',
  'SET LOCAL lock_timeout = 8000',
  'SET LOCAL statement_timeout = 10000',
  'SET LOCAL idle_in_transaction_session_timeout = 4000',
  'SELECT pg_advisory_xact_lock_shared(1, 2)',
]
const reading = oneLine(`SELECT nextval('members_id_seq'), member.id, member.sealed_profile,
    (SELECT id FROM members WHERE email_hash = ${hash(2)}),
    (SELECT json_agg(json_build_array(id, member_id, starts_at)) FROM booking_requests
      WHERE state IN ('pending', 'accepted') AND starts_at IS NOT NULL AND provider_id = :provider::int8
      AND int8range(starts_at, ends_at) && int8range(slot.at, slot.at + 2700000))::text,
    (SELECT json_agg(json_build_array(version, noun, record_id) ORDER BY version) FROM changes
      WHERE version >= (SELECT max(version) - 20 FROM changes) AND noun <> 'taken')::text
  FROM (SELECT 1900000000000 + :slot::int8 * 2700000 AS at) AS slot
    LEFT JOIN members AS member ON member.partner_id = 1 AND member.external_user_id_hash = ${hash(1)}`)
const writing = [
  `INSERT INTO members (id, record_key, partner_id, external_user_id_hash, email_hash, active, sealed_external_user_id,
    sealed_profile, created_at, updated_at)
  VALUES (:id::int8, :id::text, 1, ${hash(1)}, ${hash(2)}, true, ${bytes(60)}, ${bytes(260)}, 1, 1)`,
  `INSERT INTO booking_requests (id, record_key, partner_id, member_id, is_intake, state, provider_id, authorization_number, starts_at,
    ends_at, local_offset_minutes, sealed_screening_answers, submitted_at)
  SELECT id, id::text, 1, id, false, 'pending', :provider::int8, id::text, at, at + 2700000, -300, ${bytes(200)}, 1
  FROM (SELECT :id::int8 AS id, 1900000000000 + :slot::int8 * 2700000 AS at) AS given
  ON CONFLICT ON CONSTRAINT booking_requests_slot DO NOTHING`,
].map(oneLine)
const ending = [
  'SELECT pg_advisory_xact_lock(1, 3)',
  "INSERT INTO changes (noun, record_id) VALUES ('taken', 1)",
  'SET LOCAL statement_timeout = 0',
  'COMMIT',
]

type Values = Readonly<Record<string, number>>

/** The largest value of each random number. The smallest value is 1. */
const bounds = { id: 1_000_000_000_000, provider: providers, slot: mostSlots }

export interface Transacting {
  readonly server: Postgres
  readonly database: string
  readonly connections: number
  readonly seconds: number
}

/** Runs the statements of a booking through our client and through pgbench, and compares the rates. */
export async function transactionRows(server: Postgres, database: string): Promise<Row[]> {
  await (await Serving.start(providers, server.urlOf(database)))[Symbol.asyncDispose]()
  const pgbench = pgbenchPath()
  const spec = { name: "a booking's transaction", goal: '>= 0.9' }
  if (pgbench === null) return [{ name: spec.name, figure: 'skipped: pgbench is not installed' }]
  return [
    await attempt(spec, () => compareWithPgbench(spec, pgbench, { server, database, connections, seconds })),
  ]
}

async function compareWithPgbench(spec: RowSpec, pgbench: string, transacting: Transacting): Promise<Row> {
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let round = -1; round < rounds; round++) {
    const pair = [await bookByOurClient(transacting), await bookByPgbench(pgbench, transacting)] as const
    if (round < 0) continue
    ours.push(pair[0])
    theirs.push(pair[1])
  }
  return comparing(spec, { ours, theirs, unit: 'a second', referenceName: 'pgbench' })
}

/** Prefers pgbench from TEST_POSTGRES_BIN, because the npm package has none. */
export function pgbenchPath(): string | null {
  const given = process.env.TEST_POSTGRES_BIN
  return (given && Bun.which('pgbench', { PATH: given })) || Bun.which('pgbench')
}

function toPrepared(text: string) {
  const names: string[] = []
  const own = text.replaceAll(/(?<!:):(\w+)/g, (_, name) => `$${names.push(name)}`)
  return { own, values: (drawn: Values) => names.map((name) => drawn[name] as number) }
}

const read = toPrepared(reading)
const write = writing.map(toPrepared)

export async function bookByOurClient({
  server,
  database,
  connections,
  seconds,
}: Transacting): Promise<number> {
  const address = parseDatabaseAddress(server.urlOf(database))
  if (typeof address === 'string') throw new Error(address)
  const pool = new Pool<Connection>({
    ...{ address, password: () => null, size: connections, deadlineMillis: 10_000 },
    make: (connection) => connection,
  })
  let endsAt = performance.now() + seconds * 1_000
  let inTime = 0
  const transact = async (connection: Connection) => {
    const drawn = Object.fromEntries(
      Object.entries(bounds).map(([name, most]) => [name, 1 + Math.floor(Math.random() * most)]),
    )
    const run = ({ own, values }: typeof read) => connection.run(own, values(drawn))
    await connection.send(beginning.join(';'))
    await run(read)
    await Promise.all(write.map(run))
    await connection.send(ending.join(';'))
    if (performance.now() <= endsAt) inTime++
  }
  try {
    // Opens the connections and prepares the statements before the measurement.
    await Promise.all(Array.from({ length: connections }, () => pool.use(transact)))
    endsAt = performance.now() + seconds * 1_000
    inTime = 0
    const caller = async () => {
      while (performance.now() < endsAt) await pool.use(transact)
    }
    await Promise.all(Array.from({ length: connections }, caller))
    return inTime / seconds
  } finally {
    await pool.close()
  }
}

export async function bookByPgbench(
  pgbench: string,
  { server, database, connections, seconds }: Transacting,
): Promise<number> {
  using folder = new Folder()
  const script = folder.file('booking.sql')
  const drawing = Object.entries(bounds).map(([name, most]) => `\\set ${name} random(1, ${most})`)
  const together = (texts: readonly string[]) => [
    '\\startpipeline',
    ...texts.map((text) => `${text};`),
    '\\endpipeline',
  ]
  const body = [...together(beginning), `${reading};`, ...together([...writing, ...ending])]
  await Bun.write(script, [...drawing, ...body, ''].join('\n'))
  const words = ['-n', '-M', 'prepared', '-c', `${connections}`, '-j', '1', '-T', `${seconds}`, '-f', script]
  const where = ['-h', '127.0.0.1', '-p', `${server.port}`, '-U', 'postgres', database]
  const child = Bun.spawn([pgbench, ...words, ...where], { stdout: 'pipe', stderr: 'pipe' })
  const [printed, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if ((await child.exited) !== 0) throw new Error(`pgbench: ${complaint.trim()}`)
  // Without a transaction, pgbench prints no rate.
  return Number(/tps = ([\d.]+) \(without initial/.exec(printed)?.[1] ?? 0)
}
