import type { Purpose } from '../../src/domain/ports/database-copy'
import type { MasterKey, SealedCell, Vault } from '../../src/domain/ports/vault'
import { unusable } from '../findings/findings'

export const dataKeyName = 'data_key'

/** Place of the data key, which is sealed under the master key (envelope encryption). */
function placeOf(purpose: Purpose): SealedCell {
  return { table: 'settings', column: 'value', recordKey: dataKeyName, context: [purpose] }
}

export function newDataKey(purpose: Purpose, masterKey: MasterKey): { sealed: Uint8Array; vault: Vault } {
  const dataKey = masterKey.newDataKey()
  return { sealed: masterKey.vault.seal(dataKey, placeOf(purpose)), vault: masterKey.vaultOf(dataKey) }
}

function opened(sealed: Uint8Array | undefined, purpose: Purpose, { vault }: MasterKey): Uint8Array | null {
  try {
    return vault.open(sealed ?? new Uint8Array(), placeOf(purpose))
  } catch {
    return null
  }
}

export function isSealedUnder(...call: Parameters<typeof opened>): boolean {
  return opened(...call) !== null
}

/** @throws Refusal database_unusable if the data key was sealed under another master key */
export function openVault(sealed: Uint8Array | undefined, purpose: Purpose, masterKey: MasterKey): Vault {
  const dataKey = opened(sealed, purpose, masterKey)
  if (!dataKey) throw otherMasterKey()
  return masterKey.vaultOf(dataKey)
}

/**
 * Seals the data key under `next`; returns null if that was already done.
 * @throws Refusal database_unusable if `masterKey` is wrong
 */
export function resealed(
  sealed: Uint8Array | undefined,
  purpose: Purpose,
  masterKey: MasterKey,
  next: MasterKey,
): Uint8Array | null {
  if (opened(sealed, purpose, next)) return null
  const dataKey = opened(sealed, purpose, masterKey)
  if (!dataKey) throw otherMasterKey()
  return next.vault.seal(dataKey, placeOf(purpose))
}

function otherMasterKey() {
  return unusable('the master key does not fit this database', 'use its current master key')
}
