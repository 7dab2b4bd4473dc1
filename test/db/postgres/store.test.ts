import { describeOnPostgres } from '../../support/postgres-databases'
import { storeDoesWhatTheOperatorAsks } from '../operator.contract'
import { storeKnowsRetries } from '../retries.contract'
import { storeKeepsItsPromises } from '../store.contract'
import { openPostgresPlace } from './place'

describeOnPostgres('the Store on PostgreSQL', () => {
  storeKeepsItsPromises(openPostgresPlace)
  storeDoesWhatTheOperatorAsks(openPostgresPlace)
  storeKnowsRetries(openPostgresPlace)
})
