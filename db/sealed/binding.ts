import { Refusal } from '../../src/domain/errors'
import type { SealedPlace, Vault } from '../../src/domain/vault'

/** Where the secret of a partner's key stands: bound to the partner and kid that it lets in. */
export function secretPlace(key: { recordKey: string; partnerId: number; kid: string }): SealedPlace {
  const { recordKey, partnerId, kid } = key
  return { table: 'partner_keys', column: 'sealed_secret', recordKey, context: [partnerId, kid] }
}

/** Where the screening answers of a request stand: bound to whose they are, and when they were given. */
export function answersPlace(request: SealedRequest): SealedPlace {
  const { recordKey, memberId, submittedAt } = request
  const context = [memberId ?? 'nobody', submittedAt]
  return { table: 'booking_requests', column: 'sealed_screening_answers', recordKey, context }
}

export interface SealedRequest {
  readonly recordKey: string
  readonly memberId: number | null
  readonly submittedAt: number
}

/** Where a note stands: bound to the request, and to who wrote it when. */
export function notePlace({ recordKey, requestId, kind, at, actor }: SealedNote): SealedPlace {
  return { table: 'request_notes', column: 'sealed_text', recordKey, context: [requestId, kind, at, actor] }
}

export interface SealedNote {
  readonly recordKey: string
  readonly requestId: number
  readonly kind: string
  readonly at: number
  readonly actor: string
}

/** Where what is known of a member stands: bound to the partner, and to the id by which that partner finds them. */
export function memberPlace(
  column: 'sealed_external_user_id' | 'sealed_profile',
  member: SealedMember,
): SealedPlace {
  const { recordKey, partnerId, externalUserIdHash } = member
  const context = [partnerId, Buffer.from(externalUserIdHash).toString('hex')]
  return { table: 'members', column, recordKey, context }
}

export interface SealedMember {
  readonly recordKey: string
  readonly partnerId: number
  readonly externalUserIdHash: Uint8Array
}

/** Where an answer stands that is kept for retries: bound to whose it is, what was sent, which request it made, and when. */
export function receiptPlace(replay: SealedReplay): SealedPlace {
  const { id, partnerId, keyHash, bodyHash, submittedAt } = replay
  const [recordKey, body] = [keyHash, bodyHash].map((hash) => hash.toString('hex')) as [string, string]
  const context = [partnerId, body, id, submittedAt]
  return { table: 'replays', column: 'sealed_receipt', recordKey, context }
}

export interface SealedReplay {
  /** Of the request. */
  readonly id: number
  readonly partnerId: number
  readonly keyHash: Buffer
  readonly bodyHash: Buffer
  readonly submittedAt: number
}

/** Opens the sealed value of a record. @throws Refusal database_unusable naming the record if it is not as it was sealed */
export function openSealed(vault: Vault, sealed: Uint8Array, place: SealedPlace, record: string): Uint8Array {
  try {
    return vault.open(sealed, place)
  } catch {
    throw new Refusal('database_unusable', `what is sealed of ${record} is not as it was written`)
  }
}

// A text may begin with U+FEFF.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** The same where it is a text. @throws Refusal as openSealed does */
export function openSealedText(...sealed: Parameters<typeof openSealed>): string {
  return utf8.decode(openSealed(...sealed))
}
