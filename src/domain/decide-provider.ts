import { Refusal } from './errors'
import type { Provider, TimeOff } from './provider'
import { type Decision, decideState, setting, unknownRecord } from './writes'

/** @param provider whatever can be told of them: their record may be one that cannot be read */
export function decideProviderState(provider: Pick<Provider, 'id'> | null, active: boolean): Decision {
  return decideState('provider', provider, active)
}

export function decideTimeOff(provider: Provider | null, absence: TimeOff): Decision {
  if (!provider) return unknownRecord('provider')
  const timeOff = [...provider.timeOff, absence]
  return setting('provider.time-off-add', 'provider', provider.id, { timeOff })
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
