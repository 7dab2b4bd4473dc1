import type { Act } from '../domain/audit'
import type { Provider } from '../domain/provider'
import type { Context } from './context'

/** Offers none of the slots of a provider; what is booked stays. */
export function deactivateProvider(context: Context, provider: Provider, act: Act) {
  return setActive(context, provider, false, act)
}

/** Offers the slots of a deactivated provider again. */
export function reactivateProvider(context: Context, provider: Provider, act: Act) {
  return setActive(context, provider, true, act)
}

async function setActive(
  { store, directory }: Context,
  { id }: Provider,
  active: boolean,
  act: Act,
): Promise<void> {
  await store.setProviderActive(id, active, act)
  await directory.catchUp()
}
