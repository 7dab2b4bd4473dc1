import { Refusal } from '../../src/domain/errors'
import type { SealedPlace, Vault } from '../../src/domain/vault'

/** Where the secret of a partner's key stands: bound to the partner and kid that it lets in. */
export function secretPlace(key: { recordKey: string; partnerId: number; kid: string }): SealedPlace {
  const { recordKey, partnerId, kid } = key
  return { table: 'partner_keys', column: 'sealed_secret', recordKey, context: [partnerId, kid] }
}

/** Where the screening answers of a request stand. */
export function answersPlace(recordKey: string): SealedPlace {
  return { table: 'booking_requests', column: 'sealed_screening_answers', recordKey }
}

/** Where a database keeps what shows that a master key is its own. */
export const keyProofPlace: SealedPlace = { table: 'settings', column: 'value', recordKey: 'key_proof' }

/** Opens the sealed value of a record. @throws Refusal database_unusable naming the record if it is not as it was sealed */
export function openSealed(vault: Vault, sealed: Uint8Array, place: SealedPlace, record: string): Buffer {
  try {
    return Buffer.from(vault.open(sealed, place))
  } catch {
    throw new Refusal('database_unusable', `what is sealed of ${record} is not as it was written`)
  }
}
