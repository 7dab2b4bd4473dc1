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
  unreadRisk: 0,
  isRiskWhole: true,
  backups: { backedUpAt: at, drilledAt: at },
  nextCutover: null,
  refused: [],
  isRefusedWhole: true,
  movedBookings: 0,
}

test('where all is well there is nothing to do', () => {
  expect(firstAid(well, false)).toEqual([])
})

test('what was found is told most urgent first, in at most ten lines that fit a terminal', () => {
  const refusal = { partner: 'Lantern', reason: 'token_invalid', isClaimed: true, count: 4, lastAt: 0 }
  const sick: Status = {
    ...well,
    servers: [serverThatIs('down')],
    waiting: { intakes: 1, oldestIntakeAt: at, pending: 0 },
    unreadRisk: 12_345,
    backups: { backedUpAt: at, drilledAt: null },
    nextCutover: { partner: 'Lantern', at },
    refused: [refusal],
    movedBookings: 2,
  }
  const lines = firstAid(sick, true)
  expect(lines).toEqual([
    'the service is down: read its log, start it again (anteroom serve)',
    '12345 requests with a raised ninth item, unread: anteroom request list --risk',
    '2 bookings with another local time: anteroom doctor',
    '1 intake with no provider: anteroom request list --intakes',
    'the last backup is too old: anteroom backup FILE',
    'no backup was ever tried: anteroom backup drill',
    'tokens were refused: anteroom token verify --kid KID',
    'Lantern needs its new token by 2026-12-01T12:00:00Z: anteroom token list',
  ])
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(78)
  expect(firstAid({ ...sick, servers: [serverThatIs('silent')] }, true)[0]).toBe(
    'the service does not answer: read its log, start it again',
  )
  expect(firstAid({ ...sick, servers: [serverThatIs('unready')] }, true)[0]).toBe(
    'the service can store nothing: anteroom doctor, and read its log',
  )
})

test('of several servers, one that ended is told beside those that serve, and the service is not down', () => {
  expect(firstAid({ ...well, servers: [serverThatIs('down'), serverThatIs('up')] }, false)).toEqual([
    '1 server ended without being stopped: read the log there, start it again',
  ])
})

test('of several servers, one that is not ready is told beside those that are', () => {
  expect(firstAid({ ...well, servers: [serverThatIs('unready'), serverThatIs('up')] }, false)).toEqual([
    'not ready: 1 server: read the log there',
  ])
})

test('of a backup that was never made, its age is not told too', () => {
  expect(firstAid({ ...well, backups: { backedUpAt: null, drilledAt: null } }, true)).toEqual([
    'no backup was ever made: anteroom backup FILE',
  ])
})

test('of backups that the server makes of itself, nothing is to be done here', () => {
  const backups = { backedUpAt: null, drilledAt: null, isByServer: true }
  expect(isBackupTooOld(backups, at, 1)).toBe(false)
  expect(firstAid({ ...well, backups }, false)).toEqual([])
})
