import { Refusal } from '../../src/domain/errors'
import type { SealedCell, Vault } from '../../src/domain/ports/vault'
import type { Records } from '../../src/domain/ports/writes'

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

export function sentProfileCell(request: SealedRequest): SealedCell {
  return { ...answersPlace(request), column: 'sealed_sent_profile' }
}

export interface SealedRequest {
  readonly recordKey: string
  readonly memberId: number | null
  readonly submittedAt: number
}

export function noteCell({ recordKey, requestId, kind, at, actor }: SealedNote): SealedCell {
  return { table: 'request_notes', column: 'sealed_text', recordKey, context: [requestId, kind, at, actor] }
}

export function unreadRiskCell(recordKey: string): SealedCell {
  return { table: 'unread_risks', column: 'sealed_request_id', recordKey, context: [] }
}

export type SealedNote = Omit<Records['note'], 'text'> & { readonly recordKey: string }

export function memberCell(column: 'sealed_external_user_id' | 'sealed_profile', member: SealedMember) {
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

/** Sealed texts are padded to a multiple of this many bytes, because the length of answers would reveal their score. */
const paddedTo: Record<string, number> = {
  sealed_screening_answers: 1024,
  sealed_profile: 512,
  sealed_sent_profile: 512,
}
const usuallyPaddedTo = 256

/** The first byte of a padded text. No text starts with it in UTF-8. The text's length follows, in 4 bytes. */
const paddedMark = 0xff
const headBytes = 5

export function sealText(vault: Vault, text: string, place: SealedCell): Buffer {
  const bytes = Buffer.from(text)
  const step = paddedTo[place.column] ?? usuallyPaddedTo
  const padded = Buffer.alloc(Math.ceil((headBytes + bytes.length) / step) * step)
  padded[0] = paddedMark
  padded.writeUInt32BE(bytes.length, 1)
  bytes.copy(padded, headBytes)
  return Buffer.from(vault.seal(padded, place))
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
  const bytes = Buffer.from(openSealed(...sealed))
  // Earlier versions stored texts without padding.
  if (bytes[0] !== paddedMark) return utf8.decode(bytes)
  return utf8.decode(bytes.subarray(headBytes, headBytes + bytes.readUInt32BE(1)))
}
