import { closeSync, openSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { version } from '../../../package.json'
import { origin } from '../../built'
import { type Flags, readServerConfig, type ServerConfig } from '../../config'
import { Refusal } from '../../domain/errors'
import type { Report } from '../../domain/measures'
import { type Clock, systemClock } from '../../domain/ports/time'
import { removeBegun } from '../../files/durable'
import { isPlainAddress, requireLoopback } from '../../http/listening/hosts'
import type { RequestObserver } from '../../http/log'
import type { Records } from '../../operations/context'
import {
  auditHead,
  behindNote,
  clockBehind,
  noteServer,
  otherZoneDataNote,
  zoneDataNote,
} from '../../operations/maintenance'
import { formatInstant } from '../../scheduling/calendar'
import { type Certificate, certificateNotes, readCertificate, type Server, type Service } from '../../service'
import { type Setting, type SettingName, serverSettings, settings } from '../../settings'
import { plainCommand } from '../command'
import { openProduction } from '../storage'
import type { Log } from '../terminal/json-log'
import { counted } from '../terminal/layout'
import { withLog } from '../terminal/log'
import { announce } from '../terminal/output'

/**
 * Resolves at the first signal to stop. Ignores further signals, because npm forwards Ctrl-C a second time.
 *
 * @param reload called at SIGHUP. If the terminal was closed, SIGHUP is a signal to stop instead.
 */
export function shutdownRequest(reload?: () => void): Promise<void> {
  return new Promise((resolve) => {
    const ending = endingSignals().filter((signal) => !(reload && signal === 'SIGHUP'))
    let isEnding = false
    const end = () => {
      isEnding = true
      resolve()
    }
    for (const signal of ending) process.on(signal, end)
    if (!reload) return
    const isTied = hasTerminal() && !isHangUpIgnored()
    process.on('SIGHUP', () => {
      // A closing shell sends SIGHUP before the terminal is closed, so the terminal is checked a little later.
      setTimeout(() => {
        // Does not reload after a signal to stop: a new listener would keep the process alive.
        if (isEnding) return
        if (isTied && !hasTerminal()) end()
        else reload()
      }, terminalMillis)
    })
  })
}

const terminalMillis = 100

/** True if the process has a controlling terminal (termios(3), POSIX.1 §11.1.3). */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

/** Removes unfinished files before a signal ends the process. */
export function endCleanly(): void {
  for (const signal of endingSignals()) {
    process.once(signal, () => {
      removeBegun()
      process.kill(process.pid, signal)
    })
  }
}

export function endingSignals(): NodeJS.Signals[] {
  return isHangUpIgnored() ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP']
}

/** True if the process was started with SIGHUP ignored, for example by nohup. False if unknown. */
function isHangUpIgnored(): boolean {
  try {
    const [, ignored = '0'] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    // SIGHUP is signal 1, so it is the lowest bit of the mask.
    return (BigInt(`0x${ignored}`) & 1n) === 1n
  } catch {
    return false
  }
}

export interface RunningServer {
  /** Reads the settings again. @throws Refusal settings_invalid */
  readonly read: () => ServerConfig
  readonly service: Pick<Service, 'setLimits'>
  readonly server: Pick<Server, 'replaceCertificate'>
  readonly clock: Clock
  inForce: Flags
  certificate: Certificate | null
}

/** Applies changed settings and the certificate, and logs one line. If a setting is invalid, changes nothing. */
export function reload(running: RunningServer, report: Report): void {
  try {
    const changes = takeAll(running)
    if (changes.length > 0) report(`settings reloaded: ${changes.join('; ')}`)
    else report('settings reloaded: nothing has changed', 'info')
  } catch (error) {
    const { code } = error as { code?: unknown }
    const isRefusal = error instanceof Refusal
    if (!isRefusal && typeof code !== 'string') throw error
    const why = isRefusal ? error.message.replaceAll('\n', '; ') : `the certificate cannot be used (${code})`
    report(`settings not reloaded, the previous ones still apply: ${why}`, 'error')
  }
}

/** Returns one text per applied change or warning, for the log line. @throws Refusal settings_invalid */
function takeAll(running: RunningServer): string[] {
  const config = running.read()
  const { inForce, server, service, clock } = running
  const changed = (Object.keys(settings) as SettingName[]).filter(
    (name) => config.given[name] !== inForce[name],
  )
  // A running server cannot switch between HTTP and HTTPS.
  const isFixed = (name: SettingName) =>
    !(settings[name] as Setting).details.isReloaded ||
    (name.startsWith('tls') && (!running.certificate || !config.tls))
  const changes: string[] = []
  if (running.certificate && config.tls) {
    const certificate = readCertificate(config.tls, clock.now())
    // The key is not compared, because readCertificate checked that the key and the certificate match.
    if (certificate.cert !== running.certificate.cert) {
      server.replaceCertificate(certificate)
      running.certificate = certificate
      changes.push(`the certificate that is valid until ${formatInstant(certificate.validUntil)} is in use`)
    } else if (config.tls.isCredential) changes.push(asAtStart)
    changes.push(...certificateNotes(certificate, config.baseUrl, clock.now()))
  }
  service.setLimits(config.limits)
  const taken = changed.filter((name) => !isFixed(name))
  running.inForce = { ...inForce, ...Object.fromEntries(taken.map((name) => [name, config.given[name]])) }
  if (taken.length > 0) changes.push(`applied now: ${flagsOf(taken)}`)
  const left = changed.filter(isFixed)
  if (left.length > 0) changes.push(`applied at the next start: ${flagsOf(left)}`)
  changes.push(...config.overruled)
  return changes
}

/** systemd copies credentials only when it starts the service (systemd.exec(5), LoadCredential). */
const asAtStart =
  'the certificate is still the credential from the start; restart the service to use a renewed one'

function flagsOf(names: readonly SettingName[]): string {
  return names.map((name) => settings[name].flag).join(', ')
}

export function serveCommand(): Command {
  return plainCommand({
    name: 'serve',
    settings: serverSettings,
    examples: ['anteroom serve --base-url https://booking.example.org --port 8080'],
    run: runServer,
  })
}

async function runServer({ docs, ...flags }: { readonly docs: boolean }): Promise<undefined> {
  const read = () => readServerConfig({ ...flags, ...(!docs && { noDocs: 'true' }) })
  const config = read()
  const certificate = config.tls && readCertificate(config.tls, systemClock.now())
  if (!certificate && !config.proxies) await requireLoopback(config.host)
  await withLog(systemClock, (log) => serveUntilStopped(read, { ...config, certificate }, log))
}

async function serveUntilStopped(read: () => ServerConfig, config: ServerConfig, { observe, report }: Log) {
  const { commit } = await origin()
  const wanted: RequestObserver =
    config.logRequests === 'all' ? observe : (seen) => seen.status >= 400 && observe(seen)
  const service = await openProduction(config, { upgrade: true, alone: true, report })
  const { certificate = null } = config
  try {
    await service.context.maintenance.noteZoneData(service.zones)
    const now = service.context.clock.now()
    for (const note of notesOn(config)) report(note)
    const notes = [
      zoneDataNote(service.zones, now),
      await otherZoneDataNote(service.context, service.zones),
      ...(certificate ? certificateNotes(certificate, config.baseUrl, now) : []),
    ]
    for (const note of notes) if (note) report(note)
    let running: RunningServer | undefined
    const stopped = shutdownRequest(() => {
      // Nothing can be reloaded before the server listens.
      if (running) reload(running, report)
    })
    const server = await service.listen({ ...config, build: { version, commit }, observers: [wanted] })
    running = { read, service, server, clock: service.context.clock, inForce: config.given, certificate }
    const { host, port, baseUrl } = server
    const startedAt = service.context.clock.now()
    const isSecure = certificate !== null
    const { edition, folder } = service.zones
    const on = { host, port, isSecure, machine: hostname() }
    await noteServer(service.context, { ...on, version, zoneData: { edition, folder }, startedAt })
    const lines = [`Listening on ${host} port ${port} as ${baseUrl}`]
    if (server.metricsPort !== null) lines.push(`Metrics on http://127.0.0.1:${server.metricsPort}/metrics`)
    for (const line of lines) if (!announce(line)) report(`stdout could not be written: ${line}`)
    const endWatch = watchAudit(service.context, report)
    await stopped
    report('stopping', 'info')
    const waiting = setTimeout(() => {
      const requests = counted(server.underWay(), 'request')
      report(`still stopping: waiting at most 15 s for ${requests} to finish`, 'info')
    }, silentStopMillis).unref()
    await server.stop()
    clearTimeout(waiting)
    await endWatch()
    await noteServer(service.context, null)
  } finally {
    await service.close()
  }
  report('stopped', 'info')
}

const [headMinutes, watchMillis] = [60, 60_000]

/** Reports the audit head now, each hour and at the end, and whether the clock was set back. Returns the end. */
export function watchAudit(records: Records, report: Report): () => Promise<void> {
  let [minutes, isBehind] = [0, false]
  const noteHead = async () => {
    const { id, hash } = await auditHead(records)
    report(`audit head ${id}:${hash}`, 'info')
  }
  const look = async () => {
    const behind = behindNote(await clockBehind(records))
    if (behind && !isBehind) report(behind)
    isBehind = behind !== null
    if (minutes++ % headMinutes === 0) await noteHead()
  }
  // The database reports its own failures.
  const timer = setInterval(() => look().catch(() => {}), watchMillis)
  const first = look().catch(() => {})
  return async () => {
    clearInterval(timer)
    await first.then(noteHead).catch(() => {})
  }
}

/** If a stop takes longer than this (ms), the number of unfinished requests is logged. */
const silentStopMillis = 2_000

function notesOn({ baseUrl, tls, proxies, overruled }: ServerConfig): string[] {
  const notes = [...overruled]
  if (isPlainAddress(baseUrl)) {
    notes.push('--base-url begins with http:, so partners that follow links send their tokens unencrypted')
  }
  if (tls && proxies) {
    notes.push(
      '--tls-certificate and --behind-proxy are both set, so only requests through the proxy are accepted, even over HTTPS; without a proxy, remove --behind-proxy (ANTEROOM_BEHIND_PROXY)',
    )
  }
  return notes
}
