import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import { type Flags, readStorageConfig, type StorageConfig } from '../config'
import type { Finding } from '../domain/upkeep'
import type { ZoneData } from '../domain/zone-data'
import { listMovedBookings, type MovedBooking } from '../operations/check-bookings'
import { zoneDataNote } from '../operations/check-zones'
import { listUnlisted } from '../operations/providers'
import { checkDatabase } from '../operations/upkeep'
import { exitCodes } from './exit-code'
import { columnsOf, printJson, printTable } from './output'
import { storageCommand, withService } from './storage'

/** `anteroom doctor`: whether all that the service depends on is as it should be. */
export function doctorCommand(): Command {
  return storageCommand('doctor', 'Check the database, its files, the zone data and the disk')
    .option('--json', 'print the findings as JSON')
    .action((flags: Flags & { json?: boolean }) =>
      withService(flags, async ({ context, zones }) => {
        const now = context.clock.now()
        const findings = [
          ...(await checkDatabase(context)),
          bookedFinding(await listMovedBookings(context, now)),
          listedFinding(listUnlisted(context)),
          ...fileFindings(readStorageConfig(flags)),
          zoneFinding(zones, now),
        ]
        if (flags.json) printJson(findings)
        else printTable(findings, columns, '')
        if (findings.some(({ state }) => state === 'bad')) process.exitCode = exitCodes.unhealthy
      }),
    )
}

const columns = columnsOf<Finding>('check', 'state', 'detail')

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

function listedFinding(unlisted: ReturnType<typeof listUnlisted>): Finding {
  const faults = unlisted.map(({ ref, fault }) => `${ref} is left out of searches: ${fault}`)
  return finding('providers', faults.length === 0, faults.join('; ') || 'all are listed')
}

function bookedFinding(moved: readonly MovedBooking[]): Finding {
  const told = moved.map(({ requestId, provider, member, from, to }) => {
    const who = member ? `${member.profile.firstName} ${member.profile.lastName}` : 'a person who was erased'
    const whom = `${provider.ref} (${provider.firstName} ${provider.lastName})`
    return `request ${requestId}, ${who} with ${whom}: ${from} is now ${to} in ${provider.timeZone}`
  })
  const way = 'tell them, then anteroom request acknowledge ID'
  return finding(
    'booked times',
    told.length === 0,
    told.length === 0 ? 'as they were booked' : `${told.join('; ')}; ${way}`,
  )
}

function zoneFinding(zones: ZoneData, now: number): Finding {
  const note = zoneDataNote(zones, now)
  return finding('zone data', note === null, note ?? `${zones.edition}, ${zones.folder ?? 'built in'}`)
}

function finding(check: string, isGood: boolean, detail: string): Finding {
  return { check, state: isGood ? 'ok' : 'bad', detail }
}
