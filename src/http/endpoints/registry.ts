// Every endpoint of the API. Add new ones here.
export { bookingRequest } from './booking-request'
export { providerRegions } from './provider-regions'
export { providers } from './providers'
export { user } from './user'
