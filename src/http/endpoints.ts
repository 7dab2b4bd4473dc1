import { bookingRequest } from './booking-request'
import type { Endpoint } from './endpoint'
import { providerRegions } from './provider-regions'
import { providers } from './providers'
import { user } from './user'

/** What partners can ask for. Whatever is to be known of an endpoint stands in its own file. */
export const endpoints: readonly Endpoint[] = [providerRegions, providers, bookingRequest, user]
