import { Database, SQLiteError } from 'bun:sqlite'
import { requireCopied } from '../../src/domain/ports/database-copy'
import {
  type Finding,
  finding,
  isBackupTooOld,
  type LastBackups,
  type Maintenance,
  type ServerNote,
} from '../../src/domain/ports/maintenance'
import type { Protect } from '../../src/domain/ports/vault'
import { dayMillis } from '../../src/scheduling/calendar'
import { auditFinding, named, unusable } from '../findings/findings'
import { archivesOf } from '../queries/audit'
import { whenNeeded } from '../queries/engine'
import { generationName, newGeneration } from '../queries/requests/partner-requests'
import { findSealed } from '../queries/sealed-values'
import { findUntraced } from '../queries/trails'
import { copyNoteName, lastDrillName } from '../settings'
import { checkpoint } from './file/checkpoint'
import { faultsIn, makeBackup, publishCopy, toUnusable } from './file/copy'
import { fileFindings } from './file/findings'
import { applicationId, readPragma, schemaOf } from './file/head'
import { isServeLockHeld } from './file/lock'
import { serverName } from './file/manifest'
import { createSchema, type KeyedDatabase } from './migration'
import { isSealedUnder, type Opening } from './open'
import { atOnce, type Queries, settingsOf, toRefusal } from './query-engine'
import type { Writer } from './writer'

const lastBackupName = 'last_backup_at'

export function createMaintenance(
  database: Database,
  { path, purpose, masterKey }: Opening,
  writer: Writer,
  queries: Queries,
): Maintenance {
  const { audit } = queries
  const settings = settingsOf(database)
  const archives = whenNeeded(() =>
    archivesOf(audit.walked, (work) => writer.write(() => atOnce(work(audit)))),
  )
  /** Fails if the master key was rotated during the backup. The copy would need both keys. */
  const protectOwn =
    (protect: Protect): Protect =>
    async (plain, encrypted, progress) => {
      if (!isSealedUnder(plain, purpose, masterKey)) {
        throw unusable('the master key was rotated during the backup', 'make the backup again')
      }
      await protect(plain, encrypted, progress)
    }
  const checkRecords = (now: number, isAll = false) =>
    whereReadable('records', () => findUntraced(queries, now, isAll))
  return {
    pruneAudit: (prune, act) =>
      archives.prune(prune, act).catch((error) => {
        throw toUnusable(error, prune.target)
      }),
    checkArchive: (path, noted) => archives.check(path, noted),
    async verifyAudit(noted) {
      try {
        return await audit.verify(noted)
      } catch (error) {
        throw toRefusal(error)
      }
    },
    forgetChanges: () => writer.write(() => void queries.changes.forget()),
    async backUp(target, protect, act, { progress = () => {}, isDrill = false } = {}) {
      const protectIt = protect && protectOwn(protect)
      using made = await makeBackup({ database, path: target, madeAt: act.at, protect: protectIt, progress })
      const action = isDrill ? 'database.drill' : 'database.back-up'
      // Appended before the copy is published, so that the audit log lists every copy.
      await writer.write(() => audit.append([{ ...act, action, record: null, outcome: 'done' }]))
      publishCopy(made.file)
      // If the time cannot be stored, the backup is still valid.
      if (!isDrill) await writer.write(() => settings.write(lastBackupName, String(act.at))).catch(() => {})
      return made.manifest
    },
    noteDrill: (act) => writer.write(() => settings.noteDrill(act)),
    rewrap: (next, act) =>
      writer.write(() => {
        if (!settings.rewrapDataKey(purpose, masterKey, next)) return false
        audit.append([{ ...act, action: 'key.rotate', record: null, outcome: 'done' }])
        return true
      }),
    async check(now, oldest = null, isAll = false) {
      return [
        await whereReadable('schema', () => schemaFinding({ database, purpose, masterKey })),
        settingsFinding(database),
        await whereReadable('integrity', () => finding('integrity', faultsIn(database)[0], 'no faults')),
        await whereReadable('orphans', () => orphansFinding(database)),
        await whereReadable('sealed values', () => findSealed(queries, isAll)),
        await whereReadable('audit log', async () => auditFinding(await audit.verify(null))),
        await checkRecords(now, isAll),
        backupFinding(lastBackups(database), now, oldest),
      ]
    },
    checkRecords,
    checkHost: async () => fileFindings(path),
    findLastBackups: async () => lastBackups(database),
    noteServer: (server) =>
      writer.write(() => {
        if (server) settings.write(serverName, JSON.stringify(server))
        else settings.remove(serverName)
      }),
    async listServers() {
      const noted = settings.readText(serverName)
      const isServing = isServeLockHeld(path)
      const note: ServerNote | null = noted === null ? null : JSON.parse(noted)
      return isServing || note ? [{ isServing, note, seenAt: null }] : []
    },
    purge: () =>
      checkpoint(database).catch((error) => {
        throw toRefusal(error)
      }),
    keptAfterErasure: async () => 'Earlier backups still contain the erased data until they are deleted.',
    findCopyNote: async () => settings.readCopyNote(),
    reactivate: (act) =>
      writer.write(() => {
        requireCopied(settings.readCopyNote())
        settings.remove(copyNoteName)
        settings.write(generationName, newGeneration())
        audit.append([{ ...act, action: 'database.reactivate', record: null, outcome: 'done' }])
      }),
    noteZoneData: (zones) => writer.write(() => settings.noteZoneData(zones)),
    findZoneData: async () => settings.readZoneData(),
  }
}

const wanted: Record<string, string | number> = {
  journal_mode: 'wal',
  synchronous: 2,
  foreign_keys: 1,
  secure_delete: 1,
  application_id: applicationId,
}

function settingsFinding(database: Database): Finding {
  const wrong = Object.keys(wanted).filter((name) => readPragma(database, name) !== wanted[name])
  return finding('settings', wrong.length > 0 && `wrong: ${wrong.join(', ')}`, 'correct')
}

/** Turns a failed check into a finding, so that the other checks still run. */
async function whereReadable(check: string, find: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await find()
  } catch (error) {
    if (!(error instanceof SQLiteError)) return { check, state: 'bad', detail: 'the check failed' }
    const remedy = 'stop the service and restore a backup: anteroom restore'
    return { check, state: 'bad', detail: 'the database file is damaged; restore a backup', remedy }
  }
}

function schemaFinding(keyed: KeyedDatabase): Finding {
  const version = `version ${schemaOf(readPragma(keyed.database, 'user_version'))}`
  return finding('schema', named('unexpected or changed', schemaFaults(keyed)), version)
}

/** Finds foreign parts of the schema, for example triggers. The check of the pages does not find them. */
function schemaFaults({ database, purpose, masterKey }: KeyedDatabase): string[] {
  using fresh = new Database(':memory:')
  createSchema({ database: fresh, purpose, masterKey })
  const [wanted, found] = [objectsOf(fresh), objectsOf(database)]
  const names = new Set([...wanted.keys(), ...found.keys()])
  return [...names].filter((name) => wanted.get(name) !== found.get(name))
}

/** Tables that Litestream adds. These tables are allowed, but triggers on them are not. */
const ofLitestream = "('table _litestream_seq', 'table _litestream_lock')"

function objectsOf(database: Database): Map<string, string> {
  const select =
    "SELECT type || ' ' || name AS name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite@_%' ESCAPE '@'"
  const rows = database
    .query<{ name: string; sql: string }, []>(`${select} AND type || ' ' || name NOT IN ${ofLitestream}`)
    .all()
  return new Map(rows.map(({ name, sql }) => [name, sql]))
}

function orphansFinding(database: Database): Finding {
  const orphans = database.query('PRAGMA foreign_key_check').all().length
  return finding('orphans', orphans > 0 && `${orphans} records refer to missing records`, 'none')
}

function backupFinding(backups: LastBackups, now: number, oldest: number | null): Finding {
  const { backedUpAt, drilledAt } = backups
  const isTooOld = isBackupTooOld(backups, now, oldest)
  const state = isTooOld ? 'bad' : 'note'
  if (backedUpAt === null) return { check: 'backup', state, detail: 'no backup was made yet' }
  const daysSince = (at: number) => Math.floor((now - at) / dayMillis)
  const drill =
    drilledAt === null
      ? 'no drill yet (anteroom backup drill)'
      : `last drill ${daysSince(drilledAt)} days ago`
  const detail = `${daysSince(backedUpAt)} days old; ${drill}`
  if (isTooOld || daysSince(backedUpAt) > 1) return { check: 'backup', state, detail }
  return { check: 'backup', state: 'ok', detail }
}

function lastBackups(database: Database): LastBackups {
  const { readNumber } = settingsOf(database)
  return { backedUpAt: readNumber(lastBackupName), drilledAt: readNumber(lastDrillName) }
}
