import { type Changes, type Database, SQLiteError } from 'bun:sqlite'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { slotMillis } from '../../src/domain/booking-request'
import { Refusal, splitAction } from '../../src/domain/errors'
import type { MaybePromise } from '../../src/domain/ports/store'
import type { Vault } from '../../src/domain/ports/vault'
import type { QueryEngine } from '../queries/engine'
import { prepareQueries } from '../queries/queries'
import { sqliteColumns, tablesOf } from '../queries/tables'
import { settingsOver } from '../settings'

const tables = tablesOf(sqliteColumns)

/** Statements are prepared once and run synchronously. */
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
      // The driver returns the generated id. RETURNING would take 50 % longer.
      return (values) => (statement.run(values) as Changes).lastInsertRowid as number
    },
    takeIds: () => [],
    isAmong: (column, list) => sql`${column} in (select value from json_each(${list}))`,
    list: (values) => JSON.stringify(values),
    greatest: (one, other) => sql`max(coalesce(${one}, 0), ${other})`,
    // Compares only the start, because all slots have the same duration. The index contains only the start.
    overlaps: ({ startsAt }, from, until) =>
      sql`${startsAt} > ${from} - ${sql.raw(String(slotMillis))} and ${startsAt} < ${until}`,
    jsonRows: (columns, order) => sql`json_group_array(json_array(${columns}) order by ${order})`,
  }
}

/** Throws if the value is a promise, because a transaction would not survive an await. */
export function atOnce<T>(value: MaybePromise<T>): T {
  if (value instanceof Promise) throw new Error('a query on SQLite returned a promise')
  return value
}

/** Type of the same queries, but with values instead of promises. */
type AtOnce<Query> = Query extends (...args: infer Args) => infer Result
  ? (...args: Args) => [Result] extends [Promise<unknown>] ? Result : Awaited<Result>
  : { readonly [Name in keyof Query]: AtOnce<Query[Name]> }

export type Queries = AtOnce<ReturnType<typeof prepareQueries>>

export function queriesOn(database: Database, vault: Vault): Queries {
  return prepareQueries(queryEngine(database), () => vault) as Queries
}

export function settingsOf(database: Database) {
  const run = (text: string, values: readonly (string | Uint8Array)[]) =>
    database.query(text).values(...values)
  return settingsOver({ run }) as AtOnce<ReturnType<typeof settingsOver>>
}

/** Throws `refusal` if the statement violates a unique index. */
export function refuseDuplicate<T>(statement: () => T, refusal: () => Refusal): T {
  try {
    return statement()
  } catch (error) {
    if (error instanceof SQLiteError && error.code === 'SQLITE_CONSTRAINT_UNIQUE') throw refusal()
    throw error
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && /^SQLITE_(BUSY|PROTOCOL)/.test(error.code ?? '')
}

export function isDamage(error: unknown): boolean {
  return damage.test((error as { code?: string }).code ?? '')
}

const damage = /^SQLITE_(CORRUPT|NOTADB)/

/** Messages for faults that an operator can repair, by SQLite's error code. */
const storageFaults: readonly (readonly [code: RegExp, fault: string])[] = [
  [/^SQLITE_(FULL|IOERR_SHMSIZE)/, 'the disk is full; free some space'],
  [/^SQLITE_READONLY/, 'the database is read-only; check the permissions of its files and folder'],
  [damage, 'the database is damaged; stop the service and restore a backup'],
  [
    /^SQLITE_(IOERR|CANTOPEN|PROTOCOL|NOMEM)/,
    'reading or writing the database failed; check disk and memory',
  ],
]

/** Returns the refusal for a known SQLite error, and any other error unchanged. */
export function toRefusal(error: unknown): unknown {
  if (isBusy(error)) return new Refusal('storage_busy', 'the service is busy', { action: 'try again' })
  if (!(error instanceof SQLiteError)) return error
  const [, fault] = storageFaults.find(([code]) => code.test(error.code ?? '')) ?? []
  if (fault === undefined) return error
  const [what, options] = splitAction(fault)
  return new Refusal('storage_failed', what, { ...options, cause: error })
}
