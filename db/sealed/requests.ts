import type {
  Receipt,
  RequestNote,
  RequestRecord,
  Retry,
  ScreeningAnswer,
  SentProfile,
} from '../../src/domain/booking-request'
import type { KeptAnswer } from '../../src/domain/decisions/submission'
import { newRecordKey, type Vault } from '../../src/domain/ports/vault'
import type { Records } from '../../src/domain/ports/writes'
import {
  answersPlace,
  noteCell,
  openSealedText,
  receiptCell,
  type SealedNote,
  type SealedReplay,
  type SealedRequest,
  sealText,
  sentProfileCell,
  unreadRiskCell,
} from './binding'
import { type MemberRow, openedOrUnreadable } from './members'

interface RequestRow extends Omit<RequestRecord, 'member'>, SealedRequest {
  readonly endsAt: number | null
  readonly sealedScreeningAnswers: Buffer | null
  readonly sealedSentProfile: Buffer | null
  readonly partnerId: number | null
}

export type AnswersRow = SealedRequest &
  Pick<RequestRow, 'id' | 'sealedScreeningAnswers' | 'sealedSentProfile'>

export function requestColumns(
  vault: Vault,
  { screeningAnswers, sentProfile, ...row }: Partial<Records['request']>,
  recordKey = newRecordKey(),
): Record<string, unknown> {
  if (screeningAnswers === undefined) return row
  // Answers never change. They are removed only if the member is erased.
  if (screeningAnswers === null) return { ...row, sealedScreeningAnswers: null, sealedSentProfile: null }
  const request = { ...(row as SealedRequest), recordKey }
  return {
    ...row,
    recordKey,
    sealedScreeningAnswers: sealText(vault, evenJson(screeningAnswers), answersPlace(request)),
    sealedSentProfile: sealText(vault, JSON.stringify(sentProfile), sentProfileCell(request)),
  }
}

/** JSON with spaces, so that each of the usual answers in any language takes the same number of bytes. */
function evenJson(answers: readonly ScreeningAnswer[]): string {
  const bytesOf = ({ answer }: ScreeningAnswer) => Buffer.byteLength(JSON.stringify(answer))
  const elements = answers.map((each) => JSON.stringify(each) + ' '.repeat(63 - ((bytesOf(each) - 1) % 64)))
  return `[${elements.join()}]`
}

export function toRecord(vault: Vault, request: RequestRow, member: MemberRow | null): RequestRecord {
  return { ...factsOf(request), member: openedOrUnreadable(vault, member) }
}

export function factsOf(row: RequestRow): Omit<RequestRecord, 'member'> {
  const { recordKey, partnerId, memberId, endsAt, sealedScreeningAnswers, sealedSentProfile, ...facts } = row
  return facts
}

/** Returns no answers for an erased member. @throws Refusal database_unusable if the answers cannot be opened */
export function openAnswers(vault: Vault, request: AnswersRow | undefined): ScreeningAnswer[] {
  if (!request?.sealedScreeningAnswers) return []
  const place = answersPlace(request)
  return JSON.parse(openSealedText(vault, request.sealedScreeningAnswers, place, `request ${request.id}`))
}

/** Null for an older request and an erased member. @throws Refusal database_unusable if it cannot be opened */
export function openSentProfile(vault: Vault, request: AnswersRow): SentProfile | null {
  if (!request.sealedSentProfile) return null
  const place = sentProfileCell(request)
  return JSON.parse(openSealedText(vault, request.sealedSentProfile, place, `request ${request.id}`))
}

interface ReplayRow extends SealedReplay {
  readonly sealedReceipt: Buffer
}

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

/**
 * Returns the kept answer. The receipt is null if the retry has another body than the first request.
 * @throws Refusal database_unusable if the receipt is damaged
 */
export function toKeptAnswer(vault: Vault, row: ReplayRow, partnerId: number, retry: Retry): KeptAnswer {
  const isSame = row.bodyHash.equals(bodyHash(vault, partnerId, retry))
  const receipt = isSame ? openReceipt(vault, row) : null
  return { requestId: row.id, submittedAt: row.submittedAt, receipt }
}

/** Includes the partner, so that equal keys of two partners have different hashes. */
export function keyHash(vault: Vault, partnerId: number, { key }: Retry): Buffer {
  return Buffer.from(vault.keyedHash('idempotency key', JSON.stringify([partnerId, key])))
}

/** Includes the key, so that equal bodies under two keys have different hashes. */
function bodyHash(vault: Vault, partnerId: number, { key, body }: Retry): Buffer {
  return Buffer.from(vault.keyedHash('request body', JSON.stringify([partnerId, key, body])))
}

export function openReceipt(vault: Vault, row: ReplayRow): Receipt {
  const record = `the response to request ${row.id}`
  return JSON.parse(openSealedText(vault, row.sealedReceipt, receiptCell(row), record))
}

export function unreadRiskHash(vault: Vault, requestId: number): string {
  return Buffer.from(vault.keyedHash('unread risk', `${requestId}`)).toString('hex')
}

export function unreadRiskColumns(vault: Vault, { requestId, partnerId }: Records['unreadRisk']) {
  const id = unreadRiskHash(vault, requestId)
  return { id, partnerId, sealedRequestId: sealText(vault, `${requestId}`, unreadRiskCell(id)) }
}

/** Returns the id of the request; null if the row was altered. */
export function openUnreadRisk(vault: Vault, { id, sealedRequestId }: ReturnType<typeof unreadRiskColumns>) {
  try {
    return Number(openSealedText(vault, sealedRequestId, unreadRiskCell(id), 'an unread risk'))
  } catch {
    return null
  }
}

type NoteRow = SealedNote & Pick<RequestNote, 'id'> & { readonly sealedText: Buffer }

export function noteColumns(vault: Vault, { text, ...facts }: Records['note']) {
  const row = { ...facts, recordKey: newRecordKey() }
  return { ...row, sealedText: sealText(vault, text, noteCell(row)) }
}

/** @throws Refusal database_unusable if the note cannot be opened */
export function openNote(vault: Vault, { recordKey, requestId, sealedText, ...note }: NoteRow): RequestNote {
  const place = noteCell({ recordKey, requestId, ...note })
  return { ...note, text: openSealedText(vault, sealedText, place, `note ${note.id}`) }
}
