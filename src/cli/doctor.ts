import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Command } from 'commander'
import { type Flags, readStorageConfig, type StorageConfig } from '../config'
import type { Finding } from '../domain/upkeep'
import type { ZoneData } from '../domain/zone-data'
import { listMovedBookings, type MovedBooking } from '../operations/check-bookings'
import { zoneDataNote } from '../operations/check-zones'
import { listUnlisted } from '../operations/providers'
import { checkDatabase } from '../operations/upkeep'
import { keptCopyNote, type Service } from '../service'
import { asJson, type Call, commandsIn } from './command'
import { exitCodes } from './exit-code'
import { type CommonFlags, columnsOf, printRows } from './output'
import { withService } from './storage'

/** `anteroom doctor`: whether all that the service depends on is as it should be. */
export function doctorCommand(): Command {
  const doctor = commandsIn(withService)
  return asJson(
    doctor('doctor', 'Check the database, its files, the zone data and the disk', examine),
    'print the findings as JSON',
  )
}

async function examine({ context: { context, zones }, flags }: Call<Service, Flags & CommonFlags>) {
  const now = context.clock.now()
  const findings = [
    ...(await checkDatabase(context)),
    bookedFinding(await listMovedBookings(context, now)),
    listedFinding(listUnlisted(context)),
    ...fileFindings(readStorageConfig(flags)),
    zoneFinding(zones, now),
  ]
  printRows(flags, findings, columns, '')
  if (findings.some(({ state }) => state === 'bad')) process.exitCode = exitCodes.unhealthy
}

const columns = columnsOf<Finding>('check', 'state', 'detail')

/** The least free space in bytes: below it, writes may soon fail. */
const leastFree = 256 * 1024 * 1024

function fileFindings({ database }: StorageConfig): Finding[] {
  // A master key that others can read was refused before any of this.
  const files = [database, `${database}-wal`, `${database}-shm`]
  const open = files.filter((file) => existsSync(file) && (statSync(file).mode & 0o077) !== 0)
  const copies = readdirSync(dirname(database))
    .filter((name) => name.startsWith(`${basename(database)}.before-schema-`))
    .map((name) => join(dirname(database), name))
  const disk = statfsSync(dirname(database))
  const free = disk.bavail * disk.bsize
  const freeText = `${Math.floor(free / 1024 / 1024)} MiB`
  return [
    finding(
      'file modes',
      open.length > 0 && `others can read ${open.join(', ')}`,
      'readable by their owner alone',
    ),
    {
      check: 'older copies',
      state: copies.length > 0 ? 'note' : 'ok',
      detail: copies.map(keptCopyNote).join(' ') || 'none',
    },
    finding('free disk', free < leastFree && freeText, freeText),
  ]
}

function listedFinding(unlisted: ReturnType<typeof listUnlisted>): Finding {
  // Those who are deactivated are missed by nobody.
  const missed = unlisted.filter(({ active }) => active)
  const faults = missed.map(({ ref, fault }) => `${ref} is left out of searches: ${fault}`)
  return finding('providers', faults.join('; '), 'all are listed')
}

function bookedFinding(moved: readonly MovedBooking[]): Finding {
  const told = moved.map(({ requestId, provider, member, from, to }) => {
    // By their ids: whoever looks them up leaves a line in the audit log.
    const who = member ? `member ${member.id}` : 'a person who was erased'
    const whom = `${provider.ref} (${provider.firstName} ${provider.lastName})`
    return `request ${requestId}, ${who} with ${whom}: ${from} is now ${to} in ${provider.timeZone}`
  })
  const fault = `${told.join('; ')}; tell them, then anteroom request acknowledge ID`
  return finding('booked times', told.length > 0 && fault, 'as they were booked')
}

function zoneFinding(zones: ZoneData, now: number): Finding {
  return finding('zone data', zoneDataNote(zones, now), `${zones.edition}, ${zones.folder ?? 'built in'}`)
}

/** @param fault what is wrong; empty, false or null if nothing is, which is told in the other words */
function finding(check: string, fault: string | false | null, fine: string): Finding {
  return fault ? { check, state: 'bad', detail: fault } : { check, state: 'ok', detail: fine }
}
