import type { Receipt, Retry } from '../../src/domain/booking-request'
import type { KeptAnswer } from '../../src/domain/decide-replay'
import type { Vault } from '../../src/domain/vault'
import type { Records } from '../../src/domain/writes'
import { openSealedText, receiptPlace, type SealedReplay } from './binding'

/** What is kept for retries as a row tells it. */
export interface ReplayRow extends SealedReplay {
  readonly sealedReceipt: Buffer
}

/** The columns of an answer that is kept, the request's id too. */
export function replayColumns(
  vault: Vault,
  { partnerId, retry, requestId, memberId, request, profile, submittedAt }: Records['replay'],
) {
  const id = requestId as number
  const receipt: Receipt = { ...request, id, member: { id: memberId as number, profile } }
  const row = {
    ...{ id, partnerId, submittedAt },
    keyHash: keyHash(vault, partnerId, retry),
    bodyHash: bodyHash(vault, partnerId, retry),
  }
  const sealed = vault.seal(Buffer.from(JSON.stringify(receipt)), receiptPlace(row))
  return { ...row, sealedReceipt: Buffer.from(sealed) }
}

/** What is kept, as it stands to what was sent now. @throws Refusal database_unusable for one that cannot be opened */
export function toKeptAnswer(vault: Vault, row: ReplayRow, partnerId: number, retry: Retry): KeptAnswer {
  const isSame = row.bodyHash.equals(bodyHash(vault, partnerId, retry))
  const receipt = isSame ? openReceipt(vault, row) : null
  return { requestId: row.id, submittedAt: row.submittedAt, receipt }
}

/** By which a retry is known: two partners' equal keys have hashes that tell nothing of each other. */
export function keyHash(vault: Vault, partnerId: number, { key }: Retry): Buffer {
  return Buffer.from(vault.keyedHash('idempotency key', JSON.stringify([partnerId, key])))
}

/** By which it is known that the same was sent: equal bodies under two keys have hashes that tell nothing of each other. */
function bodyHash(vault: Vault, partnerId: number, { key, body }: Retry): Buffer {
  return Buffer.from(vault.keyedHash('request body', JSON.stringify([partnerId, key, body])))
}

function openReceipt(vault: Vault, row: ReplayRow): Receipt {
  const record = `the answer to request ${row.id}`
  return JSON.parse(openSealedText(vault, row.sealedReceipt, receiptPlace(row), record))
}

/** Whether it can be opened. */
export function isReadable(vault: Vault, row: ReplayRow): boolean {
  try {
    openReceipt(vault, row)
    return true
  } catch {
    return false
  }
}
