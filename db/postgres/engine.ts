import type { Engine, Opened, Opening } from '../../src/domain/database'
import type { DatabaseAddress, DatabaseHost } from '../../src/domain/database-address'
import type { Vault } from '../../src/domain/vault'
import { auditHashes } from '../audit/hashes'
import { logOver } from '../queries/audit'
import { dataKeyName } from '../sealed/data-key'
import type { Connection } from './client/connection'
import { openingRefusal } from './client/failure'
import { type OnConnection, Pool } from './client/pool'
import { openVault } from './data-key'
import { Health } from './health'
import { createUpkeep } from './maintenance'
import { openDatabase } from './open'
import { Node } from './server/nodes'
import { openSession, type Session } from './session'
import { readSetting } from './setting'
import { directoryFeed, postgresStore, readOn } from './store'
import { Submissions } from './submit'
import { createActs } from './transaction'

/** Connections of one node for submissions, and for all else: reads go on while submissions wait for a lock. */
const [submissionPoolSize, poolSize] = [4, 4]

/** The deadline of a command's call: lists and counts of all that was ever stored take their time. */
export const commandMillis = 10_000

/** Where a server is, and how it lets us in. */
export interface Server {
  readonly name: string
  readonly address: DatabaseAddress
  readonly password: (host: DatabaseHost) => string | null
}

/**
 * Opens a database on a PostgreSQL server.
 *
 * @throws Refusal database_unusable and storage_busy, as openDatabase does
 */
export async function openEngine(server: Server, opening: Opening): Promise<Opened> {
  let vault: Vault | undefined
  const make = (connection: Connection) => openSession(connection, () => vault as Vault)
  const forCommands = !opening.alone && { deadlineMillis: commandMillis }
  const pool = new Pool<Session>({ ...server, ...forCommands, size: poolSize, make })
  const submissionPool = new Pool<Session>({ ...server, size: submissionPoolSize, make })
  const on: OnConnection = (work, deadlineMillis) =>
    pool.use(({ connection }) => work(connection), deadlineMillis)
  try {
    const opened = await openDatabase(on, { ...opening, name: server.name })
    const sealed = await on((connection) => readSetting(connection, dataKeyName))
    vault = openVault(sealed, opening.purpose, opened.masterKey)
    const upgraded = opened.isUpgraded ? { copy: null } : null
    return { ...putTogether({ ...opening, ...opened, pool, submissionPool, on, vault }), upgraded }
  } catch (error) {
    await pool.close()
    throw openingRefusal(error, server.name)
  }
}

type OpenedDatabase = Awaited<ReturnType<typeof openDatabase>>

interface Parts extends Opening, OpenedDatabase {
  readonly pool: Pool<Session>
  readonly submissionPool: Pool<Session>
  readonly on: OnConnection
  readonly vault: Vault
}

function putTogether({ pool, submissionPool, on, vault, purpose, masterKey, schema }: Parts): Engine {
  const node = new Node(on)
  const health = new Health(node)
  const acts = createActs(pool)
  const submissions = new Submissions(submissionPool, vault, acts, health)
  const log = logOver(auditHashes(vault), (work) => readOn(pool, ({ audit }) => work(audit)))
  let isClosed = false
  return {
    store: postgresStore((work) => readOn(pool, work), acts, submissions, log),
    feed: directoryFeed(pool),
    upkeep: createUpkeep({ pool, on, acts, node, log, purpose, masterKey }),
    watch: (tell, isServer) => health.watch(tell, isServer),
    measure: () => ({
      queueDepth: submissionPool.counts.waiting,
      groupSizes: submissions.groupSizes,
      commitMillis: submissions.commitMillis,
      failedGroups: submissions.failed,
      // Of the server's log nothing is to be seen from here.
      ...{ databaseBytes: health.size, logBytes: null, schema },
      server: {
        connections: sumOf(pool.counts, submissionPool.counts),
        clockDifferenceMillis: health.clockDifference,
      },
    }),
    async close() {
      if (isClosed) return
      isClosed = true
      await submissions.drain()
      await health.end()
      await submissionPool.close()
      await pool.close()
    },
  }
}

type Counts = Pool<Session>['counts']

function sumOf(a: Counts, b: Counts): Counts {
  return { free: a.free + b.free, used: a.used + b.used, waiting: a.waiting + b.waiting }
}
