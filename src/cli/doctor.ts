import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import { type Flags, readStorageConfig, type StorageConfig } from '../config'
import type { RequestRecord } from '../domain/booking-request'
import type { StoreHealth } from '../domain/store'
import { requestsMoved } from '../operations/check-bookings'
import { zonesUnlikeRuntime } from '../operations/check-zones'
import { minuteMillis } from '../scheduling/calendar'
import { exitCodes } from './exit-code'
import { columnsOf, printJson, printTable } from './output'
import { storageCommand, withService } from './storage'

/** What one check found. Only what is bad makes the whole unhealthy. */
interface Finding {
  readonly check: string
  readonly state: 'ok' | 'note' | 'bad'
  readonly detail: string
}

/** `anteroom doctor`: whether all that the service depends on is as it should be. */
export function doctorCommand(): Command {
  return storageCommand('doctor', 'Check the database, its files, the zone data and the disk')
    .option('--json', 'print the findings as JSON')
    .action((flags: Flags & { json?: boolean }) =>
      withService(flags, async ({ context, zones }) => {
        const now = context.clock.now()
        const health = await context.store.checkHealth()
        const known = zones.names.flatMap((name) => zones.find(name) ?? [])
        const findings = [
          ...storageFindings(health, now),
          bookedFinding(await requestsMoved(context, now)),
          ...fileFindings(readStorageConfig(flags)),
          zoneFinding(zones.version, zonesUnlikeRuntime(known, now)),
        ]
        if (flags.json) printJson(findings)
        else printTable(findings, columns, '')
        if (findings.some(({ state }) => state === 'bad')) process.exitCode = exitCodes.unhealthy
      }),
    )
}

const columns = columnsOf<Finding>('check', 'state', 'detail')

/** What the database must say of its settings when they are read back. */
const wanted: Record<string, string | number> = {
  journal_mode: 'wal',
  synchronous: 2,
  foreign_keys: 1,
  secure_delete: 1,
}

const dayMillis = 24 * 60 * minuteMillis

function storageFindings(health: StoreHealth, now: number): Finding[] {
  const { settings, faults, orphans, schemaVersion, lastBackupAt } = health
  const wrong = Object.keys(wanted).filter((name) => settings[name] !== wanted[name])
  const backupDays = lastBackupAt === null ? null : Math.floor((now - lastBackupAt) / dayMillis)
  return [
    finding('schema', true, `version ${schemaVersion}`),
    finding(
      'settings',
      wrong.length === 0,
      wrong.length === 0 ? 'as they should be' : `wrong: ${wrong.join(', ')}`,
    ),
    finding('integrity', faults.length === 0, faults[0] ?? 'no faults'),
    finding('orphans', orphans === 0, orphans === 0 ? 'none' : `${orphans} records point at nothing`),
    {
      check: 'backup',
      state: backupDays === null || backupDays > 1 ? 'note' : 'ok',
      detail: backupDays === null ? 'none was made yet' : `${backupDays} days old`,
    },
  ]
}

/** The least free space in bytes: below it, writes may soon fail. */
const leastFree = 256 * 1024 * 1024

function fileFindings({ database, masterKey }: StorageConfig): Finding[] {
  const files = [
    database,
    `${database}-wal`,
    `${database}-shm`,
    ...('file' in masterKey ? [masterKey.file] : []),
  ]
  const open = files.filter((file) => existsSync(file) && (statSync(file).mode & 0o077) !== 0)
  const disk = statfsSync(dirname(database))
  const free = disk.bavail * disk.bsize
  return [
    finding(
      'file modes',
      open.length === 0,
      open.length === 0 ? 'readable by their owner alone' : `others can read ${open.join(', ')}`,
    ),
    finding('free disk', free >= leastFree, `${Math.floor(free / 1024 / 1024)} MiB`),
  ]
}

function bookedFinding(moved: readonly RequestRecord[]): Finding {
  const names = moved.map(({ id }) => id).join(', ')
  const detail = `the provider's clock will show another time than was booked: request ${names}`
  return finding('booked times', moved.length === 0, moved.length === 0 ? 'as they were booked' : detail)
}

function zoneFinding(version: string, different: readonly string[]): Finding {
  const detail = `${version}; the runtime's own, which is not used, differs in ${different.length} zones`
  return {
    check: 'zone data',
    state: 'ok',
    detail: different.length === 0 ? version : `${detail}: ${different.join(', ')}`,
  }
}

function finding(check: string, isGood: boolean, detail: string): Finding {
  return { check, state: isGood ? 'ok' : 'bad', detail }
}
