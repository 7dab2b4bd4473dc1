import type { Vault } from '../../src/domain/vault'
import { auditQueries } from './audit'
import { bookingRequestQueries, requestTable } from './booking-requests'
import { changeQueries } from './changes'
import { directoryQueries, providerTable } from './directory'
import type { Drizzle } from './drizzle'
import { memberQueries, memberTable } from './members'
import { keyTable, partnerQueries } from './partners'
import { type RecordTables, recordTable } from './record-table'
import { replayQueries, replayTable } from './replays'
import { organizations, partners, regions } from './schema'

/** All statements on a database, prepared once. */
export function prepareQueries(db: Drizzle, vault: Vault) {
  const tables: RecordTables = {
    organization: recordTable(db, organizations),
    partner: recordTable(db, partners),
    key: keyTable(db, vault),
    region: recordTable(db, regions),
    provider: providerTable(db),
    member: memberTable(db, vault),
    request: requestTable(db, vault),
    replay: replayTable(db, vault),
  }
  return {
    tables,
    partners: partnerQueries(db, vault),
    directory: directoryQueries(db),
    members: memberQueries(db, vault),
    requests: bookingRequestQueries(db, vault),
    replays: replayQueries(db, vault),
    changes: changeQueries(db),
    audit: auditQueries(db, vault),
  }
}

export type Queries = ReturnType<typeof prepareQueries>
