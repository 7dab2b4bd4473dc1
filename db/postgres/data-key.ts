import type { Purpose } from '../../src/domain/database'
import type { MasterKey, Vault } from '../../src/domain/vault'
import { dataKeyName, dataKeyPlace, opened, otherMasterKey, rewrapped } from '../sealed/data-key'
import type { Connection } from './client/connection'
import { readSetting, writeSetting } from './setting'

/** Gives a database its data key, in the transaction that makes it, and tells the vault of it. */
export async function addDataKey(
  connection: Connection,
  purpose: Purpose,
  masterKey: MasterKey,
): Promise<Vault> {
  const dataKey = masterKey.newDataKey()
  await writeSetting(connection, dataKeyName, masterKey.vault.seal(dataKey, dataKeyPlace(purpose)))
  return masterKey.vaultOf(dataKey)
}

/** The vault of a database. @throws Refusal database_unusable if its data key was sealed under another master key */
export function openVault(sealed: Uint8Array | undefined, purpose: Purpose, masterKey: MasterKey): Vault {
  const dataKey = opened(sealed, dataKeyPlace(purpose), masterKey)
  if (!dataKey) throw otherMasterKey()
  return masterKey.vaultOf(dataKey)
}

/**
 * Seals the data key of a database under another master key, in place of what was. False if it is sealed so already. In a
 * transaction that others of its kind wait for: two rotations at once would leave a key that nobody has.
 *
 * @throws Refusal database_unusable if it was sealed under neither
 */
export async function rewrapDataKey(
  connection: Connection,
  purpose: Purpose,
  masterKey: MasterKey,
  next: MasterKey,
): Promise<boolean> {
  const sealed = rewrapped(await readSetting(connection, dataKeyName), purpose, masterKey, next)
  if (!sealed) return false
  await writeSetting(connection, dataKeyName, sealed)
  return true
}

/** Whether the data key of a database that is there is sealed under a master key; false if that cannot be told. */
export async function isSealedUnder(
  connection: Connection,
  purpose: Purpose,
  masterKey: MasterKey,
): Promise<boolean> {
  try {
    return opened(await readSetting(connection, dataKeyName), dataKeyPlace(purpose), masterKey) !== null
  } catch {
    return false
  }
}
