/** Rows that are read at once. */
const chunkSize = 1_000

/**
 * All rows of a table in order of id, some at a time, so that memory does not grow with it.
 *
 * @param after tells the rows behind an id, in order, at most so many
 */
export async function* eachRow<Row extends { readonly id: number }>(
  after: (id: number, most: number) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  for (let last = 0; ; ) {
    const rows = await after(last, chunkSize)
    yield* rows
    const newest = rows.at(-1)
    if (!newest) return
    last = newest.id
  }
}
