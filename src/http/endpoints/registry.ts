// Every endpoint of the API. Add new ones here.
export { bookingRequest } from './booking-request'
export { cancelRequest } from './cancel-request'
export { providerRegions } from './provider-regions'
export { providers } from './providers'
export { readRequest } from './read-request'
export { requestChanges } from './request-changes'
export { rescheduleRequest } from './reschedule-request'
export { user } from './user'
