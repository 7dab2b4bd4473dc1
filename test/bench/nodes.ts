import { type Postgres, startPostgres } from '../support/postgres'
import { whyNoPostgres } from '../support/postgres-programs'
import { type Ask, forged, lookUp, regionList, search } from './asks'
import { transactionRows } from './booking-transactions'
import { BookingsService, storedIn } from './bookings-service'
import { attempt, comparing, type Row, rounds, type Told } from './row'
import { Serving } from './service'
import { start } from './start'
import { StoreNode } from './store-nodes'
import { takeTurns } from './wrk'

const embedded = 'the embedded engine'
const [providers, connections, nodeCount] = [60, 64, 4]
const member = 'member-1001'
/** How long nodes book in a round, and by how many callers each. */
const [millis, callers] = [2_000, 64]
/** Rounds of all nodes before the first: each process compiles for itself, for as long as it has a share of the cores. */
const roundsToWarmUp = 5

/** What a node on PostgreSQL answers beside a service on a file, four nodes beside one, and our client beside pgbench. */
export async function benchNodes(): Promise<Row[]> {
  const why = whyNoPostgres()
  if (why !== null) return [{ name: 'the whole part', figure: `left out: ${why}` }]
  // As durable as the file.
  await using server = await startPostgres({ fsync: true, settings: { max_connections: 200 } })
  return [
    ...(await besideEmbedded(server)),
    ...(await ofAnswers(server)),
    await attempt({ name: `bookings by the store, ${nodeCount} nodes`, goal: '>= 1.3' }, (told) =>
      besideOneNode(told, server),
    ),
    ...(await transactionRows(server, await newDatabaseNameOn(server))),
  ]
}

let databases = 0

/** The address of a new, empty database. */
async function newDatabaseOn(server: Postgres): Promise<string> {
  return server.urlOf(await newDatabaseNameOn(server))
}

async function newDatabaseNameOn(server: Postgres): Promise<string> {
  const name = `bench_${databases++}`
  await server.run(`CREATE DATABASE ${name} TEMPLATE template0`)
  return name
}

/** What is stored over HTTP. */
async function besideEmbedded(server: Postgres): Promise<Row[]> {
  await using onServer = await new BookingsService({ database: await newDatabaseOn(server) }).start()
  await using onFile = await new BookingsService().start()
  const turns = async (told: Told, store: (service: BookingsService) => Promise<number>): Promise<Row> => {
    const [ours, theirs]: [number[], number[]] = [[], []]
    for (let round = -1; round < rounds; round++) {
      const pair = [await store(onServer), await store(onFile)] as const
      if (round < 0) continue
      ours.push(pair[0])
      theirs.push(pair[1])
    }
    return comparing(told, { ours, theirs, unit: 'a second', beside: embedded })
  }
  return [
    await attempt(
      { name: `durable bookings over HTTP, ${connections} connections`, goal: '>= 0.3' },
      (told) => turns(told, async (service) => storedIn(await service.book(connections, null))),
    ),
    await attempt({ name: `durable intakes over HTTP, ${connections} connections` }, (told) =>
      turns(told, async (service) => storedIn(await service.submitIntakes(connections))),
    ),
  ]
}

/** What is read, and what a start takes. */
async function ofAnswers(server: Postgres): Promise<Row[]> {
  await using onServer = await Serving.start(providers, await newDatabaseOn(server))
  await using onFile = await Serving.start(providers)
  for (const serving of [onServer, onFile]) await serving.addMember(member)
  const turns = (told: Told, askOf: (serving: Serving) => Ask) =>
    attempt(told, () =>
      takeTurns(
        told,
        { server: onServer, ask: askOf(onServer) },
        { server: onFile, ask: askOf(onFile) },
        embedded,
      ),
    )
  const rows = [
    await turns({ name: 'warm search of 20 providers', goal: '>= 0.6' }, (serving) => search(serving)),
    await turns({ name: 'region list' }, regionList),
    await turns({ name: '401, of a forged signature' }, forged),
    await turns({ name: 'user look-up' }, (serving) => lookUp(serving, member)),
  ]
  for (const serving of [onServer, onFile]) await serving.pause()
  return [
    ...rows,
    await attempt({ name: 'start of a node to its first answer' }, (told) => startOf(told, onServer, onFile)),
  ]
}

async function startOf(told: Told, onServer: Serving, onFile: Serving): Promise<Row> {
  const taken: [number, number][] = []
  for (let round = -1; round < rounds; round++) {
    const [ours, theirs] = [
      await start(onServer.startWords, regionList(onServer)),
      await start(onFile.startWords, regionList(onFile)),
    ]
    if (round >= 0) taken.push([ours.millis, theirs.millis])
  }
  const [ours, theirs] = [taken.map(([millis]) => millis), taken.map(([, millis]) => millis)]
  return comparing(told, { ours, theirs, unit: 'ms', beside: embedded })
}

async function besideOneNode(told: Told, server: Postgres): Promise<Row> {
  await using nodes = await StoreNode.startAll(nodeCount, await newDatabaseOn(server))
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let round = 0; round < roundsToWarmUp; round++) await nodes.book({ count: nodeCount, callers, millis })
  for (let round = 0; round < rounds; round++) {
    ours.push(await nodes.book({ count: nodeCount, callers, millis }))
    theirs.push(await nodes.book({ count: 1, callers, millis }))
  }
  return comparing(told, { ours, theirs, unit: 'a second', beside: 'one node' })
}
