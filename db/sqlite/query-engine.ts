import type { Changes, Database } from 'bun:sqlite'
import { sql } from 'drizzle-orm'
import type { MaybePromise, QueryEngine } from '../queries/engine'
import { drizzleOn } from './drizzle'
import { tables } from './schema'

/** What queries need of SQLite: statements are prepared once and answer at once. */
export function queryEngine(database: Database): QueryEngine {
  return {
    db: drizzleOn(database) as QueryEngine['db'],
    tables,
    prepare(query) {
      const statement = query.prepare()
      return (values) => statement.all(values)
    },
    prepareArrays(query) {
      const statement = query.prepare() as unknown as { values(values?: object): unknown[][] }
      return (values) => statement.values(values)
    },
    prepareWrite(query) {
      const statement = query.prepare()
      // The driver returns the id with the result: RETURNING takes half as long again.
      return (values) => (statement.run(values) as Changes).lastInsertRowid as number
    },
    isAmong: (column, list) => sql`${column} in (select value from json_each(${list}))`,
    list: (values) => JSON.stringify(values),
    greatest: (one, other) => sql`max(coalesce(${one}, 0), ${other})`,
  }
}

/** The rows of a query on SQLite, which never waits: a transaction would not survive an await. */
export function atOnce<T>(value: MaybePromise<T>): T {
  if (value instanceof Promise) throw new Error('a query on SQLite returned a promise')
  return value
}
