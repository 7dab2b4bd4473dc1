import { expect, test } from 'bun:test'
import { firstAid } from '../../src/cli/commands/status'
import { isBackupTooOld } from '../../src/domain/ports/maintenance'
import type { ServerState, Status } from '../../src/operations/status'

const at = Date.parse('2026-12-01T12:00:00Z')
const note = { host: '127.0.0.1', port: 8080, version: '1.0.0', startedAt: at }
const serverThatIs = (state: ServerState) => ({ state, note, seenAt: null })
const well: Status = {
  copied: null,
  servers: [serverThatIs('up')],
  waiting: { intakes: 0, oldestIntakeAt: null, pending: 3 },
  unreadRisk: { count: 0, oldestAt: null },
  backups: { backedUpAt: at, drilledAt: at },
  nextCutover: null,
  refused: [],
  isRefusedWhole: true,
  tokenConcerns: [],
  usedFrom: [],
  emailConflicts: [],
  movedBookings: 0,
  isTraced: true,
}

test('cli: the hints of status are empty if nothing is wrong', () => {
  expect(firstAid(well, false)).toEqual([])
})

test('cli: the hints of status are at most ten, most urgent first, and fit a terminal', () => {
  const refusal = {
    partner: 'Lantern',
    reason: 'token_invalid',
    isClaimed: true,
    count: 4,
    lines: 4,
    lastAt: 0,
  }
  const sick: Status = {
    ...well,
    servers: [serverThatIs('down')],
    waiting: { intakes: 1, oldestIntakeAt: at, pending: 0 },
    unreadRisk: { count: 12_345, oldestAt: at },
    backups: { backedUpAt: at, drilledAt: null },
    nextCutover: { partner: 'Lantern', at },
    refused: [refusal],
    emailConflicts: [{ partner: 'Lantern', partnerId: 1, conflicts: 20, limit: 20, refused: 7 }],
    movedBookings: 2,
  }
  const lines = firstAid(sick, true)
  expect(lines).toEqual([
    '12345 requests with raised PHQ-9 item 9, unread: anteroom request list --risk',
    'the service is down: read its log, then start it again (anteroom serve)',
    '2 bookings with a changed local time: anteroom doctor',
    '1 intake without a provider: anteroom request list --intakes',
    'the last backup is too old: anteroom backup FILE',
    'no restore was ever tested: anteroom backup drill',
    'Lantern, 20 of 20 e-mail conflicts: call it, then anteroom partner set-rates',
    'tokens were refused: anteroom token verify --kid KID',
    'Lantern needs its new token by 2026-12-01T12:00:00Z: anteroom token list',
  ])
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(78)
  expect(firstAid({ ...sick, servers: [serverThatIs('silent')] }, true)[1]).toBe(
    'the service does not respond: read its log, then restart it',
  )
  expect(firstAid({ ...sick, servers: [serverThatIs('unready')] }, true)[1]).toBe(
    "the service cannot store data: run anteroom doctor, read the service's log",
  )
})

test('cli: the hints of status mention a server that ended unexpectedly, even if another server serves', () => {
  expect(firstAid({ ...well, servers: [serverThatIs('down'), serverThatIs('up')] }, false)).toEqual([
    '1 server ended unexpectedly: read the log there, then start the server again',
  ])
})

test('cli: the hints of status mention an unready server, even if another server is ready', () => {
  expect(firstAid({ ...well, servers: [serverThatIs('unready'), serverThatIs('up')] }, false)).toEqual([
    '1 server not ready: read the log there',
  ])
})

test('cli: the hints of status do not mention the age of a backup that was never made', () => {
  expect(firstAid({ ...well, backups: { backedUpAt: null, drilledAt: null } }, true)).toEqual([
    'no backup was ever made: anteroom backup FILE',
  ])
})

test('cli: the hints of status do not mention backups that the database server makes', () => {
  const backups = { backedUpAt: null, drilledAt: null, isByServer: true }
  expect(isBackupTooOld(backups, at, 1)).toBe(false)
  expect(firstAid({ ...well, backups }, false)).toEqual([])
})
