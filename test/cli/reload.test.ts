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

function running(flags: Flags = {}) {
  const read = () => readServerConfig({ settings: path, ...flags }, {})
  const config = read()
  const limits: Limits[] = []
  const certificates: TlsIdentity[] = []
  const live: RunningServer = {
    read,
    service: { setLimits: (given) => void limits.push(given) },
    server: { replaceCertificate: (given) => void certificates.push(given) },
    clock: systemClock,
    inForce: config.given,
    certificate: config.tls && readCertificate(config.tls, systemClock.now()),
  }
  return { live, limits, certificates }
}

test('cli: a reload applies the number of nodes together with the limits that the nodes share', () => {
  set('ANTEROOM_NODES=2')
  const database = 'postgres://anteroom@127.0.0.1/anteroom'
  const { live, limits } = running({ database, masterKeyFile: 'key' })
  set('ANTEROOM_NODES=3')
  expect(reload(live)).toStartWith('settings reloaded: applied now: --nodes; ')
  expect(limits.at(-1)).toMatchObject({ nodes: 3, reads: { most: 30_000, seconds: 60 } })
})

test('cli: a reload applies new limits, and lists the settings that need a restart', () => {
  set('ANTEROOM_OPEN_REQUESTS=3', 'ANTEROOM_PORT=1')
  const { live, limits } = running()
  set('ANTEROOM_OPEN_REQUESTS=4', 'ANTEROOM_READS_PER_MINUTE=7', 'ANTEROOM_PORT=2')
  expect(reload(live)).toBe(
    'settings reloaded: applied now: --reads-per-minute, --open-requests; applied at the next start: --port',
  )
  expect(limits.at(-1)).toMatchObject({ openRequests: 4, reads: { most: 7, seconds: 60 } })
  expect(reload(live)).toBe('settings reloaded: applied at the next start: --port')
  set('ANTEROOM_PORT=1')
  expect(reload(live)).toBe('settings reloaded: applied now: --reads-per-minute, --open-requests')
  expect(limits.at(-1)).toMatchObject({ openRequests: 10, reads: { most: 30_000, seconds: 60 } })
  expect(reload(live)).toBe('settings reloaded: nothing has changed')
})

function reported(running: RunningServer): string[][] {
  const lines: string[][] = []
  reloadAnd(running, (line, level = 'warn') => lines.push([level, line]))
  return lines
}

const reload = (running: RunningServer) => reported(running)[0]?.[1] ?? ''

test('cli: a reload is logged as info without changes, as a warning with changes, and as an error if it is refused', () => {
  set()
  const { live } = running()
  const levels = () => reported(live).map(([level]) => level)
  expect(levels()).toEqual(['info'])
  set('ANTEROOM_OPEN_REQUESTS=4')
  expect(levels()).toEqual(['warn'])
  set('nothing')
  expect(levels()).toEqual(['error'])
})

test('cli: a reload with a fault in the settings changes nothing, and logs one line', () => {
  set()
  const { live, limits } = running()
  set('ANTEROOM_OPEN_REQUESTS=4', 'ANTEROOM_PORT=x', 'nothing')
  expect(reload(live)).toBe(
    `settings not reloaded, the previous ones still apply: ${path} line 5: must be NAME=value without spaces before =, or a comment; ${path} line 4: ANTEROOM_PORT: must be a port from 0 to 65535`,
  )
  expect(limits).toEqual([])
})

test('cli: a reload applies a new certificate, skips an unchanged certificate, and refuses a mismatched certificate', () => {
  set()
  const [certificate, key] = [folder.file('in-force.crt'), folder.file('in-force.key')]
  const put = (cert: string, pem: string) => {
    writeFileSync(certificate, cert)
    writeFileSync(key, pem, { mode: 0o600 })
  }
  put(one.cert, one.pem)
  const { live, limits, certificates } = running({ tlsCertificate: certificate, tlsKey: key })
  expect(reload(live)).toBe('settings reloaded: nothing has changed')
  limits.length = 0
  set('ANTEROOM_OPEN_REQUESTS=4')
  put(two.cert, one.pem)
  expect(reload(live)).toBe(
    `settings not reloaded, the previous ones still apply: the TLS key ${key} does not match the first certificate in ${certificate}; put the server's certificate first`,
  )
  expect([limits, certificates]).toEqual([[], []])
  put(two.cert, two.pem)
  expect(reload(live)).toMatch(
    /^settings reloaded: the certificate that is valid until \S+Z is in use; the TLS certificate expires on \S+; renew it, then send SIGHUP \(or restart, if systemd passes it as a credential\); applied now: --open-requests$/,
  )
  // The second reload finds the same certificate, and reports only when the certificate expires.
  expect(reload(live)).toMatch(
    /^settings reloaded: the TLS certificate expires on \S+; renew it, then send SIGHUP \(or restart, if systemd passes it as a credential\)$/,
  )
  expect(certificates).toMatchObject([{ cert: two.cert, key: two.pem }])
})

test('cli: a reload reports that a certificate from systemd needs a restart', () => {
  set()
  const files = { tlsCertificate: one.certificate, tlsKey: one.key }
  const { live } = running(files)
  const read = () =>
    readServerConfig({ settings: path, ...files }, { CREDENTIALS_DIRECTORY: dirname(one.key) })
  expect(reload({ ...live, read })).toBe(
    'settings reloaded: the certificate is still the credential from the start; restart the service to use a renewed one',
  )
})

test('cli: a reload changes nothing if the server cannot use the new certificate', () => {
  set()
  const { live, limits } = running({ tlsCertificate: one.certificate, tlsKey: one.key })
  const full = Object.assign(new Error('no room'), { code: 'EMFILE' })
  const server = {
    replaceCertificate: () => {
      throw full
    },
  }
  set('ANTEROOM_OPEN_REQUESTS=4', `ANTEROOM_TLS_KEY=${two.key}`)
  const read = () => readServerConfig({ settings: path, tlsCertificate: two.certificate }, {})
  expect(reload({ ...live, server, read })).toBe(
    'settings not reloaded, the previous ones still apply: the certificate cannot be used (EMFILE)',
  )
  expect(limits).toEqual([])
})

test('cli: a reload neither starts nor stops HTTPS', () => {
  set()
  const plain = running()
  set(`ANTEROOM_TLS_CERTIFICATE=${one.certificate}`, `ANTEROOM_TLS_KEY=${one.key}`)
  const left = 'settings reloaded: applied at the next start: --tls-certificate, --tls-key'
  expect(reload(plain.live)).toBe(left)
  const secure = running()
  set()
  expect(reload(secure.live)).toBe(left)
  expect([...plain.certificates, ...secure.certificates]).toEqual([])
})
