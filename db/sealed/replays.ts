import type { Receipt, Retry } from '../../src/domain/booking-request'
import type { KeptAnswer } from '../../src/domain/decisions/replay'
import type { Vault } from '../../src/domain/ports/vault'
import type { Records } from '../../src/domain/ports/writes'
import { openSealedText, receiptCell, type SealedReplay, sealText } from './binding'

interface ReplayRow extends SealedReplay {
  readonly sealedReceipt: Buffer
}

/** The columns of a kept response. */
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
  return { ...row, sealedReceipt: sealText(vault, JSON.stringify(receipt), receiptCell(row)) }
}

/** @throws Refusal database_unusable if the kept response of the same request cannot be opened */
export function toKeptAnswer(vault: Vault, row: ReplayRow, partnerId: number, retry: Retry): KeptAnswer {
  const isSame = row.bodyHash.equals(bodyHash(vault, partnerId, retry))
  const receipt = isSame ? openReceipt(vault, row) : null
  return { requestId: row.id, submittedAt: row.submittedAt, receipt }
}

/** Finds a retry. The partner is part of the hash, so that equal keys of two partners differ. */
export function keyHash(vault: Vault, partnerId: number, { key }: Retry): Buffer {
  return Buffer.from(vault.keyedHash('idempotency key', JSON.stringify([partnerId, key])))
}

/** Compares what was sent. The key is part of the hash, so that equal bodies under two keys differ. */
function bodyHash(vault: Vault, partnerId: number, { key, body }: Retry): Buffer {
  return Buffer.from(vault.keyedHash('request body', JSON.stringify([partnerId, key, body])))
}

export function openReceipt(vault: Vault, row: ReplayRow): Receipt {
  const record = `the answer to request ${row.id}`
  return JSON.parse(openSealedText(vault, row.sealedReceipt, receiptCell(row), record))
}
