import { eq, getTableColumns } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Noun, Records } from '../../src/domain/writes'
import { addedId, type Drizzle, placeholders } from './drizzle'

/** How records of a noun are written. */
export interface RecordTable<N extends Noun> {
  /** Tells the record's id. */
  add(row: Records[N]): number
  set(id: number, to: Partial<Records[N]>): void
  remove(id: number): void
}

export type RecordTables = { readonly [N in Noun]: RecordTable<N> }

type Row = Record<string, unknown>

/**
 * The writes of a table whose key is `id`, each statement prepared once.
 *
 * @param toColumns what the members of a record are as columns; those that it leaves out stay as they are
 */
export function recordTable<N extends Noun>(
  db: Drizzle,
  table: SQLiteTable & { id: SQLiteColumn },
  toColumns: (members: Partial<Records[N]>) => Row = (members) => members,
): RecordTable<N> {
  const columns = Object.keys(getTableColumns(table))
  const row = placeholders(...columns) as never
  const insert = db.insert(table).values(row).prepare()
  const byId = eq(table.id, placeholders('id').id)
  const remove = db.delete(table).where(byId).prepare()
  const prepareUpdate = (names: readonly string[]) =>
    db
      .update(table)
      .set(placeholders(...names) as never)
      .where(byId)
      .prepare()
  // By the columns that they set: decisions set few different ones.
  const updates = new Map<string, ReturnType<typeof prepareUpdate>>()
  const untold = Object.fromEntries(columns.map((name) => [name, null]))
  return {
    add: (row) => addedId(insert.run({ ...untold, ...toColumns(row) })),
    set(id, to) {
      const { id: _, ...values } = toColumns(to)
      const names = Object.keys(values)
      const key = names.join()
      const update = updates.get(key) ?? prepareUpdate(names)
      updates.set(key, update)
      update.run({ ...values, id })
    },
    remove: (id) => void remove.run({ id }),
  }
}
