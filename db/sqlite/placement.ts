import type { PlacementFacts } from '../../src/domain/decide-placement'
import type { Placed } from '../facts'
import type { changeQueries } from '../queries/changes'
import type { bookingRequestQueries, slotQueries } from './booking-requests'
import type { directoryQueries } from './directory'
import { atOnce } from './query-engine'

/** What a placement is decided on. */
interface Sources {
  readonly directory: ReturnType<typeof directoryQueries>
  readonly requests: ReturnType<typeof bookingRequestQueries>
  readonly slots: ReturnType<typeof slotQueries>
  readonly changes: ReturnType<typeof changeQueries>
}

export function placementQueries({ directory, requests, slots, changes }: Sources) {
  return {
    find(requestId: number, { providerId, startsAt, version }: Placed): PlacementFacts {
      const request = requests.find(requestId)
      const { member } = request ?? {}
      return {
        request,
        isProviderKnown: directory.findProviders([providerId]).providers.length > 0,
        since: atOnce(changes.sinceButTaken(version)),
        holders: startsAt === null ? [] : slots.touching(providerId, startsAt),
        held: startsAt !== null && member ? slots.heldBy(member.id, startsAt) : [],
      }
    },
  }
}
