import { type Postgres, startPostgres } from '../support/postgres'
import { whyNoPostgres } from '../support/postgres-programs'
import { type Ask, forged, lookUp, regionList, search } from './asks'
import { transactionRows } from './booking-transactions'
import { BookingsService, storedIn } from './bookings-service'
import { attempt, comparing, type Row, type RowSpec, rounds } from './row'
import { Serving } from './service'
import { start } from './start'
import { StoreNode } from './store-nodes'
import { takeTurns } from './wrk'

const embedded = 'the SQLite engine'
const [providers, connections, nodeCount] = [60, 64, 4]
const member = 'member-1001'
/** The duration of a round (ms) and the number of concurrent callers of each node. */
const [millis, callers] = [2_000, 64]
/** The number of warm-up rounds, in which each process compiles its code. */
const roundsToWarmUp = 5

/** Compares PostgreSQL with the SQLite engine, four nodes with one node, and our PostgreSQL client with pgbench. */
export async function benchNodes(): Promise<Row[]> {
  const why = whyNoPostgres()
  if (why !== null) return [{ name: 'all rows of this part', figure: `skipped: ${why}` }]
  // With fsync, PostgreSQL is as durable as the SQLite file.
  await using server = await startPostgres({ fsync: true, settings: { max_connections: 200 } })
  return [
    ...(await compareWithEmbedded(server)),
    ...(await ofAnswers(server)),
    await attempt({ name: `bookings without HTTP, ${nodeCount} nodes`, goal: '>= 1.3' }, (spec) =>
      compareWithOneNode(spec, server),
    ),
    ...(await transactionRows(server, await newDatabaseNameOn(server))),
  ]
}

let databases = 0

async function newDatabaseOn(server: Postgres): Promise<string> {
  return server.urlOf(await newDatabaseNameOn(server))
}

async function newDatabaseNameOn(server: Postgres): Promise<string> {
  const name = `bench_${databases++}`
  await server.run(`CREATE DATABASE ${name} TEMPLATE template0`)
  return name
}

async function compareWithEmbedded(server: Postgres): Promise<Row[]> {
  await using onServer = await new BookingsService({ database: await newDatabaseOn(server) }).start()
  await using onFile = await new BookingsService().start()
  const turns = async (spec: RowSpec, store: (service: BookingsService) => Promise<number>): Promise<Row> => {
    const [ours, theirs]: [number[], number[]] = [[], []]
    for (let round = -1; round < rounds; round++) {
      const pair = [await store(onServer), await store(onFile)] as const
      if (round < 0) continue
      ours.push(pair[0])
      theirs.push(pair[1])
    }
    return comparing(spec, { ours, theirs, unit: 'a second', referenceName: embedded })
  }
  return [
    await attempt(
      { name: `durable bookings over HTTP, ${connections} connections`, goal: '>= 0.3' },
      (spec) => turns(spec, async (service) => storedIn(await service.book(connections, null))),
    ),
    await attempt({ name: `durable intakes over HTTP, ${connections} connections` }, (spec) =>
      turns(spec, async (service) => storedIn(await service.submitIntakes(connections))),
    ),
  ]
}

async function ofAnswers(server: Postgres): Promise<Row[]> {
  await using onServer = await Serving.start(providers, await newDatabaseOn(server))
  await using onFile = await Serving.start(providers)
  for (const serving of [onServer, onFile]) await serving.addMember(member)
  const turns = (spec: RowSpec, askOf: (serving: Serving) => Ask) =>
    attempt(spec, () =>
      takeTurns(
        spec,
        { server: onServer, ask: askOf(onServer) },
        { server: onFile, ask: askOf(onFile) },
        embedded,
      ),
    )
  const rows = [
    await turns({ name: 'warm search of 20 providers', goal: '>= 0.6' }, (serving) => search(serving)),
    await turns({ name: 'region list' }, regionList),
    await turns({ name: '401 for a forged signature' }, forged),
    await turns({ name: 'user look-up' }, (serving) => lookUp(serving, member)),
  ]
  for (const serving of [onServer, onFile]) await serving.pause()
  return [
    ...rows,
    await attempt({ name: 'start of a node to its first response' }, (spec) =>
      startOf(spec, onServer, onFile),
    ),
  ]
}

async function startOf(spec: RowSpec, onServer: Serving, onFile: Serving): Promise<Row> {
  const taken: [number, number][] = []
  for (let round = -1; round < rounds; round++) {
    const [ours, theirs] = [
      await start(onServer.startWords, regionList(onServer)),
      await start(onFile.startWords, regionList(onFile)),
    ]
    if (round >= 0) taken.push([ours.millis, theirs.millis])
  }
  const [ours, theirs] = [taken.map(([millis]) => millis), taken.map(([, millis]) => millis)]
  return comparing(spec, { ours, theirs, unit: 'ms', referenceName: embedded })
}

async function compareWithOneNode(spec: RowSpec, server: Postgres): Promise<Row> {
  await using nodes = await StoreNode.startAll(nodeCount, await newDatabaseOn(server))
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let round = 0; round < roundsToWarmUp; round++) await nodes.book({ count: nodeCount, callers, millis })
  for (let round = 0; round < rounds; round++) {
    ours.push(await nodes.book({ count: nodeCount, callers, millis }))
    theirs.push(await nodes.book({ count: 1, callers, millis }))
  }
  return comparing(spec, { ours, theirs, unit: 'a second', referenceName: 'one node' })
}
