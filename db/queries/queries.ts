import type { Vault } from '../../src/domain/ports/vault'
import { auditQueries } from './audit'
import { changeQueries } from './changes'
import { directoryQueries } from './directory'
import { type QueryEngine, whenCalled, whenNeeded } from './engine'
import { memberQueries } from './members'
import { partnerQueries } from './partners'
import { recordQueries } from './records'
import { bookingRequestQueries } from './requests/booking-requests'
import { placementQueries } from './requests/placement'
import { replayQueries } from './requests/replays'
import { noteQueries } from './requests/request-notes'
import { slotQueries } from './requests/slots'
import { newestSealed } from './sealed-values'
import { trailQueries } from './trails'

/** @param vaultOf returns the vault. The connection may be opened before the vault. */
export function prepareQueries(engine: QueryEngine, vaultOf: () => Vault) {
  const directory = whenNeeded(() => directoryQueries(engine))
  const requests = whenNeeded(() => bookingRequestQueries(engine, vaultOf()))
  const slots = whenNeeded(() => slotQueries(engine))
  const changes = whenNeeded(() => changeQueries(engine))
  return {
    records: whenNeeded(() => recordQueries(engine, vaultOf())),
    ...{ directory, requests, slots, changes },
    partners: whenNeeded(() => partnerQueries(engine, vaultOf())),
    members: whenNeeded(() => memberQueries(engine, vaultOf())),
    placement: placementQueries({ directory, requests, slots, changes }),
    notes: whenNeeded(() => noteQueries(engine, vaultOf())),
    newestSealed: whenCalled(() => newestSealed(engine)),
    audit: whenNeeded(() => auditQueries(engine, vaultOf())),
    replays: whenNeeded(() => replayQueries(engine, vaultOf())),
    trails: whenNeeded(() => trailQueries(engine)),
  }
}

export type Queries = ReturnType<typeof prepareQueries>
