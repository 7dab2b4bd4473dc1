import type { Command } from 'commander'
import { type Flags, readBackupMaxAge } from '../config'
import { isBackupTooOld, type ServerNote } from '../domain/upkeep'
import { askServer } from '../http/ask-server'
import { readStatus, type Status } from '../operations/status'
import type { Service } from '../service'
import { ageText } from './age'
import { asJson, type Call, serviceCommand } from './command'
import { exitCodes } from './exit-code'
import { firstAid } from './first-aid'
import { type CommonFlags, instantText, printJson, printLines, printRecord } from './output'
import { presentRefusal } from './refusal-text'
import { withSettings } from './storage'

/** `anteroom status`: how things stand, and what to do first. */
export function statusCommand(): Command {
  const description = 'Tell whether the service is up, what waits for staff, and what to do first'
  return asJson(withSettings(serviceCommand('status', description, tell), ['backupMaxAge']))
}

async function tell({ context: { context }, flags }: Call<Service, Flags & CommonFlags>): Promise<void> {
  const now = context.clock.now()
  const maxAge = readBackupMaxAge(flags)
  const status = await readStatus(context, askServer, now)
  const toDo = firstAid(status, isBackupTooOld(status.backups, now, maxAge))
  if (flags.json) printJson({ ...presentStatus(status), firstAid: toDo })
  else {
    printRecord(recordOf(status, now))
    if (toDo.length > 0) printLines('', 'What to do:', ...toDo.map((line) => `  ${line}`))
  }
  if (status.server !== 'up') process.exitCode = exitCodes.unhealthy
}

/** How things stand as JSON: instants in UTC. */
function presentStatus(status: Status) {
  const { server, note, waiting, unreadRisk, isRiskWhole, backups, nextCutover, refused, movedBookings } =
    status
  return {
    service: { state: server, ...(note && presentNote(note)) },
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

function presentNote({ host, port, version, startedAt }: ServerNote) {
  return { host, port, version, since: instantText(startedAt) }
}

function recordOf(status: Status, now: number): Record<string, string | number | null> {
  const { waiting, unreadRisk, isRiskWhole, backups, nextCutover, movedBookings } = status
  return {
    ...serviceLines(status, now),
    'waiting intakes': waiting.intakes,
    'oldest intake': agoText(waiting.oldestIntakeAt, now),
    'pending requests': waiting.pending,
    'unread risk': isRiskWhole ? unreadRisk : `${unreadRisk}, of the newest that wait`,
    'last backup': agoText(backups.backedUpAt, now) ?? 'never',
    'last drill': agoText(backups.drilledAt, now) ?? 'never',
    'next cutover': nextCutover && `${instantText(nextCutover.at)}, ${nextCutover.partner}`,
    ...refusedLines(status),
    'moved bookings': movedBookings,
  }
}

function serviceLines({ server, note }: Status, now: number): Record<string, string> {
  const state = {
    service: { up: 'up', unready: 'up, and can store nothing', silent: 'does not answer', down: 'down' }[
      server
    ],
  }
  if (!note) return state
  const since = agoText(note.startedAt, now) as string
  const address = `${note.host} port ${note.port}`
  // Nobody took the note away: it was killed, or the machine went down.
  if (server === 'down') return { service: 'down, and was not stopped', 'last started': since, address }
  return { ...state, since, address, version: note.version }
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

/** An instant (ms), and how long ago it was. */
function agoText(at: number | null, now: number): string | null {
  return at === null ? null : `${instantText(at)} (${ageText(at, now)} ago)`
}
