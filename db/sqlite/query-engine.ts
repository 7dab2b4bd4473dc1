import type { Changes, Database } from 'bun:sqlite'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { slotMillis } from '../../src/domain/booking-request'
import type { MaybePromise } from '../../src/domain/ports/facts'
import type { Vault } from '../../src/domain/ports/vault'
import type { QueryEngine } from '../queries/engine'
import { prepareQueries } from '../queries/queries'
import { sqliteColumns, tablesOf } from '../queries/tables'
import { settingsOver } from '../settings'

const tables = tablesOf(sqliteColumns)

/** What queries need of SQLite: statements are prepared once and answer at once. */
export function queryEngine(database: Database): QueryEngine {
  return {
    db: drizzle({ client: database }),
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
    takeIds: () => [],
    isAmong: (column, list) => sql`${column} in (select value from json_each(${list}))`,
    list: (values) => JSON.stringify(values),
    greatest: (one, other) => sql`max(coalesce(${one}, 0), ${other})`,
    // All slots take the same time, and the index has when they start.
    overlaps: ({ startsAt }, from, until) =>
      sql`${startsAt} > ${from} - ${sql.raw(String(slotMillis))} and ${startsAt} < ${until}`,
    jsonRows: (columns, order) => sql`json_group_array(json_array(${columns}) order by ${order})`,
  }
}

/** The rows of a query on SQLite, which never waits: a transaction would not survive an await. */
export function atOnce<T>(value: MaybePromise<T>): T {
  if (value instanceof Promise) throw new Error('a query on SQLite returned a promise')
  return value
}

/** Queries with values in place of promises. */
type AtOnce<Query> = Query extends (...args: infer Args) => infer Result
  ? (...args: Args) => [Result] extends [Promise<unknown>] ? Result : Awaited<Result>
  : { readonly [Name in keyof Query]: AtOnce<Query[Name]> }

export type Queries = AtOnce<ReturnType<typeof prepareQueries>>

/** All queries on a database. They never wait: a transaction would not survive an await. */
export function queriesOn(database: Database, vault: Vault): Queries {
  return prepareQueries(queryEngine(database), () => vault) as Queries
}

/** What a database stores about itself. */
export function settingsOf(database: Database) {
  const run = (text: string, values: readonly (string | Uint8Array)[]) =>
    database.query(text).values(...values)
  return settingsOver({ run }) as AtOnce<ReturnType<typeof settingsOver>>
}
