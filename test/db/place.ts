import { Database } from 'bun:sqlite'
import { openEngine } from '../../db/sqlite/engine'
import type { Migration } from '../../db/sqlite/migration'
import { openDatabase } from '../../db/sqlite/open'
import type { Engine } from '../../src/domain/ports/database'
import type { Purpose } from '../../src/domain/ports/database-copy'
import { masterKeyOf } from '../../src/vault/vault'
import { type ActingStore, withActs } from '../support/acts'
import { Folder } from '../support/folder'
import type { Place } from './furniture'

/** The master key of test databases. */
export const testKey = Buffer.alloc(32, 7)

/** Opens the engine on a file, which is created if it does not exist. */
export function openTestEngine(
  path: string,
  masterKey: Uint8Array = testKey,
): Engine & { readonly store: ActingStore } {
  const engine = openEngine({
    path,
    purpose: 'sandbox',
    masterKey: masterKeyOf(masterKey),
    create: true,
    upgrade: false,
  })
  return { ...engine, store: withActs(engine) }
}

/** Opens a database file without an engine. Applies the migrations and the engine's pragmas. */
export function openTestDatabase(
  path: string,
  { purpose = 'sandbox' as Purpose, masterKey = testKey as Uint8Array, create = true, upgrade = false } = {},
  migrations?: readonly Migration[],
): Database {
  return openDatabase({ path, purpose, masterKey: masterKeyOf(masterKey), create, upgrade, migrations })
}

/** A new, empty SQLite database in a new folder. */
export async function openPlace(): Promise<Place & { readonly path: string; readonly freeTarget: string }> {
  const folder = new Folder()
  const path = folder.file('store.sqlite')
  const open: { close(): unknown }[] = []
  const openOne = (target: string) => {
    const engine = openTestEngine(target)
    open.push(engine)
    return engine
  }
  return {
    ...openOne(path),
    path,
    freeTarget: folder.file('free.sqlite'),
    openAgain: async (target = path) => openOne(target),
    async forgetChanges() {
      using database = new Database(path)
      // Keeps the rows of the last two versions. A reader needs the row of the version that it read last.
      const oldest = 'SELECT version FROM changes ORDER BY version DESC LIMIT 1 OFFSET 1'
      database.run(`DELETE FROM changes WHERE version < (${oldest})`)
    },
    async beginRenaming(providerId, firstName) {
      const database = new Database(path)
      open.push(database)
      database.run('BEGIN IMMEDIATE')
      database.run('UPDATE providers SET first_name = ? WHERE id = ?', [firstName, providerId])
      database.run("INSERT INTO changes (noun, record_id) VALUES ('provider', ?)", [providerId])
      return async () => void database.run('COMMIT')
    },
    async [Symbol.asyncDispose]() {
      for (const one of open) await one.close()
      folder[Symbol.dispose]()
    },
  }
}
