import { Refusal } from './errors'
import type { Provider, TimeOff } from './provider'
import { type Decision, outcome } from './writes'

/** @param provider whatever can be told of them: their record may be one that cannot be read */
export function decideProviderState(provider: Pick<Provider, 'id'> | null, active: boolean): Decision {
  if (!provider) return unknownProvider()
  const { id } = provider
  const action = active ? 'provider.reactivate' : 'provider.deactivate'
  return outcome(action, 'provider', id, [{ set: 'provider', id, to: { active } }])
}

export function decideTimeOff(provider: Provider | null, absence: TimeOff): Decision {
  if (!provider) return unknownProvider()
  return setTimeOff('provider.time-off-add', provider, [...provider.timeOff, absence])
}

export function decideTimeOffRemoval(provider: Provider | null, absence: TimeOff): Decision {
  if (!provider) return unknownProvider()
  const left = provider.timeOff.filter(({ from, until }) => from !== absence.from || until !== absence.until)
  return left.length < provider.timeOff.length
    ? setTimeOff('provider.time-off-remove', provider, left)
    : new Refusal('record_unknown', 'there is no such time off')
}

function setTimeOff(
  action: 'provider.time-off-add' | 'provider.time-off-remove',
  { id }: Provider,
  timeOff: readonly TimeOff[],
): Decision {
  return outcome(action, 'provider', id, [{ set: 'provider', id, to: { timeOff } }])
}

function unknownProvider(): Refusal {
  return new Refusal('record_unknown', 'there is no such provider')
}
