import type { Command } from 'commander'
import { type Flags, readBackupMaxAge } from '../config'
import { isBackupTooOld } from '../domain/ports/upkeep'
import { askServer } from '../http/listening/ask-server'
import { readStatus, type Status } from '../operations/status'
import { asJson, type Call, zonesCommand } from './command'
import { exitCodes } from './exit-code'
import { firstAid } from './first-aid'
import {
  type CommonFlags,
  columnsOf,
  instantText,
  printJson,
  printLines,
  printRecord,
  printTable,
} from './output'
import { presentRefusal } from './refusal-text'
import { agoText, presentServers, serverRows, serviceLines } from './server-text'
import { type RecordsAndZones, withSettings } from './storage'

/** `anteroom status`: how things stand, and what to do first. */
export function statusCommand(): Command {
  const description = 'Tell whether the service is up, what waits for staff, and what to do first'
  return asJson(withSettings(zonesCommand('status', description, tell), ['backupMaxAge']))
}

async function tell({
  context: { context, zones },
  flags,
}: Call<RecordsAndZones, Flags & CommonFlags>): Promise<void> {
  const now = context.clock.now()
  const maxAge = readBackupMaxAge(flags)
  const status = await readStatus(context, zones, askServer, now)
  const toDo = firstAid(status, isBackupTooOld(status.backups, now, maxAge))
  if (flags.json) printJson({ ...presentStatus(status), firstAid: toDo })
  else {
    printRecord(recordOf(status, now))
    printServers(serverRows(status.servers, now))
    if (toDo.length > 0) printLines('', 'What to do:', ...toDo.map((line) => `  ${line}`))
  }
  if (status.servers.length === 0 || status.servers.some(({ state }) => state !== 'up'))
    process.exitCode = exitCodes.unhealthy
}

function printServers(rows: ReturnType<typeof serverRows>): void {
  if (rows.length === 0) return
  printLines('')
  const columns = columnsOf<(typeof rows)[number]>('server', 'state', 'address', 'version', 'since', 'seen')
  printTable(rows, columns, '')
}

/** How things stand as JSON: instants in UTC. */
function presentStatus(status: Status) {
  const { copied, servers, waiting, unreadRisk, isRiskWhole, backups, nextCutover, refused, movedBookings } =
    status
  return {
    ...presentServers(servers),
    copied: copied && { to: copied.to, at: instantText(copied.at) },
    waiting: {
      intakes: waiting.intakes,
      oldestIntakeAt: instantText(waiting.oldestIntakeAt),
      pending: waiting.pending,
    },
    unreadRisk: { count: unreadRisk, ofAll: isRiskWhole },
    backup: { madeAt: instantText(backups.backedUpAt), drilledAt: instantText(backups.drilledAt) },
    nextCutover: nextCutover && { partner: nextCutover.partner, at: instantText(nextCutover.at) },
    refusedToday: {
      kinds: refused.map((kind) => ({ partner: kind.partner, ...presentRefusal(kind) })),
      ofAll: status.isRefusedWhole,
    },
    movedBookings,
  }
}

function recordOf(status: Status, now: number): Record<string, string | number | null> {
  const { copied, waiting, unreadRisk, isRiskWhole, nextCutover, movedBookings } = status
  return {
    ...serviceLines(status.servers, now),
    ...(copied && { 'copied to': copied.to, 'copied at': agoText(copied.at, now) }),
    'waiting intakes': waiting.intakes,
    'oldest intake': agoText(waiting.oldestIntakeAt, now),
    'pending requests': waiting.pending,
    'unread risk': isRiskWhole ? unreadRisk : `${unreadRisk}, of the newest that wait`,
    ...backupLines(status, now),
    'next cutover': nextCutover && `${instantText(nextCutover.at)}, ${nextCutover.partner}`,
    ...refusedLines(status),
    'moved bookings': movedBookings,
  }
}

/** Of backups that a server makes of itself nothing is known, and none is tried. */
function backupLines({ backups }: Status, now: number): Record<string, string> {
  if (backups.isByServer) return { 'last backup': "the server's own, not seen from here" }
  return {
    'last backup': agoText(backups.backedUpAt, now) ?? 'never',
    'last drill': agoText(backups.drilledAt, now) ?? 'never',
  }
}

/** A line for each kind; the first has the name of all. */
function refusedLines({ refused, isRefusedWhole }: Status): Record<string, string | number> {
  if (refused.length === 0) return { 'refused today': 0 }
  const lines = refused.map(({ partner, reason, isClaimed, count }) => {
    const who = partner === null ? 'no known partner' : isClaimed ? `claimed to be ${partner}` : partner
    return `${count} ${reason}, ${who}`
  })
  if (!isRefusedWhole) lines.push('and more before those')
  // Spaces: the names of a record differ, and only the first is to be seen.
  return Object.fromEntries(lines.map((line, at) => [at === 0 ? 'refused today' : ' '.repeat(at), line]))
}
