import type { Command } from 'commander'
import { type Flags, readValues } from '../../config'
import { isBackupTooOld, type ServerNote } from '../../domain/ports/maintenance'
import { askServer } from '../../http/listening/hosts'
import {
  readStatus,
  type ServerState,
  type ServerStatus,
  type Status,
  serviceState,
} from '../../operations/status'
import { formatInstant } from '../../scheduling/calendar'
import { type Call, json, zonesCommand } from '../command'
import { exitCodes, presentRefusal } from '../exit-code'
import type { RecordsAndZones } from '../storage'
import { counted, firstOf } from '../terminal/layout'
import { ageText, type CommonFlags, instantText, type Text } from '../terminal/output'
import { columnsOf, fields, table } from '../terminal/table'

const stateTexts: Readonly<Record<ServerState, string>> = {
  up: 'up',
  unready: 'up, but cannot store data',
  silent: 'does not respond',
  down: 'down',
}

/** Describes one server with its details, or the overall state of several servers. */
export function serviceLines(servers: readonly ServerStatus[], now: number): Record<string, string> {
  const state = stateTexts[serviceState(servers)]
  const [first, ...others] = servers
  if (others.length > 0) {
    const up = servers.filter((server) => server.state === 'up').length
    return { service: `${state}, ${up} of ${servers.length} servers` }
  }
  if (!first?.note) return { service: state }
  const { note } = first
  const since = agoText(note.startedAt, now) as string
  const address = addressOf(note)
  if (first.state === 'down') return { service: endedText, 'last started': since, address }
  return { service: state, since, address, version: note.version }
}

// A server that stops normally deletes its record. The record stays if the server is killed or the machine goes down.
const endedText = 'down, ended unexpectedly'

function addressOf({ host, port }: ServerNote): string {
  return `${host} port ${port}`
}

/** Returns one row for each of several servers. Returns no row for a single server: see serviceLines. */
export function serverRows(servers: readonly ServerStatus[], now: number) {
  if (servers.length < 2) return []
  return servers.map(({ state, note, seenAt }) => ({
    server: note?.machine ?? null,
    state: state === 'down' ? endedText : stateTexts[state],
    address: note && addressOf(note),
    version: note?.version ?? null,
    since: note && agoText(note.startedAt, now),
    seen: agoText(seenAt, now),
  }))
}

/** Returns one server with its details as JSON, or the overall state with a list of servers. */
export function presentServers(servers: readonly ServerStatus[]) {
  const state = serviceState(servers)
  const [first, ...others] = servers
  if (others.length === 0) return { service: { state, ...(first && presentServerNote(first)) } }
  const each = servers.map((server) => ({
    state: server.state,
    machine: server.note?.machine ?? null,
    ...presentServerNote(server),
    seenAt: instantText(server.seenAt),
  }))
  return { service: { state }, servers: each }
}

function presentServerNote({ note }: ServerStatus) {
  if (!note) return {}
  const { host, port, version, startedAt } = note
  return { host, port, version, since: instantText(startedAt) }
}

/** For example `2026-12-01T14:00:00Z (3 h ago)`. @param at in ms */
function agoText(at: number | null, now: number): string | null {
  return at === null ? null : `${instantText(at)} (${ageText(at, now)} ago)`
}

export function statusCommand(): Command {
  return zonesCommand({
    name: 'status',
    settings: ['backupMaxAge', 'emailConflictsPerHour'],
    options: [json()],
    examples: ['anteroom status --json | jq -e \'.service.state == "up"\''],
    run: show,
  })
}

async function show({ context: { context, zones }, flags }: Call<RecordsAndZones, Flags & CommonFlags>) {
  const now = context.clock.now()
  const { backupMaxAge = null, emailConflictsPerHour } = readValues(flags)
  const status = await readStatus(context, zones, askServer, now, emailConflictsPerHour)
  const toDo = firstAid(status, isBackupTooOld(status.backups, now, backupMaxAge))
  if (!status.isTraced || status.servers.length === 0 || status.servers.some(({ state }) => state !== 'up'))
    process.exitCode = exitCodes.unhealthy
  return {
    json: { ...presentStatus(status), firstAid: toDo },
    text: [
      fields(recordOf(status, now)),
      serversText(serverRows(status.servers, now)),
      toDo.length > 0 ? ['', 'What to do:', toDo.map((line) => `  ${line}`)] : [],
    ],
  }
}

function serversText(rows: ReturnType<typeof serverRows>): Text {
  if (rows.length === 0) return []
  const columns = columnsOf<(typeof rows)[number]>('server', 'state', 'address', 'version', 'since', 'seen')
  return ['', table(rows, columns, '')]
}

function presentStatus(status: Status) {
  const { copied, servers, waiting, unreadRisk, backups, nextCutover, refused, movedBookings } = status
  return {
    unreadRisk: { ...unreadRisk, oldestAt: instantText(unreadRisk.oldestAt) },
    ...presentServers(servers),
    copied: copied && { to: copied.to, at: instantText(copied.at) },
    waiting: { ...waiting, oldestIntakeAt: instantText(waiting.oldestIntakeAt) },
    backup: { madeAt: instantText(backups.backedUpAt), drilledAt: instantText(backups.drilledAt) },
    usedFrom: status.usedFrom.map((use) => ({ ...use, lastAt: instantText(use.lastAt) })),
    tokenConcerns: status.tokenConcerns,
    nextCutover: nextCutover && { ...nextCutover, at: instantText(nextCutover.at) },
    refusedToday: {
      kinds: refused.map((kind) => ({ partner: kind.partner, ...presentRefusal(kind) })),
      ofAll: status.isRefusedWhole,
    },
    emailConflicts: status.emailConflicts,
    movedBookings,
    recordsTraced: status.isTraced,
  }
}

function recordOf(status: Status, now: number): Record<string, string | number | null> {
  const { copied, waiting, unreadRisk, nextCutover, movedBookings, emailConflicts } = status
  const oldestRisk = agoText(unreadRisk.oldestAt, now)
  return {
    'unread risk': oldestRisk === null ? 0 : `${unreadRisk.count}, the oldest from ${oldestRisk}`,
    ...serviceLines(status.servers, now),
    ...(copied && { 'copied to': copied.to, 'copied at': agoText(copied.at, now) }),
    'waiting intakes': waiting.intakes,
    'oldest intake': agoText(waiting.oldestIntakeAt, now),
    'pending requests': waiting.pending,
    ...backupLines(status, now),
    'next cutover': nextCutover && `${instantText(nextCutover.at)}, ${nextCutover.partner}`,
    'used from': usedFromText(status),
    ...refusedLines(status),
    ...(emailConflicts.length > 0 && {
      'e-mail conflicts': firstOf(emailConflicts.map(conflictText), mostAddresses, '; '),
    }),
    'shifted bookings': movedBookings,
  }
}

export function conflictText(of: Status['emailConflicts'][number]): string {
  return `${of.partner}: ${of.conflicts} of ${of.limit} in the last hour, people refused: ${of.refused}`
}

const mostAddresses = 5

/** For example `Lantern: 203.0.113.7 and 2001:db8:0:1::/64`. Covers the last 30 days. */
function usedFromText({ usedFrom }: Status): string {
  const byPartner = [...Map.groupBy(usedFrom, ({ partner }) => partner)].map(([partner, uses]) => {
    const addresses = uses.map(({ address }) => address)
    return `${partner}: ${firstOf(addresses, mostAddresses)}`
  })
  return byPartner.join('; ') || 'no address in 30 days'
}

function backupLines({ backups }: Status, now: number): Record<string, string> {
  if (backups.isByServer) return { 'last backup': 'made by the database server, not visible here' }
  return {
    'last backup': agoText(backups.backedUpAt, now) ?? 'never',
    'last drill': agoText(backups.drilledAt, now) ?? 'never',
  }
}

/** One line per kind of refusal. Only the first line has a label. */
function refusedLines({ refused, isRefusedWhole }: Status): Record<string, string | number> {
  if (refused.length === 0) return { 'refused today': 0 }
  const lines = refused.map(({ partner, reason, isClaimed, count }) => {
    const who = partner === null ? 'no known partner' : isClaimed ? `claimed to be ${partner}` : partner
    return `${count} ${reason}, ${who}`
  })
  if (!isRefusedWhole) lines.push('and earlier ones')
  // Object keys must be unique, so the keys of lines without a label are spaces of different lengths.
  return Object.fromEntries(lines.map((line, at) => [at === 0 ? 'refused today' : ' '.repeat(at), line]))
}

const mostAdvice = 10

/** Returns advice, most urgent first. @param isBackupOld true if the last backup is older than the setting allows */
export function firstAid(status: Status, isBackupOld: boolean): string[] {
  const { copied, waiting, unreadRisk, backups, nextCutover, refused, movedBookings, tokenConcerns } = status
  const { isTraced } = status
  const server = serviceState(status.servers)
  const countOf = (one: ServerState) => status.servers.filter(({ state }) => state === one).length
  const [ended, unready] = [countOf('down'), countOf('unready')]
  const lines = [
    copied && 'this database was copied: use the copy (see copied to)',
    unreadRisk.count > 0 &&
      `${counted(unreadRisk.count, 'request')} with raised PHQ-9 item 9, unread: anteroom request list --risk`,
    !isTraced && 'records differ from the audit log: anteroom doctor',
    server === 'down' && !copied && 'the service is down: read its log, then start it again (anteroom serve)',
    server === 'unready' && "the service cannot store data: run anteroom doctor, read the service's log",
    server === 'silent' && 'the service does not respond: read its log, then restart it',
    server !== 'down' &&
      ended > 0 &&
      `${counted(ended, 'server')} ended unexpectedly: read the log there, then start the server again`,
    server === 'up' && unready > 0 && `${counted(unready, 'server')} not ready: read the log there`,
    movedBookings > 0 && `${counted(movedBookings, 'booking')} with a changed local time: anteroom doctor`,
    waiting.intakes > 0 &&
      `${counted(waiting.intakes, 'intake')} without a provider: anteroom request list --intakes`,
    backups.backedUpAt === null && !backups.isByServer && 'no backup was ever made: anteroom backup FILE',
    isBackupOld && backups.backedUpAt !== null && 'the last backup is too old: anteroom backup FILE',
    backups.backedUpAt !== null &&
      backups.drilledAt === null &&
      'no restore was ever tested: anteroom backup drill',
    ...status.emailConflicts.map(({ partner, conflicts, limit }) => {
      return `${partner}, ${conflicts} of ${limit} e-mail conflicts: call it, then anteroom partner set-rates`
    }),
    refused.length > 0 && 'tokens were refused: anteroom token verify --kid KID',
    ...tokenConcerns.map(({ partner, kid, concerns }) => {
      const remedy = concerns.some((one) => one.startsWith('unused')) ? 'revoke' : 'rotate'
      return `token ${kid} of ${partner} is ${concerns.join(' and ')}: anteroom token ${remedy} PARTNER`
    }),
    nextCutover &&
      `${nextCutover.partner} needs its new token by ${formatInstant(nextCutover.at)}: anteroom token list`,
  ]
  return lines.filter((line) => typeof line === 'string').slice(0, mostAdvice)
}
