import type { Vault } from '../../src/domain/vault'
import { auditQueries } from '../queries/audit'
import { changeQueries } from '../queries/changes'
import { whenCalled, whenNeeded } from '../queries/lazy'
import { replayQueries } from '../queries/replays'
import { newestSealed } from '../queries/sealed-values'
import { bookingRequestQueries } from './booking-requests'
import type { Connection } from './client/connection'
import { directoryQueries } from './directory'
import { drizzleOn, type Run } from './drizzle'
import { memberQueries } from './members'
import { partnerQueries } from './partners'
import { placementQueries } from './placement'
import { queryEngine } from './query-engine'
import { recordSets } from './record-sets'
import { noteQueries } from './request-notes'
import { slotQueries } from './slots'
import { submissionQueries } from './submission-facts'

/**
 * What works on one connection: its statements, each prepared once, inside whatever transaction is open on it.
 *
 * @param vaultOf is asked when something sealed is first to be read: there are connections before there is a vault
 */
export function openSession(connection: Connection, vaultOf: () => Vault) {
  const run: Run = (text, params) => connection.run(text, params)
  const db = drizzleOn(run)
  const engine = queryEngine(run)
  const directory = whenNeeded(() => directoryQueries(db))
  const requests = whenNeeded(() => bookingRequestQueries(db, vaultOf()))
  const slots = whenNeeded(() => slotQueries(db))
  const changes = whenNeeded(() => changeQueries(engine))
  const members = whenNeeded(() => memberQueries(db, vaultOf()))
  return {
    connection,
    records: whenNeeded(() => recordSets(db, vaultOf(), members)),
    submissions: whenNeeded(() => submissionQueries(connection, vaultOf())),
    ...{ directory, requests, slots, changes, members },
    partners: whenNeeded(() => partnerQueries(db, vaultOf())),
    placement: placementQueries({ directory, requests, slots, changes }),
    notes: whenNeeded(() => noteQueries(db, vaultOf())),
    replays: whenNeeded(() => replayQueries(engine, vaultOf())),
    newestSealed: whenCalled(() => newestSealed(engine)),
    audit: whenNeeded(() => auditQueries(engine, vaultOf())),
  }
}

export type Session = ReturnType<typeof openSession>
