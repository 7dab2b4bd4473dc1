import { describeOnPostgres } from '../../support/postgres-databases'
import { operatorContract } from '../operator.contract'
import { retriesContract } from '../retries.contract'
import { bookingFeedContract, storeContract } from '../store.contract'
import { openPostgresPlace } from './place'

describeOnPostgres('postgres: the store', () => {
  storeContract(openPostgresPlace)
  bookingFeedContract(openPostgresPlace)
  operatorContract(openPostgresPlace)
  retriesContract(openPostgresPlace)
})
