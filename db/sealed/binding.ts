import { Refusal } from '../../src/domain/errors'
import type { SealedCell, Vault } from '../../src/domain/ports/vault'

/** A cell binds a sealed value to one record. The value cannot be opened in another record. */
export function secretCell(key: { recordKey: string; partnerId: number; kid: string }): SealedCell {
  const { recordKey, partnerId, kid } = key
  return { table: 'partner_keys', column: 'sealed_secret', recordKey, context: [partnerId, kid] }
}

export function answersPlace(request: SealedRequest): SealedCell {
  const { recordKey, memberId, submittedAt } = request
  const context = [memberId ?? 'nobody', submittedAt]
  return { table: 'booking_requests', column: 'sealed_screening_answers', recordKey, context }
}

export interface SealedRequest {
  readonly recordKey: string
  readonly memberId: number | null
  readonly submittedAt: number
}

export function noteCell({ recordKey, requestId, kind, at, actor }: SealedNote): SealedCell {
  return { table: 'request_notes', column: 'sealed_text', recordKey, context: [requestId, kind, at, actor] }
}

export interface SealedNote {
  readonly recordKey: string
  readonly requestId: number
  readonly kind: string
  readonly at: number
  readonly actor: string
}

export function memberCell(
  column: 'sealed_external_user_id' | 'sealed_profile',
  member: SealedMember,
): SealedCell {
  const { recordKey, partnerId, externalUserIdHash } = member
  const context = [partnerId, Buffer.from(externalUserIdHash).toString('hex')]
  return { table: 'members', column, recordKey, context }
}

export interface SealedMember {
  readonly recordKey: string
  readonly partnerId: number
  readonly externalUserIdHash: Uint8Array
}

export function receiptCell(replay: SealedReplay): SealedCell {
  const { id, partnerId, keyHash, bodyHash, submittedAt } = replay
  const [recordKey, body] = [keyHash, bodyHash].map((hash) => hash.toString('hex')) as [string, string]
  const context = [partnerId, body, id, submittedAt]
  return { table: 'replays', column: 'sealed_receipt', recordKey, context }
}

export interface SealedReplay {
  readonly id: number
  readonly partnerId: number
  readonly keyHash: Buffer
  readonly bodyHash: Buffer
  readonly submittedAt: number
}

export function sealText(vault: Vault, text: string, place: SealedCell): Buffer {
  return Buffer.from(vault.seal(Buffer.from(text), place))
}

/** Opens a sealed value. @throws Refusal database_unusable with the name of the record, if the value was altered */
export function openSealed(vault: Vault, sealed: Uint8Array, place: SealedCell, record: string): Uint8Array {
  try {
    return vault.open(sealed, place)
  } catch {
    throw new Refusal('database_unusable', `the sealed data of ${record} was altered`, {
      action: 'restore a backup',
    })
  }
}

// ignoreBOM keeps a leading U+FEFF, which belongs to the text.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** @throws the refusals of openSealed */
export function openSealedText(...sealed: Parameters<typeof openSealed>): string {
  return utf8.decode(openSealed(...sealed))
}
