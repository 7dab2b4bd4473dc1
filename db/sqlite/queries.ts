import type { Vault } from '../../src/domain/vault'
import { auditQueries } from './audit'
import { bookingRequestQueries, requestTable } from './booking-requests'
import { changeQueries } from './changes'
import { directoryQueries, providerTable, regionTable } from './directory'
import type { Drizzle } from './drizzle'
import { memberQueries, memberTable } from './members'
import { keyTable, organizationTable, partnerQueries, partnerTable } from './partners'
import type { RecordTables } from './record-table'

/** All statements on a database, prepared once. */
export function prepareQueries(db: Drizzle, vault: Vault) {
  const tables: RecordTables = {
    organization: organizationTable(db),
    partner: partnerTable(db),
    key: keyTable(db, vault),
    region: regionTable(db),
    provider: providerTable(db),
    member: memberTable(db),
    request: requestTable(db, vault),
  }
  return {
    tables,
    partners: partnerQueries(db, vault),
    directory: directoryQueries(db),
    members: memberQueries(db),
    requests: bookingRequestQueries(db, vault),
    changes: changeQueries(db),
    audit: auditQueries(db),
  }
}

export type Queries = ReturnType<typeof prepareQueries>
