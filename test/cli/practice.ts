import { systemClock } from '../../src/domain/ports/time'
import { weekdays } from '../../src/domain/provider'
import { loadDirectory } from '../../src/operations/directory-loads'
import { openService, type Service } from '../../src/service'
import { type ActingStore, withActs } from '../support/acts'
import { provider, region } from '../support/builders'
import { Operator, type Served } from '../support/operator'
import { actAt } from '../support/service'

/** A running service and its operator. The service has one partner, and three providers who work every day. */
export interface Practice {
  readonly operator: Operator
  readonly service: Served
  readonly token: string
  /** The same database, opened in this process. To read it here is faster than to start a command. */
  readonly store: ActingStore
  /** Searches, and returns the start times of the provider with this ref. */
  slotsOf(ref: string): Promise<string[]>
  stop(): Promise<void>
}

const refs = ['on-1', 'on-2', 'qc-1'] as const

/** Starts a practice: on-1 and on-2 are licensed in Ontario, qc-1 in Québec. */
export async function startPractice(): Promise<Practice> {
  const operator = new Operator()
  await operator.do('init')
  const { context, close } = await fill(operator)
  const token = await operator.onboard('Lantern', 'North Care')
  const service = await operator.serve()
  return {
    operator,
    service,
    token,
    store: withActs(context),
    async slotsOf(ref) {
      const id = refs.indexOf(ref as (typeof refs)[number]) + 1
      const regionId = ref === 'qc-1' ? 2 : 1
      const { body } = await service.get(`/partners/v1/providers/?region_id=${regionId}`, token)
      const found = body.results.find(({ providerId }: { providerId: number }) => providerId === id)
      return found.availability.map(({ utcStartTime }: { utcStartTime: string }) => utcStartTime)
    },
    async stop() {
      await service.stop()
      await close()
      operator[Symbol.dispose]()
    },
  }
}

async function fill({ storage }: Operator): Promise<Service> {
  const service = await openService({
    purpose: 'production',
    ...storage,
    create: false,
    clock: systemClock,
    report: () => {},
  })
  const quebec = region({ stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' })
  const providers = refs.map((ref) =>
    provider(ref, {
      workingHours: [{ weekdays: [...weekdays], start: '09:00', end: '12:00' }],
      licenses: [{ region: ref === 'qc-1' ? 'CA-QC' : 'CA-ON', from: '2020-01-01' }],
    }),
  )
  await loadDirectory(service.context, { regions: [region(), quebec], providers }, actAt(systemClock.now()))
  return service
}
