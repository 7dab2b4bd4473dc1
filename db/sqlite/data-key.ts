import { Database } from 'bun:sqlite'
import type { Purpose } from '../../src/domain/database'
import type { MasterKey, Vault } from '../../src/domain/vault'
import { dataKeyName, dataKeyPlace, opened, otherMasterKey, rewrapped } from '../sealed/data-key'
import { readSetting, writeSetting } from './setting'

const busyTimeoutMillis = 5_000

/** Makes the data key of a new database. Returns its vault. */
export function addDataKey(database: Database, purpose: Purpose, masterKey: MasterKey): Vault {
  const dataKey = masterKey.newDataKey()
  writeSetting(database, dataKeyName, masterKey.vault.seal(dataKey, dataKeyPlace(purpose)))
  return masterKey.vaultOf(dataKey)
}

/** The vault of a database. @throws Refusal database_unusable if its data key was sealed under another master key */
export function openVault(database: Database, purpose: Purpose, masterKey: MasterKey): Vault {
  const dataKey = opened(readSetting(database, dataKeyName), dataKeyPlace(purpose), masterKey)
  if (!dataKey) throw otherMasterKey()
  return masterKey.vaultOf(dataKey)
}

/**
 * Seals the data key of a database under another master key, in place of what was. False if it is sealed so already.
 *
 * @throws Refusal database_unusable if it was sealed under neither
 */
export function rewrapDataKey(
  database: Database,
  purpose: Purpose,
  masterKey: MasterKey,
  next: MasterKey,
): boolean {
  const sealed = rewrapped(readSetting(database, dataKeyName), purpose, masterKey, next)
  if (!sealed) return false
  writeSetting(database, dataKeyName, sealed)
  return true
}

/** Whether the data key of a database that is there is sealed under a master key; false if that cannot be told. */
export function isSealedUnder(path: string, purpose: Purpose, masterKey: MasterKey): boolean {
  const database = new Database(path, { readwrite: true, create: false })
  try {
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMillis}`)
    return opened(readSetting(database, dataKeyName), dataKeyPlace(purpose), masterKey) !== null
  } catch {
    return false
  } finally {
    database.close()
  }
}
