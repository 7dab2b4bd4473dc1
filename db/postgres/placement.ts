import type { PlacementFacts } from '../../src/domain/decide-placement'
import type { Placed } from '../facts'
import type { changeQueries } from '../queries/changes'
import type { bookingRequestQueries } from './booking-requests'
import type { directoryQueries } from './directory'
import type { slotQueries } from './slots'

/** What a placement is decided on. */
interface Sources {
  readonly directory: ReturnType<typeof directoryQueries>
  readonly requests: ReturnType<typeof bookingRequestQueries>
  readonly slots: ReturnType<typeof slotQueries>
  readonly changes: ReturnType<typeof changeQueries>
}

export function placementQueries({ directory, requests, slots, changes }: Sources) {
  return {
    /** Of one moment where no submission and no other act is under way. */
    async find(requestId: number, { providerId, startsAt, version }: Placed): Promise<PlacementFacts> {
      const [request, { providers }, since, holders] = await Promise.all([
        requests.find(requestId),
        directory.findProviders([providerId]),
        changes.sinceButTaken(version),
        startsAt === null ? [] : slots.touching(providerId, startsAt),
      ])
      const { member } = request ?? {}
      const held = startsAt !== null && member ? await slots.heldBy(member.id, startsAt) : []
      return { request, isProviderKnown: providers.length > 0, since, holders, held }
    },
  }
}
