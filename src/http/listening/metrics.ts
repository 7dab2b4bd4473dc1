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
  /** Expiry of the HTTPS certificate in ms; null without one. */
  readonly certificateEndsAt?: () => number | null
  /** ms */
  readonly now: () => number
}

/** Cache lifetimes in ms, for all metrics and for record counts. They limit the load that scraping causes. */
const [knownMillis, recordsKnownMillis] = [1_000, 15_000]

/** Sampling interval of the event loop lag, in ms. */
const beatMillis = 100

export interface MetricsListening {
  readonly port: number
  stop(): Promise<void>
}

/** Serves GET /metrics on 127.0.0.1. Throws the system's error if the port is not available. */
export function listenForMetrics(port: number, measured: Measured): MetricsListening {
  const lag = new Distribution(durationBounds)
  let due = elapsedMillis() + beatMillis
  const beat = setInterval(() => {
    const now = elapsedMillis()
    lag.note(Math.max(0, now - due))
    due = now + beatMillis
  }, beatMillis)
  const records = cached(recordsKnownMillis, () => measured.records().catch(() => null))
  const read = cached(knownMillis, async () => {
    // If the disk fails, all other metrics are still reported.
    const [counts, isReady] = await Promise.all([records(), measured.isReady().catch(() => false)])
    return exposed([
      ...measured.requests.metrics(),
      ...serviceMetrics(measured, counts, isReady),
      ...processMetrics(measured, lag),
    ])
  })
  try {
    const { port: actual, stop } = listenLocally('--metrics-port', port, answering(read))
    return {
      port: actual,
      stop() {
        clearInterval(beat)
        return stop()
      },
    }
  } catch (error) {
    clearInterval(beat)
    throw error
  }
}

/** Host header with an address or localhost. Any other name may be DNS rebinding from a web page. */
const thisMachine = /^(localhost|[\d.]+|\[[\da-f:.]+\])(:\d+)?$/i

function answering(read: () => Promise<string>) {
  return async ({ method, url, headers: asked }: Request): Promise<Response> => {
    if (!thisMachine.test(asked.get('host') ?? 'localhost')) {
      return new Response('ask by 127.0.0.1 or localhost\n', { status: 421 })
    }
    const [path] = url.replace(/^\w+:\/\/[^/]*/, '').split('?')
    if (path !== '/metrics') return new Response('there is nothing at this path\n', { status: 404 })
    if (method !== 'GET' && method !== 'HEAD') {
      return new Response('the path does not take this method\n', {
        status: 405,
        headers: { Allow: 'GET, HEAD' },
      })
    }
    const headers = {
      'Content-Type': expositionType,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    }
    return new Response(await read(), { headers })
  }
}

/** Caches a result for some ms. Concurrent callers share one call. */
function cached<T>(millis: number, ask: () => Promise<T>): () => Promise<T> {
  let asked: { readonly at: number; readonly answer: Promise<T> } | null = null
  return () => {
    const now = elapsedMillis()
    if (!asked || now - asked.at >= millis) asked = { at: now, answer: ask() }
    return asked.answer
  }
}

function gauge(name: string, help: string, samples: readonly Sample[]): Metric {
  return { ...{ name, help, samples }, type: 'gauge' }
}

function value(name: string, help: string, value: number | null): Metric {
  return gauge(name, help, value === null ? [] : [[{}, value]])
}

function instant(name: string, help: string, at: number | null): Metric {
  return value(`${name}_timestamp_seconds`, help, at === null ? null : at / 1_000)
}

function serviceMetrics(
  measured: Measured,
  records: RecordMeasures | null,
  isReady: boolean,
): (Metric | Histogram)[] {
  const { places, build, zones } = measured
  const engine = measured.engine()
  const { edition, folder, age } = zones
  const inFlight = Object.entries(places).map(([kind, { inFlight: taken }]): Sample => [{ kind }, taken])
  return [
    value(
      'anteroom_ready',
      '1 where what partners send can be stored, as /readyz tells, else 0.',
      Number(isReady),
    ),
    gauge(
      'anteroom_requests_in_flight',
      'Requests of partners that are being answered; 512 of a kind at most.',
      inFlight,
    ),
    ...writerMetrics(engine),
    gauge('anteroom_database_bytes', 'What is stored, and what of it lies in the log yet.', [
      ...known({ file: 'database' }, engine.databaseBytes),
      ...known({ file: 'log' }, engine.logBytes),
    ]),
    ...databaseServerMetrics(engine.server),
    instant(
      'anteroom_backup_last',
      'When the last backup was made; left out where none ever was.',
      records?.backedUpAt ?? null,
    ),
    instant(
      'anteroom_drill_last',
      'When a backup was last tried; left out where none ever was.',
      records?.drilledAt ?? null,
    ),
    value('anteroom_unassigned_intakes', 'Intakes that nobody is assigned to.', records?.intakes ?? null),
    instant(
      'anteroom_unassigned_intake_oldest',
      'When the oldest of them was submitted; left out where there is none.',
      records?.oldestIntakeAt ?? null,
    ),
    instant(
      'anteroom_certificate_expiry',
      'When the certificate ends that HTTPS is served with; left out where there is none.',
      measured.certificateEndsAt?.() ?? null,
    ),
    gauge(
      'anteroom_zone_data_info',
      'The IANA time zone data in use, and how old it is beside the built-in.',
      [[{ edition, source: folder === null ? 'built-in' : 'folder', age }, 1]],
    ),
    gauge('anteroom_build_info', 'What runs.', [
      [{ ...build, schema: engine.schema, bun: process.versions.bun ?? 'unknown' }, 1],
    ]),
  ]
}

function known(labels: Sample[0], value: number | null): Sample[] {
  return value === null ? [] : [[labels, value]]
}

function databaseServerMetrics(server: DatabaseServerMeasures | null): Metric[] {
  if (server === null) return []
  const { connections, clockDifferenceMillis } = server
  return [
    gauge('anteroom_database_connections', 'Connections to the database server.', [
      [{ state: 'free' }, connections.free],
      [{ state: 'used' }, connections.used],
    ]),
    value(
      'anteroom_database_connections_awaited',
      'Works that wait for a connection to the database server.',
      connections.waiting,
    ),
    value(
      'anteroom_database_clock_difference_seconds',
      "What the database server's clock shows beyond this machine's; left out until it was read.",
      clockDifferenceMillis === null ? null : clockDifferenceMillis / 1_000,
    ),
  ]
}

function writerMetrics({
  queueDepth,
  groupSizes,
  commitMillis,
  failedGroups,
}: EngineMeasures): (Metric | Histogram)[] {
  return [
    value('anteroom_writer_queue_depth', 'Writes that wait for their transaction.', queueDepth),
    {
      name: 'anteroom_writer_group_size',
      help: 'Writes that shared a transaction; its count is that of transactions.',
      type: 'histogram',
      scale: 1,
      of: [[{}, groupSizes]],
    },
    {
      name: 'anteroom_writer_commit_duration_seconds',
      help: 'How long a transaction took from its beginning until it was on disk.',
      type: 'histogram',
      scale: 1 / 1_000,
      of: [[{}, commitMillis]],
    },
    {
      name: 'anteroom_writer_failed_transactions_total',
      help: 'Transactions that could not be begun or committed; one that waits for another process is tried again.',
      type: 'counter',
      samples: [[{}, failedGroups]],
    },
  ]
}

function processMetrics({ now }: Measured, lag: Distribution): (Metric | Histogram)[] {
  const { user, system } = process.cpuUsage()
  return [
    value(
      'process_start_time_seconds',
      'When the process began, since 1970.',
      now() / 1_000 - process.uptime(),
    ),
    value('process_resident_memory_bytes', 'Memory that the process has.', process.memoryUsage.rss()),
    {
      name: 'process_cpu_seconds_total',
      help: 'Time of processors that it took.',
      type: 'counter',
      samples: [[{}, (user + system) / 1_000_000]],
    },
    {
      name: 'anteroom_event_loop_lag_seconds',
      help: 'How late the event loop came to what was due, looked at ten times a second.',
      type: 'histogram',
      scale: 1 / 1_000,
      of: [[{}, lag]],
    },
  ]
}
