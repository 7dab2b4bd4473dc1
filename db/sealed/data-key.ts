import type { Purpose } from '../../src/domain/database'
import type { MasterKey, SealedPlace } from '../../src/domain/vault'
import { unusable } from '../findings/unusable'

/** Under which name the settings have a database's data key. */
export const dataKeyName = 'data_key'

/** Envelope encryption: where a database stores its data key, sealed under the master key. */
export function dataKeyPlace(purpose: Purpose): SealedPlace {
  return { table: 'settings', column: 'value', recordKey: dataKeyName, context: [purpose] }
}

/** What was sealed; null where there is nothing, or another master key or place has it. */
export function opened(
  sealed: Uint8Array | undefined,
  place: SealedPlace,
  { vault }: MasterKey,
): Uint8Array | null {
  try {
    return vault.open(sealed ?? new Uint8Array(), place)
  } catch {
    return null
  }
}

/** A sealed data key under another master key; null where it is sealed so already. @throws Refusal database_unusable if under neither */
export function rewrapped(
  sealed: Uint8Array | undefined,
  purpose: Purpose,
  masterKey: MasterKey,
  next: MasterKey,
): Uint8Array | null {
  const place = dataKeyPlace(purpose)
  if (opened(sealed, place, next)) return null
  const dataKey = opened(sealed, place, masterKey)
  if (!dataKey) throw otherMasterKey()
  return next.vault.seal(dataKey, place)
}

export function otherMasterKey() {
  return unusable('the master key is not the one that this database was sealed under')
}
