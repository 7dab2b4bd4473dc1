import { Refusal } from './errors'
import type { Provider, TimeOff } from './provider'
import { type Decision, decideState, setting, unknownRecord } from './writes'

/** @param provider whatever can be told of them: their record may be one that cannot be read */
export function decideProviderState(provider: Pick<Provider, 'id'> | null, active: boolean): Decision {
  return decideState('provider', provider, active)
}

/** Answers whether the absence is new: one that is there already is not added twice, and nothing is written. */
export function decideTimeOff(provider: Provider | null, absence: TimeOff): Decision<boolean> {
  if (!provider) return unknownRecord('provider')
  const isKnown = provider.timeOff.some(({ from, until }) => from === absence.from && until === absence.until)
  if (isKnown) return { writes: [], taken: [], audit: null, answer: () => false }
  const timeOff = [...provider.timeOff, absence]
  return { ...setting('provider.time-off-add', 'provider', provider.id, { timeOff }), answer: () => true }
}

export function decideTimeOffRemoval(provider: Provider | null, absence: TimeOff): Decision {
  if (!provider) return unknownRecord('provider')
  const timeOff = provider.timeOff.filter(
    ({ from, until }) => from !== absence.from || until !== absence.until,
  )
  return timeOff.length < provider.timeOff.length
    ? setting('provider.time-off-remove', 'provider', provider.id, { timeOff })
    : new Refusal('record_unknown', 'there is no such time off')
}
