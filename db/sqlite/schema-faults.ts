import { Database } from 'bun:sqlite'
import { createSchema, type KeyedDatabase } from './migration'

/**
 * What a database has beside the tables, indexes and triggers of its schema, lacks of them or has otherwise: whoever
 * can write to the file can have a trigger undo what the program does, and no check of its pages would tell.
 */
export function schemaFaults({ database, purpose, masterKey }: KeyedDatabase): string[] {
  using fresh = new Database(':memory:')
  createSchema({ database: fresh, purpose, masterKey })
  const [wanted, found] = [objectsOf(fresh), objectsOf(database)]
  const names = new Set([...wanted.keys(), ...found.keys()])
  return [...names].filter((name) => wanted.get(name) !== found.get(name))
}

/** Tables that Litestream keeps in what it replicates. A table by itself does nothing; a trigger on one is told. */
const ofLitestream = "('table _litestream_seq', 'table _litestream_lock')"

/** Their text by what they are called. SQLite's own are left out. */
function objectsOf(database: Database): Map<string, string> {
  const select =
    "SELECT type || ' ' || name AS name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite@_%' ESCAPE '@'"
  const rows = database
    .query<{ name: string; sql: string }, []>(`${select} AND type || ' ' || name NOT IN ${ofLitestream}`)
    .all()
  return new Map(rows.map(({ name, sql }) => [name, sql]))
}
