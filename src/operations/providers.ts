import type { UnlistedProvider } from '../directory/directory'
import type { Act } from '../domain/audit'
import { decideProviderState } from '../domain/decide-provider'
import type { UnreadableProvider } from '../domain/directory-feed'
import type { Provider } from '../domain/provider'
import { type Context, thenShow } from './context'

/** Enough to switch a provider off and on, be their record one that cannot be read. */
export type ProviderName = Pick<Provider, 'id' | 'ref'>

/** Offers none of the slots of a provider; what is booked stays. */
export function deactivateProvider(context: Context, provider: ProviderName, act: Act): Promise<void> {
  return setProviderActive(context, provider, false, act)
}

/** Offers the slots of a deactivated provider again. */
export function reactivateProvider(context: Context, provider: ProviderName, act: Act): Promise<void> {
  return setProviderActive(context, provider, true, act)
}

function setProviderActive(context: Context, { id }: ProviderName, active: boolean, act: Act): Promise<void> {
  const changed = context.store.change(
    act,
    ({ directory }) => [directory.findProviders([id])],
    ({ providers, unreadable }) => decideProviderState(providers[0] ?? unreadable[0] ?? null, active),
  )
  return thenShow(context, changed)
}

/** Those whose record cannot be read at all. */
export function listUnreadable({ directory }: Context): UnreadableProvider[] {
  return directory.listUnreadable()
}

/** Those who are left out of searches, since their record cannot be read or used, and why. */
export function listUnlisted({ directory }: Context): UnlistedProvider[] {
  return directory.listUnlisted()
}
