import type { Networks } from './domain/addresses'
import type { EngineMeasures, Report } from './domain/measures'
import type { ZoneData } from './domain/ports/time'
import { type CreateApp, createApp } from './http/app'
import { strictTransport } from './http/errors'
import { urlHost } from './http/listening/hosts'
import { type Listening, listen } from './http/listening/listen'
import type { Measured } from './http/listening/metrics'
import { type RequestObserver, withLogEntries } from './http/log'
import type { Context } from './operations/context'
import { forgetReplays } from './operations/maintenance'
import { measureRecords } from './operations/status'
import type { Certificate } from './vault/certificate'

export interface ServerOptions {
  readonly host: string
  readonly port: number
  /** Public address. The default is the address on which the server listens. */
  readonly baseUrl?: string | undefined
  readonly noDocs?: boolean
  readonly certificate?: Certificate | null
  /** Networks of proxies that terminate HTTPS. Requests from other addresses are rejected. */
  readonly proxies?: Networks | null
  /** Port on 127.0.0.1 for Prometheus metrics; 0 for a free port. Null for no metrics. */
  readonly metricsPort?: number | null
  readonly build?: Readonly<Record<string, string>>
  readonly observers?: readonly RequestObserver[]
  readonly createApp?: CreateApp
}

export interface Served {
  readonly isSandbox: boolean
  readonly report: Report
  readonly context: Context
  readonly zones: ZoneData
  readonly measureEngine: () => EngineMeasures
  readonly watch: () => { readonly isReady: () => Promise<boolean> }
}

export interface Server extends Listening {
  replaceCertificate(certificate: Certificate): void
  readonly baseUrl: string
  readonly metricsPort: number | null
  runTasks(): Promise<void>
  /** Replaces the service on the same port. No request may be in flight. */
  replaceService(replace: () => Promise<Served>): Promise<void>
}

/** Listens, and runs periodic tasks until the server stops. @throws the system's error if a port is in use */
export async function serve(served: Served, options: ServerOptions): Promise<Server> {
  const { context, isSandbox, report } = served
  const { host, port, baseUrl, noDocs = false, certificate = null, proxies = null, observers = [] } = options
  const { createApp: makeApp = createApp } = options
  const measures = await createMeasures(served, options)
  let address = ''
  let isStopping = false
  let shown = certificate
  // Checks isStopping last, because a stop may begin during the health check.
  const isReady = async () => (await health.isReady()) && !isStopping
  const listening = listen(
    host,
    port,
    (actualPort, addressOf) => {
      const ownAddress = `${certificate ? 'https' : 'http'}://${urlHost(host)}:${actualPort}`
      address = baseUrl?.replace(/\/+$/, '') ?? ownAddress
      const isSecure = certificate !== null
      const about = { context, baseUrl: address, isSandbox, noDocs, isSecure, proxies, report }
      return withLogEntries(
        makeApp({ ...about, ...measures?.serving }, addressOf, isReady).fetch,
        [...observers, ...(measures?.observers ?? [])],
        certificate ? strictTransport : {},
      )
    },
    certificate ?? undefined,
  )
  let health = served.watch()
  const certificateEndsAt = () => shown?.validUntil ?? null
  const metrics = await measures?.listen({ isReady, certificateEndsAt }).catch(async (error) => {
    await listening.stop()
    throw error
  })
  let tasks = startPeriodicTasks(served)
  return {
    ...listening,
    baseUrl: address,
    metricsPort: metrics?.port ?? null,
    replaceCertificate(next) {
      listening.replaceCertificate(next)
      shown = next
    },
    runTasks: () => tasks.run(),
    async replaceService(replace) {
      await tasks.stop()
      const next = await replace()
      health = next.watch()
      tasks = startPeriodicTasks(next)
    },
    async stop() {
      // From now on /readyz fails, so that load balancers send no more requests. Requests in flight are still answered.
      isStopping = true
      tasks.stopLongOnes()
      await listening.stop()
      await tasks.stop()
      await metrics?.stop()
    },
  }
}

const flushMillis = 1_000
/** Data that is stored in batches, after the response. */
const notes = 'token uses, member look-ups and refused authentications'
const forgetMillis = 60_000

function startPeriodicTasks({ context, report }: Served) {
  const { notebook, store, clock } = context
  let isWaiting = false
  const flush = async () => {
    const isFlushed = await notebook.flush(store, clock.now()).then(
      () => true,
      () => false,
    )
    // Failed flushes are retried every second, but only the first failure is reported.
    if (!isFlushed && !isWaiting) report(`${notes} could not be stored; retrying every second`)
    isWaiting = !isFlushed
  }
  const stopping = new AbortController()
  let forgetting = Promise.resolve()
  const forget = () => {
    forgetting = forgetting
      .then(() => forgetReplays(context, stopping.signal))
      .catch(() => report('expired replays could not be removed; retrying every minute'))
  }
  // Runs at the start too, because replays may have expired while the server was down.
  forget()
  const timers = [setInterval(flush, flushMillis), setInterval(forget, forgetMillis)]
  return {
    /** Interrupts long tasks. The next server finishes these tasks after its start. */
    stopLongOnes: () => stopping.abort(),
    async run() {
      forget()
      await Promise.all([flush(), forgetting])
    },
    async stop() {
      for (const timer of timers) clearInterval(timer)
      await notebook
        .flush(store, Number.POSITIVE_INFINITY)
        .catch(() => report(`${notes} could not be stored and are lost`, 'error'))
      await forgetting
    },
  }
}

async function createMeasures(
  { context, zones, measureEngine: engine }: Served,
  { metricsPort = null, build = {} }: ServerOptions,
) {
  if (metricsPort === null) return null
  const [{ RequestMeasures }, { concurrencyLimits: placesInFlight }, { listenForMetrics }] =
    await Promise.all([
      import('./http/request-measures'),
      import('./http/admission'),
      import('./http/listening/metrics'),
    ])
  const [requests, places] = [new RequestMeasures(), placesInFlight()]
  const records = () => measureRecords(context)
  const now = () => context.clock.now()
  return {
    observers: [requests.observe],
    serving: { places },
    async listen(state: Pick<Measured, 'isReady' | 'certificateEndsAt'>) {
      return listenForMetrics(metricsPort, { requests, places, build, zones, engine, records, now, ...state })
    },
  }
}
