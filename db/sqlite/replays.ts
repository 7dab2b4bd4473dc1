import type { Vault } from '../../src/domain/vault'
import { replayColumns } from '../sealed/replays'
import type { Drizzle } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { replays } from './schema'

export function replayTable(db: Drizzle, vault: Vault): RecordTable<'replay'> {
  const table = recordTable<'replay'>(db, replays)
  return { ...table, add: (row) => table.add(replayColumns(vault, row) as never) }
}
