import { describeOnPostgres, describeOnPostgresInFull } from '../../support/postgres-databases'
import { storeDoesWhatTheOperatorAsks } from '../operator.contract'
import { storeKnowsRetries } from '../retries.contract'
import { storeKeepsItsPromises, storeServesTwoConnections } from '../store.contract'
import { openPostgresPlace } from './place'

// Each test makes a database of its own. Where all of them are not run, those are in which engines differ most.
describeOnPostgresInFull('the Store on PostgreSQL', () => {
  storeKeepsItsPromises(openPostgresPlace)
  storeDoesWhatTheOperatorAsks(openPostgresPlace)
  storeKnowsRetries(openPostgresPlace)
})

describeOnPostgres('connections to the Store on PostgreSQL', () => {
  storeServesTwoConnections(openPostgresPlace)
})
