import { Refusal } from '../errors'
import { type Decision, setting, unknownRecord } from '../ports/writes'
import { absencesOf, isSameAbsence, type Provider, type TimeOff } from '../provider'

/** Suspends or reactivates a provider. Loading a directory does not end a suspension. */
export function decideProviderState(provider: Pick<Provider, 'id'> | null, active: boolean): Decision {
  if (!provider) return unknownRecord('provider')
  const to = active ? { active, suspended: false } : { suspended: true }
  return setting(`provider.${active ? 'reactivate' : 'deactivate'}`, 'provider', provider.id, to)
}

/** Answers true if the absence is new. A known absence is not added again. */
export function decideTimeOff(provider: Provider | null, absence: TimeOff): Decision<boolean> {
  if (!provider) return unknownRecord('provider')
  const isKnown = absencesOf(provider).some((known) => isSameAbsence(known, absence))
  if (isKnown) return { writes: [], taken: [], audit: null, answer: () => false }
  const staffTimeOff = [...provider.staffTimeOff, absence]
  return {
    ...setting('provider.time-off-add', 'provider', provider.id, { staffTimeOff }),
    answer: () => true,
  }
}

/** Removes an absence. The next load restores the absence if the directory file contains it. */
export function decideTimeOffRemoval(provider: Provider | null, absence: TimeOff): Decision {
  if (!provider) return unknownRecord('provider')
  const others = (all: readonly TimeOff[]) => all.filter((known) => !isSameAbsence(known, absence))
  const [timeOff, staffTimeOff] = [others(provider.timeOff), others(provider.staffTimeOff)]
  return timeOff.length + staffTimeOff.length < absencesOf(provider).length
    ? setting('provider.time-off-remove', 'provider', provider.id, { timeOff, staffTimeOff })
    : new Refusal('record_unknown', 'there is no such time off')
}
