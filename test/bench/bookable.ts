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
// The default limits of production, but with rates so high that no caller reaches them.
const endless = '100000000'
const { limits } = readServerConfig(
  {
    ...{ database: 'unused', baseUrl: 'http://localhost', openIntakes: 'off' },
    ...{ readsPerMinute: endless, bookingsPerMinute: endless, intakesPerHour: 'off' },
  },
  {},
)

export interface Bookable {
  readonly folder: string
  readonly database?: string | undefined
}

/** Opens the service as `serve` does, on a new database without a directory. */
export function openBookable({ folder, database = `${folder}/service.sqlite` }: Bookable) {
  return openService({
    purpose: 'production',
    database,
    masterKey: { file: `${folder}/key` },
    create: true,
    clock: systemClock,
    limits,
    report: console.error,
  })
}

/** Loads a directory to book in. Returns the token of a partner. */
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

export interface Offer {
  readonly regionId: number
  readonly providerIds: readonly number[]
  readonly starts: readonly string[]
}

export function offerOf({ directory }: Context): Offer {
  const listings = directory.listListings()
  const [listing] = listings
  if (!listing) throw new Error('the bench has no provider')
  const { slots } = directory.availabilityAnywhere(listing, systemClock.now())
  return {
    regionId: listing.licenses[0]?.regionId ?? 0,
    providerIds: listings.map(({ provider }) => provider.id),
    // Skips the first slots, which could start before they are booked.
    starts: slots.slice(20).map((minute) => formatInstant(minute * minuteMillis)),
  }
}
