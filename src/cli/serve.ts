import { hostname } from 'node:os'
import { Command } from 'commander'
import { version } from '../../package.json'
import { origin } from '../built'
import { readServerConfig, type ServerConfig } from '../config'
import { systemClock } from '../domain/ports/clock'
import { isPlainAddress, requireLoopback } from '../http/listening/loopback'
import type { Onlooker } from '../http/request-log'
import { noteServer, noteZoneData, otherZoneDataNote, zoneDataNote } from '../operations/upkeep'
import { certificateNotes, readCertificate } from '../service'
import { serverSettings } from '../settings'
import { counted } from './counted'
import { shutdownRequest } from './graceful-shutdown'
import type { Log } from './json-log'
import { withLog } from './log'
import { announce } from './output'
import { type Reloading, reload } from './reload'
import { openProduction, withSettings } from './storage'

/** `anteroom serve`: the service in production. */
export function serveCommand(): Command {
  const command = new Command('serve').description('Run the service on the production database')
  return withSettings(command, serverSettings).action(serve)
}

/** @param docs false where they are to be left out: Commander takes the `no` off the flag */
async function serve({ docs, ...flags }: { readonly docs: boolean }): Promise<void> {
  const read = () => readServerConfig({ ...flags, ...(!docs && { noDocs: 'true' }) })
  const config = read()
  const certificate = config.tls && readCertificate(config.tls, systemClock.now())
  if (!certificate && !config.behindProxy) await requireLoopback(config.host)
  await withLog(systemClock, (log) => serveUntilStopped({ read, config, certificate }, log))
}

/** What a service is started with, and what reads its settings again. */
type Start = Pick<Reloading, 'read' | 'certificate'> & { readonly config: ServerConfig }

async function serveUntilStopped({ read, config, certificate }: Start, { look, report }: Log): Promise<void> {
  const { commit } = await origin()
  const wanted: Onlooker = config.logRequests === 'all' ? look : (seen) => seen.status >= 400 && look(seen)
  const service = await openProduction(
    { ...config, proxies: config.behindProxy, certificate },
    { upgrade: true, alone: true, build: { version, commit }, onlookers: [wanted], report },
  )
  try {
    await noteZoneData(service.context, service.zones)
    const now = service.context.clock.now()
    for (const note of notesOn(config)) report(note)
    const ofCertificate = certificate ? certificateNotes(certificate, config.baseUrl, now) : []
    const ofZones = [
      zoneDataNote(service.zones, now),
      await otherZoneDataNote(service.context, service.zones),
    ]
    for (const note of [...ofZones, ...ofCertificate]) if (note) report(note)
    let running: Reloading | undefined
    const stopped = shutdownRequest(() => {
      // Before it listens there is nothing to be put in force that it was not started with.
      if (running) reload(running, report)
    })
    const server = await service.listen(config.host, config.port, config.baseUrl)
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
    await stopped
    report('stopping', 'info')
    const tellWhy = () => report(stillStopping(server.underWay()), 'info')
    const waiting = setTimeout(tellWhy, silentStopMillis).unref()
    await server.stop()
    clearTimeout(waiting)
    await noteServer(service.context, null)
  } finally {
    await service.close()
  }
  report('stopped', 'info')
}

/** How long a stop may take before it is told what it waits for, in ms: most take less. */
const silentStopMillis = 2_000

function stillStopping(requests: number): string {
  return `still stopping: what is under way is finished first (${counted(requests, 'request')}), for 15 s at most`
}

/** What an operator has to know of what they have set. */
function notesOn({ baseUrl, tls, behindProxy, overruled }: ServerConfig): string[] {
  const notes = [...overruled]
  if (isPlainAddress(baseUrl)) {
    notes.push(
      '--base-url begins with http:, so links in answers lead partners to send their tokens in the clear',
    )
  }
  if (tls && behindProxy) {
    notes.push(
      '--tls-certificate and --behind-proxy are both given: whoever does not come through the proxy is refused, by HTTPS too; leave --behind-proxy (ANTEROOM_BEHIND_PROXY) out if there is none',
    )
  }
  return notes
}
