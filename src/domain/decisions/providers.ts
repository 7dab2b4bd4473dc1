import { Refusal } from '../errors'
import { type Decision, setting, unknownRecord } from '../ports/writes'
import { absencesOf, isSameAbsence, type Provider, type TimeOff } from '../provider'

/**
 * Staff switch a provider off, which no directory that is loaded undoes, or on again, whoever has switched them off.
 *
 * @param provider whatever can be told of them: their record may be one that cannot be read
 */
export function decideProviderState(provider: Pick<Provider, 'id'> | null, active: boolean): Decision {
  if (!provider) return unknownRecord('provider')
  const to = active ? { active, suspended: false } : { suspended: true }
  return setting(`provider.${active ? 'reactivate' : 'deactivate'}`, 'provider', provider.id, to)
}

/** Answers whether the absence is new: one that is there already is not added twice, and nothing is written. */
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

/** One that staff have entered, or that the directory has: that comes back with the next one that is loaded and has it still. */
export function decideTimeOffRemoval(provider: Provider | null, absence: TimeOff): Decision {
  if (!provider) return unknownRecord('provider')
  const others = (all: readonly TimeOff[]) => all.filter((known) => !isSameAbsence(known, absence))
  const [timeOff, staffTimeOff] = [others(provider.timeOff), others(provider.staffTimeOff)]
  return timeOff.length + staffTimeOff.length < absencesOf(provider).length
    ? setting('provider.time-off-remove', 'provider', provider.id, { timeOff, staffTimeOff })
    : new Refusal('record_unknown', 'there is no such time off')
}
