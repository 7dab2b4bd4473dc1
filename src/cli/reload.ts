import type { Flags, ServerConfig } from '../config'
import { Refusal } from '../domain/errors'
import type { Report } from '../domain/measures'
import type { Clock } from '../domain/ports/clock'
import { formatInstant } from '../scheduling/calendar'
import { type Certificate, certificateNotes, readCertificate, type Server, type Service } from '../service'
import { reloadable, type SettingName, settings } from '../settings'

/** A server that runs, and what it runs with. */
export interface Reloading {
  /** Reads its settings as they are now. @throws Refusal settings_invalid */
  readonly read: () => ServerConfig
  readonly service: Pick<Service, 'setLimits'>
  readonly server: Pick<Server, 'replaceCertificate'>
  readonly clock: Clock
  inForce: Flags
  certificate: Certificate | null
}

/**
 * Reads settings, certificate and key again, puts in force of them what a server that runs can take, and reports in one line
 * what came of it. A fault in any of them leaves all as it was, and is an error: the next start would be refused.
 */
export function reload(running: Reloading, report: Report): void {
  try {
    const told = takeAll(running)
    if (told.length > 0) report(`settings were read again: ${told.join('; ')}`)
    else report('settings were read again: nothing has changed', 'info')
  } catch (error) {
    const why = error instanceof Refusal ? error.message.replaceAll('\n', '; ') : systemFault(error)
    report(`settings were read again, and nothing is changed: ${why}`, 'error')
  }
}

/** What the system says where it has no room for a second listener, as of too many open files. */
function systemFault(error: unknown): string {
  const { code } = error as { code?: unknown }
  if (typeof code !== 'string') throw error
  return `the certificate cannot be put in force (${code})`
}

/** What there is to tell of what was taken, and of what was not. */
function takeAll(running: Reloading): string[] {
  const config = running.read()
  const { inForce, server, service, clock } = running
  const changed = (Object.keys(settings) as SettingName[]).filter(
    (name) => config.given[name] !== inForce[name],
  )
  // Whether it speaks HTTPS is settled when it begins to listen.
  const isFixed = (name: SettingName) =>
    !reloadable.includes(name) || (name.startsWith('tls') && (!running.certificate || !config.tls))
  const told: string[] = []
  if (running.certificate && config.tls) {
    const certificate = readCertificate(config.tls, clock.now())
    // The key is then another too, since it fits.
    if (certificate.cert !== running.certificate.cert) {
      server.replaceCertificate(certificate)
      running.certificate = certificate
      told.push(`the certificate that is valid until ${formatInstant(certificate.validUntil)} is in force`)
    } else if (config.tls.isCredential) told.push(asAtStart)
    told.push(...certificateNotes(certificate, config.baseUrl, clock.now()))
  }
  service.setLimits(config.limits)
  const taken = changed.filter((name) => !isFixed(name))
  running.inForce = { ...inForce, ...Object.fromEntries(taken.map((name) => [name, config.given[name]])) }
  if (taken.length > 0) told.push(`in force as they are now: ${flagsOf(taken)}`)
  const left = changed.filter(isFixed)
  if (left.length > 0) told.push(`as they were until the next start: ${flagsOf(left)}`)
  told.push(...config.overruled)
  return told
}

/** systemd.exec(5), LoadCredential: they are read when a service is started. */
const asAtStart = 'the certificate is as systemd handed it over at the start: a renewed one takes a restart'

function flagsOf(names: readonly SettingName[]): string {
  return names.map((name) => settings[name].flag).join(', ')
}
