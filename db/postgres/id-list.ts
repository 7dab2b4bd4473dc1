import { type Column, type Placeholder, type SQL, sql } from 'drizzle-orm'

/** Ids as one parameter: the server reads an array from a text. One that no column of ours can hold is equal to none. */
export function idList(ids: readonly number[]): string {
  return `{${ids.map((id) => (Number.isSafeInteger(id) ? id : 'NULL')).join()}}`
}

/** The same of hashes. */
export function hashList(hashes: readonly Uint8Array[]): string {
  return `{${hashes.map((hash) => `"\\\\x${Buffer.from(hash).toString('hex')}"`).join()}}`
}

/** The same of words. */
export function wordList(words: readonly string[]): string {
  return `{${words.map((word) => JSON.stringify(word)).join()}}`
}

/** Whether a column is among ids that are left open: a list goes into a prepared statement as one text. */
export function isAmong(column: Column, ids: Placeholder): SQL {
  return sql`${column} = any(${ids}::int8[])`
}
