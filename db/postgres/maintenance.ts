import { type Purpose, requireCopied } from '../../src/domain/ports/database-copy'
import {
  type Finding,
  type LastBackups,
  type Maintenance,
  type Remedies,
  withRemedy,
} from '../../src/domain/ports/maintenance'
import type { MaybePromise } from '../../src/domain/ports/store'
import type { MasterKey } from '../../src/domain/ports/vault'
import { dayMillis } from '../../src/scheduling/calendar'
import { verifyLog, type WalkedLog } from '../audit/verification'
import { auditFinding, unusable } from '../findings/findings'
import { archivesOf } from '../queries/audit'
import { generationName, newGeneration } from '../queries/requests/partner-requests'
import { findSealed } from '../queries/sealed-values'
import { findUntraced } from '../queries/trails'
import { copyNoteName, lastDrillName, settingsOver } from '../settings'
import type { Connection } from './client/connection'
import { toRefusal } from './client/failure'
import type { OnConnection, Pool } from './client/pool'
import { currentSchema } from './migration'
import { findSettings, serverFindings, whereReadable } from './server/doctor'
import { listServers, type Node } from './server/nodes'
import { purge } from './server/purge'
import { recognize } from './server/recognize'
import type { Session } from './session'
import { readOn } from './store'
import { type Acts, noted } from './transaction'

/** Timeout in ms of a check that reads all data. */
const checkMillis = 30 * 60 * 1_000

const pruneMillis = 60_000

interface MaintenanceParts {
  readonly pool: Pool<Session>
  readonly on: OnConnection
  readonly acts: Acts
  readonly node: Node
  readonly log: WalkedLog
  readonly purpose: Purpose
  readonly masterKey: MasterKey
}

type Settings = ReturnType<typeof settingsOver>

export function createMaintenance(parts: MaintenanceParts): Maintenance {
  const { pool, on, acts, node, log, purpose, masterKey } = parts
  const inSettings = <T>(work: (settings: Settings) => MaybePromise<T>) =>
    refusing(on(async (connection) => work(settingsOver(connection))))
  const archives = archivesOf(log, (work) =>
    acts.run(async ({ audit }) => ({ answer: await work(audit), lines: [], changed: [] }), {
      attemptMillis: pruneMillis,
    }),
  )
  const findLastBackups = async (): Promise<LastBackups> => {
    const drilledAt = await inSettings(({ readNumber }) => readNumber(lastDrillName))
    return { backedUpAt: null, drilledAt, isByServer: true }
  }
  const checkRecords = (now: number, isAll = false) =>
    whereReadable('records', () => readOn(pool, (session) => findUntraced(session, now, isAll), checkMillis))
  return {
    pruneAudit: archives.prune,
    checkArchive: archives.check,
    // Reads in batches. A check in one transaction would use a connection for its whole duration.
    verifyAudit: (head) => refusing(verifyLog(log, head)),
    forgetChanges: () =>
      acts.run(async ({ changes }) => {
        await changes.forget()
        return noted
      }),
    backUp: () => Promise.reject(unusable(backupWay)),
    noteDrill: (act) => inSettings((settings) => settings.noteDrill(act)),
    rewrap: (next, act) =>
      acts.run(async ({ connection }) => {
        const answer = await settingsOver(connection).rewrapDataKey(purpose, masterKey, next)
        const line = { ...act, action: 'key.rotate', record: null, outcome: 'done' } as const
        return { answer, lines: answer ? [line] : [], changed: [] }
      }),
    async check(now, _oldest, isAll = false) {
      const sealed = () => readOn(pool, (session) => findSealed(session, isAll), checkMillis)
      const findings = [
        await whereReadable('schema', () => on(findSchema)),
        await whereReadable('settings', () => on(findSettings)),
        await whereReadable('sealed values', sealed),
        await whereReadable('audit log', async () => auditFinding(await verifyLog(log, null))),
        await checkRecords(now, isAll),
        await whereReadable('backup', async () => backupFinding(await findLastBackups(), now)),
      ]
      return findings.map((found) => withRemedy(found, remedies))
    },
    checkRecords,
    checkHost: () => serverFindings(on),
    findLastBackups,
    noteServer: (server) => refusing(node.note(server)),
    listServers: () => refusing(on(listServers)),
    purge: () => refusing(purge(on)),
    keptAfterErasure: async () => keptAfterErasure,
    findCopyNote: () => inSettings((settings) => settings.readCopyNote()),
    reactivate: (act) =>
      acts.run(async ({ connection }) => {
        const settings = settingsOver(connection)
        requireCopied(await settings.readCopyNote())
        await settings.remove(copyNoteName)
        await settings.write(generationName, newGeneration())
        const line = { ...act, action: 'database.reactivate', record: null, outcome: 'done' } as const
        return { answer: undefined, lines: [line], changed: [] }
      }),
    noteZoneData: (zones) => inSettings((settings) => settings.noteZoneData(zones)),
    findZoneData: () => inSettings((settings) => settings.readZoneData()),
  }
}

const backupWay =
  'back up a PostgreSQL database on its server: by its provider, with WAL-G or pgBackRest (point-in-time recovery), ' +
  'or with pg_dump -Fc; keep the master key in another place'

const keptAfterErasure =
  'Archives and backups of the database server still contain the erased data until they are deleted. So do its ' +
  'write-ahead log and the free space of its files, here and on each standby, until they are overwritten. ' +
  'The data is sealed and cannot be read without the master key.'

async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw toRefusal(error)
  }
}

async function findSchema(connection: Connection): Promise<Finding> {
  const version = (await recognize(connection))?.schema ?? 0
  const isNewer = version > currentSchema
  const detail = `version ${version}${isNewer ? ', which is newer than this program but compatible with it' : ''}`
  return { check: 'schema', state: isNewer ? 'note' : 'ok', detail }
}

function backupFinding({ drilledAt }: LastBackups, now: number): Finding {
  const drill =
    drilledAt === null ? 'no drill yet' : `last drill ${Math.floor((now - drilledAt) / dayMillis)} days ago`
  const detail = `made by the server or its provider, so this check cannot see them; ${drill}`
  return { check: 'backup', state: 'note', detail }
}

const whenNoted = {
  'audit log': 'find out who had write access to the database, and compare it with a backup',
  backup:
    'check on the server that backups are made and can be restored: point-in-time recovery by the provider, WAL-G or ' +
    'pgBackRest, or else pg_dump -Fc',
}

const fromBackup = 'stop all nodes, then restore the database on its server to an earlier time'

const remedies: Remedies = { whenNoted, whenBad: { ...whenNoted, schema: fromBackup } }
