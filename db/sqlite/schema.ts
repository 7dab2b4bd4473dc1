import { sqliteColumns, tablesOf } from '../queries/tables'

export const tables = tablesOf(sqliteColumns)

export const { settings, organizations, partners, partnerKeys, regions, providers } = tables
export const { licenses, inPersonRegions, members, bookingRequests, replays, requestNotes } = tables
export const { changes, audit } = tables
