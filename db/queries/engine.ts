import { type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite'
import type { MaybePromise } from '../../src/domain/ports/store'
import type { Tables } from './tables'

/** The values of a statement's placeholders, by name. */
export type Values = Readonly<Record<string, unknown>>

/** A query of SQLite's builder that returns rows. */
interface Selecting<Row> {
  prepare(): { all(values?: Record<string, unknown>): Row[] }
}

/** A query of SQLite's builder that changes rows. */
interface Writing {
  prepare(): { run(values?: Record<string, unknown>): unknown }
  toSQL(): { sql: string; params: unknown[] }
}

/** The times of a slot, as columns. */
interface SlotColumns {
  readonly startsAt: SQLWrapper
  readonly endsAt: SQLWrapper
}

/** What an engine provides so that one set of queries serves both. */
export interface QueryEngine {
  /** SQLite's builder, or PostgreSQL's cast to its type. */
  readonly db: BunSQLiteDatabase
  readonly tables: Tables
  prepare<Row>(query: Selecting<Row>): (values?: Values) => MaybePromise<Row[]>
  /** Rows as arrays in the order of the selected columns, as the driver returns them: for reading many rows. */
  prepareArrays(query: Selecting<unknown>): (values?: Values) => MaybePromise<unknown[][]>
  /** Returns the id that the engine generated, if it inserted a row without one. */
  prepareWrite(query: Writing): (values?: Values) => MaybePromise<number>
  /** Ids for rows to be inserted; none if the engine generates them as it inserts. They are never given twice. */
  takeIds(table: keyof Tables, count: number): MaybePromise<readonly number[]>
  /** Whether a column is among the values of a list parameter. */
  isAmong(column: SQLWrapper, list: Placeholder): SQL
  /** A list as one parameter: ids, words or hashes. */
  list(values: readonly (number | string | Uint8Array)[]): string
  /** The greater of two numbers, of which the first may be null. */
  greatest(one: SQLWrapper, other: SQLWrapper): SQL
  /** Whether a slot overlaps the time between two instants, by the index of slots. */
  overlaps(slot: SlotColumns, from: Placeholder, until: Placeholder): SQL
  /** Rows as the text of a JSON array of arrays, in an order. */
  jsonRows(columns: SQLWrapper, order: SQLWrapper): SQL
}

/** Passes a value on: at once, or when its promise resolves. */
export function then<T, Next>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value as T)
}

/** Several values: at once, or when all their promises resolve. */
export function all<const T extends readonly unknown[]>(
  values: T,
): MaybePromise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const isAtOnce = !values.some((value) => value instanceof Promise)
  return isAtOnce ? (values as never) : Promise.all(values)
}

/** Named parameters of a prepared statement. */
export function placeholders<Name extends string>(...names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as {
    readonly [N in Name]: Placeholder<N>
  }
}

/** Rows that are read at once when a whole table is walked. */
const chunkSize = 1_000

/**
 * Walks the rows of a table in order of id, in portions, so that memory does not grow with the table.
 *
 * @param after returns the rows behind an id, in order, at most `most`
 */
export type Walk = <Row extends { readonly id: number }>(
  after: (id: number, most: number) => MaybePromise<readonly Row[]>,
) => AsyncGenerator<Row>

/** All rows. */
export const eachRow: Walk = async function* (after) {
  for (let last = 0; ; ) {
    const rows = await after(last, chunkSize)
    yield* rows
    const newest = rows.at(-1)
    if (!newest) return
    last = newest.id
  }
}

/** The ids of the rows with a sealed value that cannot be opened. */
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

/** Makes an object when it is first used: preparing all statements takes longer than a command that runs five. */
export function whenNeeded<Made extends object>(make: () => Made): Made {
  let made: Made | undefined
  return new Proxy({} as Made, {
    get(_, name) {
      made ??= make()
      return made[name as keyof Made]
    },
  })
}

/** Makes a function when it is first called. */
export function whenCalled<Args extends readonly unknown[], Result>(
  make: () => (...args: Args) => Result,
): (...args: Args) => Result {
  let made: ((...args: Args) => Result) | undefined
  return (...args) => {
    made ??= make()
    return made(...args)
  }
}
