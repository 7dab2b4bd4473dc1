import type { Networks } from './domain/addresses'
import type { EngineMeasures, Report } from './domain/measures'
import type { ZoneData } from './domain/ports/time'
import { createApp } from './http/app'
import { strictTransport } from './http/errors'
import { urlHost } from './http/listening/hosts'
import { type Listening, listen } from './http/listening/listen'
import type { Measured } from './http/listening/metrics'
import { type RequestObserver, withLogEntries } from './http/log'
import type { Context } from './operations/context'
import { measureRecords } from './operations/status'
import { forgetReplays } from './operations/upkeep'
import type { Certificate } from './vault/certificate'

/** How a service is served. */
export interface ServingOptions {
  /** Whether the API's documents are left out. */
  readonly noDocs?: boolean
  /** What it speaks HTTPS with; plain HTTP unless given. */
  readonly certificate?: Certificate | null
  /** The proxies that do HTTPS for it: nothing else is answered then. None unless given. */
  readonly proxies?: Networks | null
  /** Where Prometheus is told how it does, on this machine, 0 for a free port; nowhere, unless given. */
  readonly metricsPort?: number | null
  /** What the program was made from, by the names of labels of those metrics. */
  readonly build?: Readonly<Record<string, string>>
  /** Are shown each request that was answered; none unless given. */
  readonly onlookers?: readonly RequestObserver[]
  /** Is told what an operator should know of. */
  readonly report: Report
}

/** What is served, and how. */
export interface Served extends ServingOptions {
  /** Whether whoever builds against it is helped: a sandbox. */
  readonly isSandbox: boolean
  readonly context: Context
  readonly zones: ZoneData
  readonly measureEngine: () => EngineMeasures
  /** Has the database looked after from now on, and told of. */
  readonly watch: () => { readonly isReady: () => Promise<boolean> }
}

/** Where a service listens. */
export interface ListenAddress {
  readonly host: string
  /** 0 for a free one. */
  readonly port: number
  /** The public address, where it is not the one listened on. */
  readonly baseUrl?: string | undefined
}

/** A service that listens. */
export interface Server extends Listening {
  replaceCertificate(certificate: Certificate): void
  readonly baseUrl: string
  /** Where Prometheus is told how it does; null for nowhere. */
  readonly metricsPort: number | null
}

/** Listens, and does beside it what is due for as long as it does. Throws the system's error where a port cannot be had. */
export async function serve(served: Served, { host, port, baseUrl }: ListenAddress): Promise<Server> {
  const {
    context,
    isSandbox,
    noDocs = false,
    certificate = null,
    proxies = null,
    onlookers = [],
    report,
  } = served
  const measures = await createMeasures(served)
  let address = ''
  let isStopping = false
  let shown = certificate
  // A server may be stopping by the time this is known.
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
        createApp({ ...about, ...measures?.serving }, addressOf, isReady).fetch,
        [...onlookers, ...(measures?.onlookers ?? [])],
        certificate ? strictTransport : {},
      )
    },
    certificate ?? undefined,
  )
  const health = served.watch()
  const certificateEndsAt = () => shown?.validUntil ?? null
  const telling = await measures?.tell({ isReady, certificateEndsAt }).catch(async (error) => {
    await listening.stop()
    throw error
  })
  const chores = beginChores(served)
  return {
    ...listening,
    baseUrl: address,
    metricsPort: telling?.port ?? null,
    replaceCertificate(next) {
      listening.replaceCertificate(next)
      shown = next
    },
    async stop() {
      // Whoever balances load sends no more, while what was sent is answered.
      isStopping = true
      chores.beginToEnd()
      await listening.stop()
      await chores.end()
      // Last, so that the stop is logged.
      await telling?.stop()
    },
  }
}

/** How often what was noted while requests were answered is written down. */
const flushMillis = 1_000
const notes = 'uses of tokens, look-ups and refused authentications'
/** How often what was kept for retries is looked through for what may be kept no longer. */
const forgetMillis = 60_000

/** What is done beside answering: notes are written down, and what was kept for retries is forgotten. */
function beginChores({ context, report }: Served) {
  const { notebook, store } = context
  let isWaiting = false
  const flush = async () => {
    const isFlushed = await notebook.flush(store).then(
      () => true,
      () => false,
    )
    // Tried anew each second, and told once.
    if (!isFlushed && !isWaiting) report(`${notes} could not be noted yet; they are kept`)
    isWaiting = !isFlushed
  }
  const stopping = new AbortController()
  let forgetting = Promise.resolve()
  const forget = () => {
    forgetting = forgetting
      .then(() => forgetReplays(context, stopping.signal))
      .catch(() => report('answers that were kept for retries could not be removed yet'))
  }
  // At once too: it may have been stopped for longer than they are kept.
  forget()
  const timers = [setInterval(flush, flushMillis), setInterval(forget, forgetMillis)]
  return {
    /** Leaves what takes long for the next start. */
    beginToEnd: () => stopping.abort(),
    /** Writes down what was noted last. */
    async end() {
      for (const timer of timers) clearInterval(timer)
      await notebook.flush(store).catch(() => report(`${notes} could not be noted, and are lost`, 'error'))
      await forgetting
    },
  }
}

/** What is measured while it listens, where that is told to anybody. */
async function createMeasures({
  metricsPort = null,
  build = {},
  context,
  zones,
  measureEngine: engine,
}: Served) {
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
    onlookers: [requests.look],
    serving: { places },
    async tell(told: Pick<Measured, 'isReady' | 'certificateEndsAt'>) {
      return listenForMetrics(metricsPort, { requests, places, build, zones, engine, records, now, ...told })
    },
  }
}
