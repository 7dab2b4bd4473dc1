import type { PlacementFacts } from '../../../src/domain/decisions/transitions'
import type { MaybePromise, Placed } from '../../../src/domain/ports/store'
import type { changeQueries } from '../changes'
import type { directoryQueries } from '../directory'
import { all, then } from '../engine'
import type { bookingRequestQueries } from './booking-requests'
import type { slotQueries } from './slots'

interface Sources {
  readonly directory: ReturnType<typeof directoryQueries>
  readonly requests: ReturnType<typeof bookingRequestQueries>
  readonly slots: ReturnType<typeof slotQueries>
  readonly changes: ReturnType<typeof changeQueries>
}

export function placementQueries({ directory, requests, slots, changes }: Sources) {
  return {
    /** Returns the facts for an assignment. If `startsAt` is null, the assignment has no slot. */
    find(requestId: number, { providerId, startsAt, version }: Placed): MaybePromise<PlacementFacts> {
      const found = all([
        requests.find(requestId),
        directory.findProviders([providerId]),
        changes.sinceExceptTaken(version),
        startsAt === null ? [] : slots.touching(providerId, startsAt),
      ])
      return then(found, ([request, { providers }, since, holders]) => {
        const { member } = request ?? {}
        const held = startsAt !== null && member ? slots.heldBy(member.id, startsAt) : []
        return then(held, (held) => {
          return { request, isProviderKnown: providers.length > 0, since, holders, held }
        })
      })
    },
  }
}
