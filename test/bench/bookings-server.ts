import '../../src/production'
import { readServerConfig } from '../../src/config'
import { systemClock } from '../../src/domain/clock'
import { loadDirectory } from '../../src/operations/load-directory'
import { addOrganization, addPartner } from '../../src/operations/partners'
import { issueFirstToken } from '../../src/operations/tokens'
import { formatInstant, minuteMillis } from '../../src/scheduling/calendar'
import { openService } from '../../src/service'
import { provider, region } from '../support/builders'

// The service as `serve` has it, with a directory to book in: in a process of its own, which prints what it serves as a
// line of JSON. Words: the folder of its database, and how many writes go in one transaction where that is measured.

/** What there is to book, and by whom. */
export interface Serving {
  readonly baseUrl: string
  readonly token: string
  readonly regionId: number
  readonly providerIds: readonly number[]
  /** The slots of each of them. */
  readonly starts: readonly string[]
}

const providers = 3_000
const [folder = '', largestGroup] = process.argv.slice(2)
const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'] as const
const workingHours = [{ weekdays: [...weekdays], start: '08:00', end: '16:00' }]

// All limits are as they are but the rates: those are judged and never reached.
const endless = '100000000'
const { limits } = readServerConfig(
  { database: 'unused', baseUrl: 'http://localhost', readsPerMinute: endless, bookingsPerMinute: endless },
  {},
)
const service = await openService({
  purpose: 'production',
  database: `${folder}/service.sqlite`,
  masterKey: { file: `${folder}/key` },
  create: true,
  clock: systemClock,
  limits,
  largestGroup: largestGroup === undefined ? undefined : Number(largestGroup),
  report: console.error,
})
const { context } = service
const now = systemClock.now()
const act = { actor: 'bench', at: now }
const named = Array.from({ length: providers }, (_, index) => provider(`bench-${index}`, { workingHours }))
await loadDirectory(context, { regions: [region()], providers: named }, act)
const organization = await addOrganization(context, 'Bench', act)
const partner = await addPartner(context, 'Bench', organization, act)
const token = await issueFirstToken(context, partner, act)
await context.directory.catchUp()
const listings = context.directory.listListings()
const [listing] = listings
if (!listing) throw new Error('the bench has no provider')
const { slots } = context.directory.availabilityAnywhere(listing, now)
const serving: Serving = {
  baseUrl: (await service.listen('127.0.0.1', 0)).baseUrl,
  token,
  regionId: listing.licenses[0]?.regionId ?? 0,
  providerIds: listings.map(({ provider }) => provider.id),
  // What begins in the next days may be over before it is booked.
  starts: slots.slice(20).map((minute) => formatInstant(minute * minuteMillis)),
}
console.log(JSON.stringify(serving))
