import { afterAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type RunningServer, reload as reloadAnd } from '../../src/cli/commands/serve'
import { type Flags, readServerConfig } from '../../src/config'
import type { Limits } from '../../src/domain/limits'
import { systemClock } from '../../src/domain/ports/time'
import type { TlsIdentity } from '../../src/http/listening/listen'
import { readCertificate } from '../../src/service'
import { makeCertificate } from '../support/certificates'
import { Folder } from '../support/folder'

const folder = new Folder()
const [one, two] = [makeCertificate(folder, 'one'), makeCertificate(folder, 'two', 13)]
afterAll(() => folder[Symbol.dispose]())

const path = folder.file('settings')
const set = (...lines: string[]) =>
  writeFileSync(path, ['ANTEROOM_DATABASE=a', 'ANTEROOM_BASE_URL=https://localhost', ...lines].join('\n'))

/** A server that runs by the settings file, and what it was told since. */
function running(flags: Flags = {}) {
  const read = () => readServerConfig({ settings: path, ...flags }, {})
  const config = read()
  const limits: Limits[] = []
  const certificates: TlsIdentity[] = []
  const told: RunningServer = {
    read,
    service: { setLimits: (given) => void limits.push(given) },
    server: { replaceCertificate: (given) => void certificates.push(given) },
    clock: systemClock,
    inForce: config.given,
    certificate: config.tls && readCertificate(config.tls, systemClock.now()),
  }
  return { told, limits, certificates }
}

test('the number of nodes is read again with the limits that they share', () => {
  set('ANTEROOM_NODES=2')
  const database = 'postgres://anteroom@127.0.0.1/anteroom'
  const { told, limits } = running({ database, masterKeyFile: 'key' })
  set('ANTEROOM_NODES=3')
  expect(reload(told)).toStartWith('settings were read again: in force as they are now: --nodes; ')
  expect(limits.at(-1)).toMatchObject({ nodes: 3, reads: { most: 30_000, seconds: 60 } })
})

test('limits that are read again are in force, and what a running server cannot take is told until it is started anew', () => {
  set('ANTEROOM_OPEN_REQUESTS=3', 'ANTEROOM_PORT=1')
  const { told, limits } = running()
  set('ANTEROOM_OPEN_REQUESTS=4', 'ANTEROOM_READS_PER_MINUTE=7', 'ANTEROOM_PORT=2')
  expect(reload(told)).toBe(
    'settings were read again: in force as they are now: --reads-per-minute, --open-requests; as they were until the next start: --port',
  )
  expect(limits.at(-1)).toMatchObject({ openRequests: 4, reads: { most: 7, seconds: 60 } })
  expect(reload(told)).toBe('settings were read again: as they were until the next start: --port')
  set('ANTEROOM_PORT=1')
  expect(reload(told)).toBe(
    'settings were read again: in force as they are now: --reads-per-minute, --open-requests',
  )
  expect(limits.at(-1)).toMatchObject({ openRequests: 10, reads: { most: 30_000, seconds: 60 } })
  expect(reload(told)).toBe('settings were read again: nothing has changed')
})

/** What a reload tells, and how much it matters. */
function reported(running: RunningServer): string[][] {
  const lines: string[][] = []
  reloadAnd(running, (line, level = 'warn') => lines.push([level, line]))
  return lines
}

const reload = (running: RunningServer) => reported(running)[0]?.[1] ?? ''

test('a reload that is refused is an error, one that changes nothing is not worth a look', () => {
  set()
  const { told } = running()
  const levels = () => reported(told).map(([level]) => level)
  expect(levels()).toEqual(['info'])
  set('ANTEROOM_OPEN_REQUESTS=4')
  expect(levels()).toEqual(['warn'])
  set('nothing')
  expect(levels()).toEqual(['error'])
})

test('a fault in the settings changes nothing, and is told in one line', () => {
  set()
  const { told, limits } = running()
  set('ANTEROOM_OPEN_REQUESTS=4', 'ANTEROOM_PORT=x', 'nothing')
  expect(reload(told)).toBe(
    `settings were read again, and nothing is changed: ${path} line 5: must be NAME=value without spaces before =, or a comment; ${path} line 4: ANTEROOM_PORT: must be a port from 0 to 65535`,
  )
  expect(limits).toEqual([])
})

test('another certificate is put in force, one that is the same is not, and a broken one leaves all as it was', () => {
  set()
  const [certificate, key] = [folder.file('in-force.crt'), folder.file('in-force.key')]
  const put = (cert: string, pem: string) => {
    writeFileSync(certificate, cert)
    writeFileSync(key, pem, { mode: 0o600 })
  }
  put(one.cert, one.pem)
  const { told, limits, certificates } = running({ tlsCertificate: certificate, tlsKey: key })
  expect(reload(told)).toBe('settings were read again: nothing has changed')
  limits.length = 0
  set('ANTEROOM_OPEN_REQUESTS=4')
  put(two.cert, one.pem)
  expect(reload(told)).toBe(
    `settings were read again, and nothing is changed: the TLS key ${key} does not fit the first certificate of ${certificate}, which is to be the server's own`,
  )
  expect([limits, certificates]).toEqual([[], []])
  put(two.cert, two.pem)
  expect(reload(told)).toMatch(
    /^settings were read again: the certificate that is valid until \S+Z is in force; the TLS certificate expires on \S+: renew it, then send SIGHUP, or restart where systemd hands it over as a credential; in force as they are now: --open-requests$/,
  )
  // What is in force is no other the next time.
  expect(reload(told)).toMatch(
    /^settings were read again: the TLS certificate expires on \S+: renew it, then send SIGHUP, or restart where systemd hands it over as a credential$/,
  )
  expect(certificates).toMatchObject([{ cert: two.cert, key: two.pem }])
})

test('of a certificate that systemd hands over it is told that a renewed one takes a restart', () => {
  set()
  const files = { tlsCertificate: one.certificate, tlsKey: one.key }
  const { told } = running(files)
  const read = () =>
    readServerConfig({ settings: path, ...files }, { CREDENTIALS_DIRECTORY: dirname(one.key) })
  expect(reload({ ...told, read })).toBe(
    'settings were read again: the certificate is as systemd handed it over at the start: a renewed one takes a restart',
  )
})

test('where the system has no room for another listener all is left as it was', () => {
  set()
  const { told, limits } = running({ tlsCertificate: one.certificate, tlsKey: one.key })
  const full = Object.assign(new Error('no room'), { code: 'EMFILE' })
  const server = {
    replaceCertificate: () => {
      throw full
    },
  }
  set('ANTEROOM_OPEN_REQUESTS=4', `ANTEROOM_TLS_KEY=${two.key}`)
  const read = () => readServerConfig({ settings: path, tlsCertificate: two.certificate }, {})
  expect(reload({ ...told, server, read })).toBe(
    'settings were read again, and nothing is changed: the certificate cannot be put in force (EMFILE)',
  )
  expect(limits).toEqual([])
})

test('HTTPS is neither begun nor ended by a server that runs', () => {
  set()
  const plain = running()
  set(`ANTEROOM_TLS_CERTIFICATE=${one.certificate}`, `ANTEROOM_TLS_KEY=${one.key}`)
  const left = 'settings were read again: as they were until the next start: --tls-certificate, --tls-key'
  expect(reload(plain.told)).toBe(left)
  const secure = running()
  set()
  expect(reload(secure.told)).toBe(left)
  expect([...plain.certificates, ...secure.certificates]).toEqual([])
})
