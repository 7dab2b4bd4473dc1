import type { Vault } from '../../src/domain/vault'
import { whenNeeded } from '../queries/lazy'
import { auditQueries } from './audit'
import { bookingRequestQueries } from './booking-requests'
import { changeQueries } from './changes'
import type { Connection } from './client/connection'
import { directoryQueries } from './directory'
import { drizzleOn } from './drizzle'
import { memberQueries } from './members'
import { partnerQueries } from './partners'
import { placementQueries } from './placement'
import { recordSets } from './record-sets'
import { replayQueries } from './replays'
import { noteQueries } from './request-notes'
import { slotQueries } from './slots'
import { submissionQueries } from './submission-facts'

/**
 * What works on one connection: its statements, each prepared once, inside whatever transaction is open on it.
 *
 * @param vaultOf is asked when something sealed is first to be read: there are connections before there is a vault
 */
export function openSession(connection: Connection, vaultOf: () => Vault) {
  const db = drizzleOn((text, params) => connection.run(text, params))
  const directory = whenNeeded(() => directoryQueries(db))
  const requests = whenNeeded(() => bookingRequestQueries(db, vaultOf()))
  const slots = whenNeeded(() => slotQueries(db))
  const changes = whenNeeded(() => changeQueries(db))
  const members = whenNeeded(() => memberQueries(db, vaultOf()))
  return {
    connection,
    records: whenNeeded(() => recordSets(db, vaultOf(), members)),
    submissions: whenNeeded(() => submissionQueries(db, vaultOf())),
    ...{ directory, requests, slots, changes, members },
    partners: whenNeeded(() => partnerQueries(db, vaultOf())),
    placement: placementQueries({ directory, requests, slots, changes }),
    notes: whenNeeded(() => noteQueries(db, vaultOf())),
    replays: whenNeeded(() => replayQueries(db, vaultOf())),
    audit: whenNeeded(() => auditQueries(db, vaultOf())),
  }
}

export type Session = ReturnType<typeof openSession>
