// What partners can ask for, a line each: all else that is to be known of an endpoint stands in its own file.
export { bookingRequest } from './booking-request'
export { providerRegions } from './provider-regions'
export { providers } from './providers'
export { user } from './user'
