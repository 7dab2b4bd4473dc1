import {
  type DatabaseServerMeasures,
  Distribution,
  durationBounds,
  type EngineMeasures,
} from '../../domain/measures'
import { elapsedMillis, type ZoneData } from '../../domain/ports/time'
import type { RecordMeasures } from '../../operations/status'
import type { ConcurrencyLimits } from '../admission'
import type { RequestMeasures } from '../request-measures'
import { exposed, expositionType, type Histogram, type Metric, type Sample } from './exposition'
import { listenLocally } from './listen'

export interface Measured {
  readonly requests: RequestMeasures
  readonly places: ConcurrencyLimits
  readonly build: Readonly<Record<string, string>>
  readonly zones: Pick<ZoneData, 'edition' | 'folder' | 'age'>
  readonly engine: () => EngineMeasures
  readonly records: () => Promise<RecordMeasures>
  readonly isReady: () => Promise<boolean>
  /** Expiry of the HTTPS certificate, in ms; null without HTTPS. */
  readonly certificateEndsAt?: () => number | null
  readonly now: () => number
}

/** Cache times in ms: of all metrics, and of the record counts. They limit the load of scraping. */
const [knownMillis, recordsKnownMillis] = [1_000, 15_000]

/** Sampling interval of the event loop lag, in ms. */
const beatMillis = 100

/** Serves GET /metrics on 127.0.0.1. Throws the system's error if the port is in use. */
export function listenForMetrics(port: number, measured: Measured) {
  const lag = new Distribution(durationBounds)
  const records = cached(recordsKnownMillis, () => measured.records().catch(() => null))
  const read = cached(knownMillis, async () => {
    // If the database fails, the other metrics are still reported.
    const [counts, isReady] = await Promise.all([records(), measured.isReady().catch(() => false)])
    return exposed([
      ...measured.requests.metrics(),
      ...serviceMetrics(measured, counts, isReady),
      ...processMetrics(measured, lag),
    ])
  })
  const { port: actual, stop } = listenLocally('--metrics-port', port, answering(read))
  let due = elapsedMillis() + beatMillis
  const beat = setInterval(() => {
    const now = elapsedMillis()
    lag.note(Math.max(0, now - due))
    due = now + beatMillis
  }, beatMillis)
  return {
    port: actual,
    stop() {
      clearInterval(beat)
      return stop()
    },
  }
}

/** Matches addresses and localhost. Another name in Host can be a DNS rebinding attack by a web page. */
const thisMachine = /^(localhost|[\d.]+|\[[\da-f:.]+\])(:\d+)?$/i

function answering(read: () => Promise<string>) {
  return async ({ method, url, headers: asked }: Request): Promise<Response> => {
    if (!thisMachine.test(asked.get('host') ?? 'localhost')) {
      return new Response('unknown host; use 127.0.0.1 or localhost\n', { status: 421 })
    }
    const [path] = url.replace(/^\w+:\/\/[^/]*/, '').split('?')
    if (path !== '/metrics') return new Response('not found; use /metrics\n', { status: 404 })
    if (method !== 'GET' && method !== 'HEAD') {
      return new Response('method not allowed; use GET\n', { status: 405, headers: { Allow: 'GET, HEAD' } })
    }
    const headers = {
      'Content-Type': expositionType,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    }
    return new Response(await read(), { headers })
  }
}

function cached<T>(millis: number, ask: () => Promise<T>): () => Promise<T> {
  let asked: { readonly at: number; readonly answer: Promise<T> } | null = null
  return () => {
    const now = elapsedMillis()
    if (!asked || now - asked.at >= millis) asked = { at: now, answer: ask() }
    return asked.answer
  }
}

const helps = {
  anteroom_ready: '1 if partner requests can be stored (as /readyz reports), else 0.',
  anteroom_requests_in_flight: 'Partner requests in flight, at most 512 reads and 512 bookings.',
  anteroom_writer_queue_depth: 'Writes waiting for a transaction.',
  anteroom_writer_group_size: 'Writes per transaction.',
  anteroom_writer_commit_duration_seconds:
    'Duration of a transaction, from its beginning until it is on disk.',
  anteroom_writer_failed_transactions_total:
    'Transactions that failed to begin or commit, including those that were retried.',
  anteroom_database_bytes: 'Size of the database and of its write-ahead log.',
  anteroom_database_free_bytes: 'Free space of the file system of the database.',
  anteroom_database_connections: 'Connections to the database server.',
  anteroom_database_connections_awaited: 'Tasks waiting for a connection to the database server.',
  anteroom_database_clock_difference_seconds:
    "Database server's clock minus this machine's clock; absent until measured.",
  anteroom_clock_behind_seconds:
    "Newest audit line's time minus this machine's clock; 0 if the clock is not behind.",
  anteroom_backup_last_timestamp_seconds: 'Time of the last backup; absent if there is none.',
  anteroom_drill_last_timestamp_seconds: 'Time of the last drill of a backup; absent if there is none.',
  anteroom_unread_risk:
    'Requests with a raised or unreadable ninth PHQ-9 item whose answers no one has read.',
  anteroom_unread_risk_oldest_timestamp_seconds:
    'Submission time of the oldest of them; absent if there is none.',
  anteroom_unassigned_intakes: 'Intakes without a provider.',
  anteroom_unassigned_intake_oldest_timestamp_seconds:
    'Submission time of the oldest unassigned intake; absent if there is none.',
  anteroom_email_conflicts: 'E-mail conflicts in the last hour of partners from half of their limit on.',
  anteroom_email_conflicts_refused_people: 'People of these partners that were refused in the last hour.',
  anteroom_certificate_expiry_timestamp_seconds: 'Expiry of the TLS certificate; absent if there is none.',
  anteroom_zone_data_info:
    'IANA time zone data in use: edition, source, and age compared with the built-in data.',
  anteroom_build_info: 'Version of the program, its build and its database schema.',
  process_start_time_seconds: 'Start time of the process since unix epoch in seconds.',
  process_resident_memory_bytes: 'Resident memory size in bytes.',
  process_cpu_seconds_total: 'Total user and system CPU time spent in seconds.',
  anteroom_event_loop_lag_seconds: 'Delay of the event loop, sampled ten times a second.',
} as const

type Name = keyof typeof helps
type Value = number | null | undefined

function gauge(name: Name, samples: readonly Sample[]): Metric {
  return { name, help: helps[name], samples, type: 'gauge' }
}

function value(name: Name, value: Value): Metric {
  return gauge(name, known({}, value))
}

/** @param millis a duration, or a time since the unix epoch */
function seconds(name: Name, millis: Value): Metric {
  return value(name, millis && millis / 1_000)
}

function counter(name: Name, count: number): Metric {
  return { name, help: helps[name], type: 'counter', samples: [[{}, count]] }
}

function histogram(name: Name, of: Distribution, scale = 1 / 1_000): Histogram {
  return { name, help: helps[name], type: 'histogram', scale, of: [[{}, of]] }
}

function serviceMetrics(measured: Measured, records: RecordMeasures | null, isReady: boolean) {
  const { places, build, zones } = measured
  const engine = measured.engine()
  const { edition, folder, age } = zones
  const inFlight = Object.entries(places).map(([kind, { inFlight: taken }]): Sample => [{ kind }, taken])
  return [
    value('anteroom_ready', Number(isReady)),
    gauge('anteroom_requests_in_flight', inFlight),
    value('anteroom_writer_queue_depth', engine.queueDepth),
    histogram('anteroom_writer_group_size', engine.groupSizes, 1),
    histogram('anteroom_writer_commit_duration_seconds', engine.commitMillis),
    counter('anteroom_writer_failed_transactions_total', engine.failedGroups),
    gauge('anteroom_database_bytes', [
      ...known({ file: 'database' }, engine.databaseBytes),
      ...known({ file: 'log' }, engine.logBytes),
    ]),
    value('anteroom_database_free_bytes', engine.freeBytes),
    ...databaseServerMetrics(engine.server),
    seconds('anteroom_clock_behind_seconds', records?.behindMillis),
    seconds('anteroom_backup_last_timestamp_seconds', records?.backedUpAt),
    seconds('anteroom_drill_last_timestamp_seconds', records?.drilledAt),
    value('anteroom_unread_risk', records?.unreadRisk.count),
    seconds('anteroom_unread_risk_oldest_timestamp_seconds', records?.unreadRisk.oldestAt),
    value('anteroom_unassigned_intakes', records?.intakes),
    seconds('anteroom_unassigned_intake_oldest_timestamp_seconds', records?.oldestIntakeAt),
    ...conflictMetrics(records?.emailConflicts ?? []),
    seconds('anteroom_certificate_expiry_timestamp_seconds', measured.certificateEndsAt?.()),
    gauge('anteroom_zone_data_info', [
      [{ edition, source: folder === null ? 'built-in' : 'folder', age }, 1],
    ]),
    gauge('anteroom_build_info', [
      [{ ...build, schema: engine.schema, bun: process.versions.bun ?? 'unknown' }, 1],
    ]),
  ]
}

function conflictMetrics(partners: RecordMeasures['emailConflicts']): Metric[] {
  const samples = (name: 'conflicts' | 'refused') =>
    partners.map((one): Sample => [{ partner: one.partnerId }, one[name]])
  return [
    gauge('anteroom_email_conflicts', samples('conflicts')),
    gauge('anteroom_email_conflicts_refused_people', samples('refused')),
  ]
}

function known(labels: Sample[0], value: Value): Sample[] {
  return typeof value === 'number' ? [[labels, value]] : []
}

function databaseServerMetrics(server: DatabaseServerMeasures | null): Metric[] {
  if (server === null) return []
  const { connections, clockDifferenceMillis } = server
  return [
    gauge('anteroom_database_connections', [
      [{ state: 'free' }, connections.free],
      [{ state: 'used' }, connections.used],
    ]),
    value('anteroom_database_connections_awaited', connections.waiting),
    seconds('anteroom_database_clock_difference_seconds', clockDifferenceMillis),
  ]
}

function processMetrics({ now }: Measured, lag: Distribution): (Metric | Histogram)[] {
  const { user, system } = process.cpuUsage()
  return [
    value('process_start_time_seconds', now() / 1_000 - process.uptime()),
    value('process_resident_memory_bytes', process.memoryUsage.rss()),
    counter('process_cpu_seconds_total', (user + system) / 1_000_000),
    histogram('anteroom_event_loop_lag_seconds', lag),
  ]
}
