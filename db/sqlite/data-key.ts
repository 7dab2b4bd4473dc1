import type { Database } from 'bun:sqlite'
import type { MasterKey, SealedPlace, Vault } from '../../src/domain/vault'
import { unusable } from './file-head'
import { readSetting } from './setting'

/** What a database is for: the data of one is never served as the other. */
export type Purpose = 'sandbox' | 'production'

/** Envelope encryption: where a database keeps its data key, sealed under the master key. */
function dataKeyPlace(purpose: Purpose): SealedPlace {
  return { table: 'settings', column: 'value', recordKey: 'data_key', context: [purpose] }
}

/** Gives a database its data key, and tells the vault of it. */
export function addDataKey(database: Database, purpose: Purpose, masterKey: MasterKey): Vault {
  const dataKey = masterKey.newDataKey()
  const insert = database.query('INSERT INTO settings (name, value) VALUES (?, ?)')
  insert.run('data_key', masterKey.vault.seal(dataKey, dataKeyPlace(purpose)))
  return masterKey.vaultOf(dataKey)
}

/** The vault of a database. @throws Refusal database_unusable if its data key was sealed under another master key */
export function openVault(database: Database, purpose: Purpose, masterKey: MasterKey): Vault {
  const sealed = readSetting(database, 'data_key') ?? new Uint8Array()
  let dataKey: Uint8Array
  try {
    dataKey = masterKey.vault.open(sealed, dataKeyPlace(purpose))
  } catch {
    throw otherMasterKey()
  }
  return masterKey.vaultOf(dataKey)
}

export function otherMasterKey() {
  return unusable('the master key is not the one that this database was sealed under')
}
