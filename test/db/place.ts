import { Database } from 'bun:sqlite'
import { openDatabase, type Purpose } from '../../db/sqlite/open'
import { openStore } from '../../db/sqlite/store'
import type { Store } from '../../src/domain/store'
import type { Upkeep } from '../../src/domain/upkeep'
import { createVault } from '../../src/vault/vault'
import { Folder } from '../support/process'
import type { Place } from './store.contract'

/** The master key of databases that tests make. */
export const testKey = Buffer.alloc(32, 7)

/** The Store on a file, which is made if it is not there. */
export function openTestStore(path: string, masterKey: Uint8Array = testKey): Store & { upkeep: Upkeep } {
  return openStore({
    path,
    purpose: 'sandbox',
    vault: createVault(masterKey),
    create: true,
    upgrade: false,
    actor: 'test',
    clock: { now: () => 0 },
  })
}

/** The bare database of a file, brought up to date and set up as the Store has it. */
export function openTestDatabase(
  path: string,
  { purpose = 'sandbox' as Purpose, masterKey = testKey as Uint8Array, create = true, upgrade = false } = {},
): Database {
  return openDatabase({ path, purpose, vault: createVault(masterKey), create, upgrade })
}

/** A new, empty SQLite store in a folder of its own. */
export async function openPlace(): Promise<Place> {
  const folder = new Folder()
  const path = folder.file('store.sqlite')
  const store = openTestStore(path)
  const open: Store[] = [store]
  return {
    store,
    upkeep: store.upkeep,
    freePath: folder.file('free.sqlite'),
    async openAgain() {
      const store = openTestStore(path)
      open.push(store)
      return store
    },
    async forgetChanges() {
      const database = new Database(path)
      database.run('DELETE FROM changes WHERE version < (SELECT max(version) FROM changes)')
      database.close()
    },
    async [Symbol.asyncDispose]() {
      for (const store of open) await store.close()
      folder[Symbol.dispose]()
    },
  }
}
