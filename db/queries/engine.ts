import { type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite'
import type { Facts, MaybePromise } from '../../src/domain/ports/store'
import type { Tables } from './tables'

export type Values = Readonly<Record<string, unknown>>

interface Selecting<Row> {
  prepare(): { all(values?: Record<string, unknown>): Row[] }
}

interface Writing {
  prepare(): { run(values?: Record<string, unknown>): unknown }
  toSQL(): { sql: string; params: unknown[] }
}

interface SlotColumns {
  readonly startsAt: SQLWrapper
  readonly endsAt: SQLWrapper
}

/** The interface of a database engine. All engines share one set of queries. */
export interface QueryEngine {
  /** The builder of PostgreSQL is cast to this type. */
  readonly db: BunSQLiteDatabase
  readonly tables: Tables
  prepare<Row>(query: Selecting<Row>): (values?: Values) => MaybePromise<Row[]>
  /** Returns rows as arrays in the order of the selected columns. Faster than objects if there are many rows. */
  prepareArrays(query: Selecting<unknown>): (values?: Values) => MaybePromise<unknown[][]>
  /** Returns the generated id on SQLite. Returns 0 on PostgreSQL, where takeIds generates the ids. */
  prepareWrite(query: Writing): (values?: Values) => MaybePromise<number>
  /** Returns ids for new rows. Returns none on SQLite, which generates ids on insert. Ids are never reused. */
  takeIds(table: keyof Tables, count: number): MaybePromise<readonly number[]>
  isAmong(column: SQLWrapper, list: Placeholder | SQL): SQL
  list(values: readonly (number | string | Uint8Array)[]): string
  /** SQL for the greater value. If `one` is null, the result is `other`. */
  greatest(one: SQLWrapper, other: SQLWrapper): SQL
  /** True if a slot overlaps [from, until). Uses the index of slots. */
  overlaps(slot: SlotColumns, from: Placeholder, until: Placeholder): SQL
  jsonRows(columns: SQLWrapper, order: SQLWrapper): SQL
}

/** The queries of a port, and others that only the engines call. */
export type QueriesOf<Port extends keyof Facts> = Partial<Facts[Port]> & Record<string, unknown>

/** Calls `next` at once, unless the value is a promise. On SQLite, a transaction would not survive an await. */
export function then<T, Next>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value as T)
}

/** Like Promise.all, but synchronous if no value is a promise. */
export function all<const T extends readonly unknown[]>(
  values: T,
): MaybePromise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const isAtOnce = !values.some((value) => value instanceof Promise)
  return isAtOnce ? (values as never) : Promise.all(values)
}

export function placeholders<Name extends string>(...names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as {
    readonly [N in Name]: Placeholder<N>
  }
}

const chunkSize = 1_000

/** Yields rows in order of id. @param after reads at most `most` rows above an id */
export type Walk = <Row extends { readonly id: number }>(
  after: (id: number, most: number) => MaybePromise<readonly Row[]>,
) => AsyncGenerator<Row>

export const eachRow: Walk = async function* (after) {
  for (let last = 0; ; ) {
    const rows = await after(last, chunkSize)
    yield* rows
    const newest = rows.at(-1)
    if (!newest) return
    last = newest.id
  }
}

export async function* unreadable<Row extends { readonly id: number }>(
  rows: AsyncIterable<Row>,
  open: (row: Row) => unknown,
): AsyncGenerator<number> {
  for await (const row of rows) {
    try {
      open(row)
    } catch {
      yield row.id
    }
  }
}

/** Prepares statements lazily, because a command uses only a few of them. */
export function whenNeeded<Made extends object>(make: () => Made): Made {
  let made: Made | undefined
  return new Proxy({} as Made, {
    get(_, name) {
      made ??= make()
      return made[name as keyof Made]
    },
  })
}

export function whenCalled<Args extends readonly unknown[], Result>(
  make: () => (...args: Args) => Result,
): (...args: Args) => Result {
  let made: ((...args: Args) => Result) | undefined
  return (...args) => {
    made ??= make()
    return made(...args)
  }
}
