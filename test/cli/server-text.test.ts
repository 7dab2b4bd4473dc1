import { expect, test } from 'bun:test'
import { presentServers, serverRows, serviceLines } from '../../src/cli/commands/status'

const now = Date.parse('2026-12-01T12:00:00Z')
const hour = 60 * 60_000
const note = { host: '10.0.0.4', port: 8080, machine: 'one', version: '1.2.0', startedAt: now - 2 * hour }
const one = { state: 'up', note, seenAt: now } as const
const ended = { state: 'down', note: { ...note, machine: 'two' }, seenAt: now - hour } as const

test('cli: status describes a single server as the service, and prints no list of servers', () => {
  const alone = { ...one, seenAt: null }
  expect(serviceLines([alone], now)).toEqual({
    service: 'up',
    since: '2026-12-01T10:00:00Z (2 h ago)',
    address: '10.0.0.4 port 8080',
    version: '1.2.0',
  })
  expect(serverRows([alone], now)).toEqual([])
  expect(presentServers([alone])).toEqual({
    service: {
      state: 'up',
      host: '10.0.0.4',
      port: 8080,
      version: '1.2.0',
      since: '2026-12-01T10:00:00Z',
    },
  })
})

test('cli: status with several servers lists the machine of each server, and when the server was last seen', () => {
  expect(serviceLines([one, ended], now)).toEqual({ service: 'up, 1 of 2 servers' })
  expect(serviceLines([ended, ended], now)).toEqual({ service: 'down, 0 of 2 servers' })
  expect(serverRows([one, ended], now)).toEqual([
    {
      server: 'one',
      state: 'up',
      address: '10.0.0.4 port 8080',
      version: '1.2.0',
      since: '2026-12-01T10:00:00Z (2 h ago)',
      seen: '2026-12-01T12:00:00Z (0 min ago)',
    },
    {
      server: 'two',
      state: 'down, ended unexpectedly',
      address: '10.0.0.4 port 8080',
      version: '1.2.0',
      since: '2026-12-01T10:00:00Z (2 h ago)',
      seen: '2026-12-01T11:00:00Z (1 h ago)',
    },
  ])
  expect(presentServers([one, ended])).toEqual({
    service: { state: 'up' },
    servers: [
      {
        state: 'up',
        machine: 'one',
        host: '10.0.0.4',
        port: 8080,
        version: '1.2.0',
        since: '2026-12-01T10:00:00Z',
        seenAt: '2026-12-01T12:00:00Z',
      },
      {
        state: 'down',
        machine: 'two',
        host: '10.0.0.4',
        port: 8080,
        version: '1.2.0',
        since: '2026-12-01T10:00:00Z',
        seenAt: '2026-12-01T11:00:00Z',
      },
    ],
  })
})
