import type { UnlistedProvider } from '../directory/directory'
import type { Act } from '../domain/audit'
import type { Provider } from '../domain/provider'
import type { Context } from './context'

/** Enough to switch a provider off and on, be their record one that cannot be read. */
export type ProviderName = Pick<Provider, 'id' | 'ref'>

/** Offers none of the slots of a provider; what is booked stays. */
export function deactivateProvider(context: Context, provider: ProviderName, act: Act) {
  return setActive(context, provider, false, act)
}

/** Offers the slots of a deactivated provider again. */
export function reactivateProvider(context: Context, provider: ProviderName, act: Act) {
  return setActive(context, provider, true, act)
}

async function setActive(
  { store, directory }: Context,
  { id }: ProviderName,
  active: boolean,
  act: Act,
): Promise<void> {
  await store.setProviderActive(id, active, act)
  await directory.catchUp()
}

/** Those who are left out of searches, since their record cannot be read or used, and why. */
export function listUnlisted({ directory }: Context): UnlistedProvider[] {
  return directory.listUnlisted()
}
