import { Database } from 'bun:sqlite'
import type { Purpose } from '../../src/domain/database'
import type { MasterKey, Vault } from '../../src/domain/vault'
import { unusable } from '../findings/unusable'
import { dataKeyName, dataKeyPlace, formerPlace, opened, otherMasterKey, rewrapped } from '../sealed/data-key'
import { readSetting } from './setting'

const busyTimeoutMillis = 5_000

/** Gives a database its data key, and tells the vault of it. */
export function addDataKey(database: Database, purpose: Purpose, masterKey: MasterKey): Vault {
  const dataKey = masterKey.newDataKey()
  const insert = database.query('INSERT INTO settings (name, value) VALUES (?, ?)')
  insert.run(dataKeyName, masterKey.vault.seal(dataKey, formerPlace(purpose)))
  return masterKey.vaultOf(dataKey)
}

/** Notes with the data key that the audit log is keyed from now on, and tells the vault. */
export function bindDataKey(database: Database, purpose: Purpose, masterKey: MasterKey): Vault {
  const dataKey = openFormer(database, purpose, masterKey)
  const update = database.query('UPDATE settings SET value = ? WHERE name = ?')
  update.run(masterKey.vault.seal(dataKey, dataKeyPlace(purpose)), dataKeyName)
  return masterKey.vaultOf(dataKey)
}

/**
 * The data key of a database whose audit log was never keyed.
 *
 * @throws Refusal database_unusable if it was, or for another master key
 */
export function openFormer(database: Database, purpose: Purpose, masterKey: MasterKey): Uint8Array {
  const sealed = readSetting(database, dataKeyName)
  const dataKey = opened(sealed, formerPlace(purpose), masterKey)
  if (dataKey) return dataKey
  if (!opened(sealed, dataKeyPlace(purpose), masterKey)) throw otherMasterKey()
  throw setBack()
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
  database.query('UPDATE settings SET value = ? WHERE name = ?').run(sealed, dataKeyName)
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

/** That a database tells of an older schema than it has had. */
export function setBack() {
  return unusable('the number of its schema was set back in the database by somebody: restore a backup')
}
