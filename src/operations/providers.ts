import type { UnlistedProvider } from '../directory/directory'
import type { Act } from '../domain/audit'
import type { UnreadableProvider } from '../domain/directory-feed'
import type { Provider } from '../domain/provider'
import { type Context, thenShow } from './context'

/** Enough to switch a provider off and on, be their record one that cannot be read. */
export type ProviderName = Pick<Provider, 'id' | 'ref'>

/** Offers none of the slots of a provider; what is booked stays. */
export function deactivateProvider(context: Context, { id }: ProviderName, act: Act): Promise<void> {
  return thenShow(context, context.store.setProviderActive(id, false, act))
}

/** Offers the slots of a deactivated provider again. */
export function reactivateProvider(context: Context, { id }: ProviderName, act: Act): Promise<void> {
  return thenShow(context, context.store.setProviderActive(id, true, act))
}

/** Those whose record cannot be read at all. */
export function listUnreadable({ directory }: Context): UnreadableProvider[] {
  return directory.listUnreadable()
}

/** Those who are left out of searches, since their record cannot be read or used, and why. */
export function listUnlisted({ directory }: Context): UnlistedProvider[] {
  return directory.listUnlisted()
}
