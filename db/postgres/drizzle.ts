import { type Placeholder, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/pg-proxy'

/** Runs one statement and tells its rows, each as its values in order. */
export type Run = (text: string, params: readonly unknown[]) => Promise<unknown[][]>

/** Drizzle over one connection, on which queries are prepared once and run often, inside whatever transaction is open. */
export function drizzleOn(run: Run) {
  return drizzle(async (text, params) => ({ rows: await run(text, params) }))
}

export type Drizzle = ReturnType<typeof drizzleOn>

/** What a statement that is prepared once leaves open: each value is given by its name when the statement runs. */
export function placeholders<Name extends string>(...names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as {
    readonly [N in Name]: Placeholder<N>
  }
}
