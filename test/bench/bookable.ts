import { readServerConfig } from '../../src/config'
import { systemClock } from '../../src/domain/ports/time'
import type { Context } from '../../src/operations/context'
import { loadDirectory } from '../../src/operations/directory-loads'
import { addOrganization, addPartner } from '../../src/operations/partners'
import { issueFirstToken } from '../../src/operations/tokens'
import { formatInstant, minuteMillis } from '../../src/scheduling/calendar'
import { openService } from '../../src/service'
import { provider, region } from '../support/builders'

const providers = 3_000
const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'] as const
const workingHours = [{ weekdays: [...weekdays], start: '08:00', end: '16:00' }]
// All limits are as they are but the rates: those are judged and never reached.
const endless = '100000000'
const { limits } = readServerConfig(
  { database: 'unused', baseUrl: 'http://localhost', readsPerMinute: endless, bookingsPerMinute: endless },
  {},
)

/** What a service to book in is opened on. */
export interface Bookable {
  /** Of the master key, and of the database where none is named. */
  readonly folder: string
  /** The address of one on a server. */
  readonly database?: string | undefined
  /** How many writes go in one transaction, where that is measured. */
  readonly largestGroup?: number | undefined
}

/** The service as `serve` has it, without any directory in a new database. */
export function openBookable({ folder, database = `${folder}/service.sqlite`, largestGroup }: Bookable) {
  return openService({
    purpose: 'production',
    database,
    masterKey: { file: `${folder}/key` },
    create: true,
    clock: systemClock,
    limits,
    largestGroup,
    report: console.error,
  })
}

/** Makes a directory to book in. Tells the token of who books. */
export async function fill(context: Context): Promise<string> {
  const act = { actor: 'bench', at: systemClock.now() }
  const named = Array.from({ length: providers }, (_, index) => provider(`bench-${index}`, { workingHours }))
  await loadDirectory(context, { regions: [region()], providers: named }, act)
  const organization = await addOrganization(context, 'Bench', act)
  const partner = await addPartner(context, 'Bench', organization, act)
  const token = await issueFirstToken(context, partner, act)
  await context.directory.catchUp()
  return token
}

/** What there is to book. */
export interface Offer {
  readonly regionId: number
  readonly providerIds: readonly number[]
  /** The slots of each of them. */
  readonly starts: readonly string[]
}

/** What a directory offers of which nothing has been booked. */
export function offerOf({ directory }: Context): Offer {
  const listings = directory.listListings()
  const [listing] = listings
  if (!listing) throw new Error('the bench has no provider')
  const { slots } = directory.availabilityAnywhere(listing, systemClock.now())
  return {
    regionId: listing.licenses[0]?.regionId ?? 0,
    providerIds: listings.map(({ provider }) => provider.id),
    // What begins in the next days may be over before it is booked.
    starts: slots.slice(20).map((minute) => formatInstant(minute * minuteMillis)),
  }
}
