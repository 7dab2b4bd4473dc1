import { describeOnPostgres } from '../../support/postgres-databases'
import { storeDoesWhatTheOperatorAsks } from '../operator.contract'
import { storeKnowsRetries } from '../retries.contract'
import { storeFollowsBookings, storeKeepsItsPromises } from '../store.contract'
import { openPostgresPlace } from './place'

describeOnPostgres('postgres: the store', () => {
  storeKeepsItsPromises(openPostgresPlace)
  storeFollowsBookings(openPostgresPlace)
  storeDoesWhatTheOperatorAsks(openPostgresPlace)
  storeKnowsRetries(openPostgresPlace)
})
