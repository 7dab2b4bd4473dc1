import { parseDatabaseAddress, shownAddress } from '../../src/domain/addresses'
import { Refusal, splitAction } from '../../src/domain/errors'
import type {
  DatabaseLocation,
  DatabaseLogin,
  Engine,
  Opened,
  Opening,
} from '../../src/domain/ports/database'
import type { Vault } from '../../src/domain/ports/vault'
import { auditHashes } from '../audit/verification'
import { unusable } from '../findings/findings'
import { logOver } from '../queries/audit'
import { readOffers } from '../queries/offers'
import { settingsOver } from '../settings'
import type { Connection } from './client/connection'
import { DatabaseFailure, openingRefusal } from './client/failure'
import { passwordFor } from './client/password'
import { type OnConnection, Pool, type PoolOptions } from './client/pool'
import { createMaintenance } from './maintenance'
import { makeTarget, readSource } from './move'
import { type OpenedDatabase, openDatabase } from './open'
import { Health } from './server/health'
import { Node } from './server/nodes'
import { recognize } from './server/recognize'
import { openSession, type Session } from './session'
import { directoryFeed, postgresStore, readOn } from './store'
import { Submissions } from './submit'
import { type Acts, createActs } from './transaction'

/** Connections per node. Submissions have a separate pool, because they wait for locks. */
const [submissionPoolSize, poolSize] = [4, 4]

/** Timeout of one database call, in ms. Long, because a command may read all records. */
const commandMillis = 10_000

/** `name` is the address without its password. */
interface Server extends Pick<PoolOptions<unknown>, 'address' | 'password'> {
  readonly name: string
}

const restoreWay =
  'a backup of this program can only be restored to a file: run anteroom restore --to FILE, then anteroom database copy ' +
  '--from FILE --to ADDRESS; restore a backup of the database server on that server'

/** @param text the address, which may contain a password @throws Refusal settings_invalid if it is invalid */
export function serverDatabase(text: string, login: DatabaseLogin): DatabaseLocation {
  const address = parseDatabaseAddress(text)
  if (typeof address === 'string') throw new Refusal('settings_invalid', `the database address ${address}`)
  const name = shownAddress(text)
  const server: Server = { name, address, password: (host) => passwordFor(address, host, login) }
  const once = <T>(work: (on: OnConnection) => Promise<T>) => connectOnce(server, work)
  const find = async () => ((await once((on) => on(recognize))) ? { owner: undefined } : null)
  return {
    name,
    fullName: name,
    find,
    isSealedUnder: (purpose, masterKey) =>
      once((on) =>
        on((connection) =>
          Promise.resolve(settingsOver(connection).isSealedUnder(purpose, masterKey)).catch(() => false),
        ),
      ),
    open: (opening) => openEngine(server, opening),
    async make({ keyFile, mustBeNew, fill }) {
      if (mustBeNew && (await find()))
        throw unusable(`a database already exists at ${name}`, 'choose another address')
      await fill(text, keyFile ?? '')
    },
    restore: () => Promise.reject(unusable(restoreWay)),
    readSource: (reading, use) => once((on) => readSource(on, name, reading, use)),
    makeTarget: (making) => once((on) => makeTarget(on, name, making)),
    listOffers: (offered, begin) =>
      once((on) =>
        on((connection) => readOffers((text, values) => connection.run(text, values), offered, begin)),
      ),
    explain,
  }
}

/** Runs work on a single connection. A copy opens a second connection. @throws Refusal database_unusable or storage_busy */
async function connectOnce<T>(server: Server, work: (on: OnConnection) => Promise<T>): Promise<T> {
  const make = (connection: Connection) => connection
  const pool = new Pool<Connection>({ ...server, size: 2, make, deadlineMillis: commandMillis })
  try {
    return await work((use, deadlineMillis) => pool.use(use, deadlineMillis))
  } catch (error) {
    throw openingRefusal(error, server.name)
  } finally {
    await pool.close()
  }
}

/** Adds the cause to a refusal. Only the operator sees the cause. */
function explain(error: unknown): unknown {
  const { cause } = (error ?? {}) as { cause?: unknown }
  if (!(error instanceof Refusal && cause instanceof DatabaseFailure)) return error
  const [fault, { action }] = splitAction(cause.message)
  const check = 'check what was stored before you repeat the command'
  return new Refusal(error.kind, fault, { action: cause.meaning === 'lost' ? check : action, cause })
}

async function openEngine(server: Server, opening: Opening): Promise<Opened> {
  let vault: Vault | undefined
  const make = (connection: Connection) => openSession(connection, () => vault as Vault)
  const forCommands = !opening.alone && { deadlineMillis: commandMillis }
  const pool = new Pool<Session>({ ...server, ...forCommands, size: poolSize, make })
  const on: OnConnection = (work, deadlineMillis) =>
    pool.use(({ connection }) => work(connection), deadlineMillis)
  try {
    const opened = await openDatabase(on, { ...opening, name: server.name })
    vault = opened.vault
    const acts = createActs(pool)
    // A killed server may have left lines. If they cannot be appended now, another command or server appends them.
    await acts.settle().catch((error) => {
      if (!(error instanceof Refusal)) throw error
    })
    const submissionPool = new Pool<Session>({ ...server, size: submissionPoolSize, make })
    const upgraded = opened.isUpgraded ? { copy: null } : null
    return { ...engineOf({ ...opening, ...opened, pool, submissionPool, on, acts }), upgraded }
  } catch (error) {
    await pool.close()
    throw openingRefusal(error, server.name)
  }
}

interface Parts extends Opening, OpenedDatabase {
  readonly pool: Pool<Session>
  readonly submissionPool: Pool<Session>
  readonly on: OnConnection
  readonly acts: Acts
}

function engineOf({ pool, submissionPool, on, acts, vault, purpose, masterKey, schema }: Parts): Engine {
  const node = new Node(on)
  const health = new Health(node)
  const submissions = new Submissions(submissionPool, vault, acts, health)
  const log = logOver(auditHashes(vault), (work) => readOn(pool, ({ audit }) => work(audit)))
  const countAll = (name: keyof Pool<Session>['counts']) => pool.counts[name] + submissionPool.counts[name]
  let isClosed = false
  return {
    store: postgresStore(pool, acts, submissions),
    feed: directoryFeed(pool),
    maintenance: createMaintenance({ pool, on, acts, node, log, purpose, masterKey }),
    watch: (report, isServer) => health.watch(report, isServer),
    measure: () => ({
      queueDepth: submissionPool.counts.waiting,
      groupSizes: submissions.groupSizes,
      commitMillis: submissions.commitMillis,
      failedGroups: submissions.failed,
      ...{ databaseBytes: health.size, logBytes: null, freeBytes: null, schema },
      server: {
        connections: { free: countAll('free'), used: countAll('used'), waiting: countAll('waiting') },
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
