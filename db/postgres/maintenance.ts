import { requireCopied } from '../../src/domain/copy-note'
import type { Purpose } from '../../src/domain/database'
import {
  type Finding,
  type LastBackups,
  type Remedies,
  type Upkeep,
  withRemedy,
} from '../../src/domain/upkeep'
import type { MasterKey } from '../../src/domain/vault'
import { dayMillis } from '../../src/scheduling/calendar'
import { verifyLog, type WalkedLog } from '../audit/verification'
import { auditFinding } from '../findings/findings'
import { unusable } from '../findings/unusable'
import { copyNoteName } from '../move/copy-note'
import { archivesOf } from '../queries/audit'
import { findSealed } from '../queries/sealed-values'
import type { Connection } from './client/connection'
import { toRefusal } from './client/failure'
import type { OnConnection, Pool } from './client/pool'
import { rewrapDataKey } from './data-key'
import { currentSchema, schemaOf } from './migration'
import { look } from './open'
import { purge } from './purge'
import { clockFinding } from './server/clock'
import { listServers, type Node } from './server/nodes'
import { orphansFinding } from './server/orphans'
import { replicationFinding } from './server/replication'
import { encryptionFinding, readServerSettings, settingsFinding, versionFinding } from './server/settings'
import type { Session } from './session'
import { readCopyNote, readSetting, removeSetting, writeSetting } from './setting'
import { readOn } from './store'
import type { Acts } from './transaction'
import { whereReadable } from './where-readable'

const lastDrillName = 'last_drill_at'
const zoneDataName = 'zone_data'

/** How long one look through all of the data may take. */
const checkMillis = 30 * 60 * 1_000

/** How long one statement may take that removes what was archived. */
const pruneMillis = 60_000

/** What an upkeep is put together of. */
export interface UpkeepParts {
  readonly pool: Pool<Session>
  readonly on: OnConnection
  readonly acts: Acts
  readonly node: Node
  readonly log: WalkedLog
  readonly purpose: Purpose
  readonly masterKey: MasterKey
}

/** The Upkeep of a database on a PostgreSQL server. */
export function createUpkeep({ pool, on, acts, node, log, purpose, masterKey }: UpkeepParts): Upkeep {
  const note = (name: string, value: string) =>
    told(on((connection) => writeSetting(connection, name, value)))
  const read = (name: string) => told(on((connection) => readSetting(connection, name)))
  const archives = archivesOf(log, (work) =>
    acts.run(async ({ audit }) => ({ answer: await work(audit), lines: [], changed: [] }), {
      attemptMillis: pruneMillis,
    }),
  )
  return {
    pruneAudit: archives.prune,
    checkArchive: archives.check,
    backUp: () => Promise.reject(unusable(backupWay)),
    noteDrill: ({ at }) => note(lastDrillName, `${at}`),
    rewrap: (next, act) =>
      acts.run(async ({ connection }) => {
        const answer = await rewrapDataKey(connection, purpose, masterKey, next)
        const line = { ...act, action: 'key.rotate', record: null, outcome: 'done' } as const
        return { answer, lines: answer ? [line] : [], changed: [] }
      }),
    async check(now, _oldest, isAll = false) {
      return [
        await whereReadable('schema', () => on(schemaFinding, checkMillis)),
        await whereReadable('settings', () =>
          on(async (connection) => settingsFinding(await readServerSettings(connection))),
        ),
        await whereReadable('orphans', () => on(orphansFinding, checkMillis)),
        await whereReadable('sealed values', () =>
          readOn(pool, (session) => findSealed(session, isAll), checkMillis),
        ),
        await whereReadable('audit log', async () => auditFinding(await verifyLog(log, null))),
        await whereReadable('backup', async () => backupFinding(await lastBackups(read), now)),
      ].map((found) => withRemedy(found, remedies))
    },
    checkPlace: () => placeFindings(on),
    findLastBackups: () => lastBackups(read),
    noteServer: (server) => told(node.note(server)),
    listServers: () => told(on(listServers)),
    purge: () => told(purge(on)),
    keptAfterErasure: async () => keptAfterErasure,
    findCopyNote: () => told(on(readCopyNote)),
    reactivate: (act) =>
      acts.run(async ({ connection }) => {
        requireCopied(await readCopyNote(connection))
        await removeSetting(connection, copyNoteName)
        const line = { ...act, action: 'database.reactivate', record: null, outcome: 'done' } as const
        return { answer: undefined, lines: [line], changed: [] }
      }),
    noteZoneData: ({ edition, folder }) => note(zoneDataName, JSON.stringify({ edition, folder })),
    async findZoneData() {
      const noted = await read(zoneDataName)
      return noted ? JSON.parse(Buffer.from(noted).toString()) : null
    },
  }
}

const backupWay =
  'a database on a PostgreSQL server is backed up there: by its provider, or with WAL-G or pgBackRest (point-in-time ' +
  'recovery), or as one moment with pg_dump -Fc; keep the master key apart from it'

const keptAfterErasure =
  "Archives and backups of the database server hold what was erased for as long as they are kept; so do the server's " +
  'log of changes and the free room of its files, here and on each standby, until they are written over. All of that is ' +
  'sealed: without the master key it tells nobody who they were.'

/** What a failure of the database's means to whoever asked. */
async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw toRefusal(error)
  }
}

/** What holds of the server, and of the way to it. */
async function placeFindings(on: OnConnection): Promise<Finding[]> {
  const find = (check: string, work: (connection: Connection) => Promise<Finding>) =>
    whereReadable(check, () => on(work))
  return [
    await find('server', versionFinding),
    await find('connection', encryptionFinding),
    await find('clock', clockFinding),
    await find('replication', async (connection) => {
      const settings = await readServerSettings(connection)
      return replicationFinding(connection, settings.get('synchronous_standby_names'))
    }),
  ]
}

async function schemaFinding(connection: Connection): Promise<Finding> {
  const found = await look(connection)
  const version = found ? schemaOf(found.schema) : 0
  const isNewer = version > currentSchema
  const detail = `version ${version}${isNewer ? ', which is newer than this program and lets it work' : ''}`
  return { check: 'schema', state: isNewer ? 'note' : 'ok', detail }
}

type Read = (name: string) => Promise<Uint8Array | undefined>

/** Of backups that the server makes of itself nothing is known here. */
async function lastBackups(read: Read): Promise<LastBackups> {
  const drilled = await read(lastDrillName)
  const drilledAt = drilled ? Number(Buffer.from(drilled).toString()) : null
  return { backedUpAt: null, drilledAt, isByServer: true }
}

function backupFinding({ drilledAt }: LastBackups, now: number): Finding {
  const drill =
    drilledAt === null ? 'none was tried' : `tried ${Math.floor((now - drilledAt) / dayMillis)} days ago`
  const detail = `made by the server or its provider, and not seen from here; ${drill}`
  return { check: 'backup', state: 'note', detail }
}

const whenNoted = {
  'audit log': 'find out who could write to the database, and hold it to a backup',
  backup:
    'see there that one is made, and restored now and then: point-in-time recovery by the provider, WAL-G or pgBackRest, ' +
    'or else pg_dump -Fc',
}

const fromBackup = 'stop all nodes, and bring the database back on its server as of a moment before'

const remedies: Remedies = {
  whenNoted,
  whenBad: { ...whenNoted, schema: fromBackup, orphans: fromBackup },
}
