import { runSql } from '../../support/postgres'
import { describeOnPostgres } from '../../support/postgres-databases'
import { followUpContract } from '../follow-up.contract'
import { operatorContract } from '../operator.contract'
import { retriesContract } from '../retries.contract'
import { bookingFeedContract, storeContract } from '../store.contract'
import { openPostgresPlace } from './place'

describeOnPostgres('postgres: the store', () => {
  storeContract(openPostgresPlace)
  bookingFeedContract(openPostgresPlace)
  operatorContract(openPostgresPlace)
  retriesContract(openPostgresPlace)
  followUpContract(openPostgresPlace, async ({ url }) =>
    (await runSql<object>(url, 'SELECT * FROM unread_risks')).flatMap(Object.values),
  )
})
