import type { Vault } from '../../src/domain/vault'
import { auditQueries } from '../queries/audit'
import { changeQueries } from '../queries/changes'
import type { QueryEngine } from '../queries/engine'
import { whenCalled, whenNeeded } from '../queries/lazy'
import { replayQueries } from '../queries/replays'
import { newestSealed } from '../queries/sealed-values'
import { bookingRequestQueries, requestTable, slotQueries } from './booking-requests'
import { directoryQueries, providerTable } from './directory'
import type { Drizzle } from './drizzle'
import { memberQueries, memberTable } from './members'
import { keyTable, partnerQueries } from './partners'
import { placementQueries } from './placement'
import { type RecordTables, recordTable } from './record-table'
import { replayTable } from './replays'
import { noteQueries, noteTable } from './request-notes'
import { organizations, partners, regions } from './schema'

/** All statements on a database, prepared once: those of a noun when one of them is first needed. */
export function prepareQueries(engine: QueryEngine, vault: Vault) {
  const db = engine.db as Drizzle
  const tables: RecordTables = {
    organization: whenNeeded(() => recordTable<'organization'>(db, organizations)),
    partner: whenNeeded(() => recordTable<'partner'>(db, partners)),
    key: whenNeeded(() => keyTable(db, vault)),
    region: whenNeeded(() => recordTable<'region'>(db, regions)),
    provider: whenNeeded(() => providerTable(db)),
    member: whenNeeded(() => memberTable(db, vault)),
    request: whenNeeded(() => requestTable(db, vault)),
    note: whenNeeded(() => noteTable(db, vault)),
    replay: whenNeeded(() => replayTable(db, vault)),
  }
  const directory = whenNeeded(() => directoryQueries(db))
  const requests = whenNeeded(() => bookingRequestQueries(db, vault))
  const slots = whenNeeded(() => slotQueries(db))
  const changes = whenNeeded(() => changeQueries(engine))
  return {
    tables,
    ...{ directory, requests, slots, changes },
    partners: whenNeeded(() => partnerQueries(db, vault)),
    members: whenNeeded(() => memberQueries(db, vault)),
    placement: placementQueries({ directory, requests, slots, changes }),
    notes: whenNeeded(() => noteQueries(db, vault)),
    replays: whenNeeded(() => replayQueries(engine, vault)),
    newestSealed: whenCalled(() => newestSealed(engine)),
    audit: whenNeeded(() => auditQueries(engine, vault)),
  }
}

export type Queries = ReturnType<typeof prepareQueries>
