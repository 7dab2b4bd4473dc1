import { constants, Database } from 'bun:sqlite'
import { isThere } from '../../../src/files/durable'

/**
 * Opens a database to be read, beside which nothing is made. Nobody is at work on one without a log; then SQLite is not
 * to make one, which it does even for those who only read.
 */
export function openUntouched(path: string): Database {
  if (isThere(`${path}-wal`)) return new Database(path, { readonly: true })
  const uri = `${Bun.pathToFileURL(path)}?immutable=1`
  return new Database(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI)
}
