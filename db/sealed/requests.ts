import type { RequestRecord, ScreeningAnswer } from '../../src/domain/booking-request'
import { newRecordKey, type Vault } from '../../src/domain/vault'
import type { Records } from '../../src/domain/writes'
import { answersPlace, openSealedText, type SealedRequest } from './binding'
import { type MemberRow, openedOrUnreadable } from './members'

/** A request as a row tells it. */
export interface RequestRow extends Omit<RequestRecord, 'member'>, SealedRequest {
  readonly endsAt: number | null
  readonly sealedScreeningAnswers: Buffer | null
}

/** What of a row tells the screening answers. */
export type AnswersRow = SealedRequest & Pick<RequestRow, 'id' | 'sealedScreeningAnswers'>

/**
 * The columns of what is written of a request.
 *
 * @param recordKey of a request that is added
 */
export function requestColumns(
  vault: Vault,
  { screeningAnswers, ...row }: Partial<Records['request']>,
  recordKey = newRecordKey(),
): Record<string, unknown> {
  if (screeningAnswers === undefined) return row
  // Answers are told once, with all the rest, and forgotten with the person.
  if (screeningAnswers === null) return { ...row, sealedScreeningAnswers: null }
  const place = answersPlace({ ...(row as SealedRequest), recordKey })
  const sealed = vault.seal(Buffer.from(JSON.stringify(screeningAnswers)), place)
  return { ...row, recordKey, sealedScreeningAnswers: Buffer.from(sealed) }
}

export function toRecord(vault: Vault, request: RequestRow, member: MemberRow | null): RequestRecord {
  return { ...factsOf(request), member: openedOrUnreadable(vault, member) }
}

/** What is told of a request beside whose it is. */
export function factsOf(row: RequestRow): Omit<RequestRecord, 'member'> {
  const { recordKey, memberId, endsAt, sealedScreeningAnswers, ...facts } = row
  return facts
}

/** None for a person who was erased. @throws Refusal database_unusable for those that cannot be opened */
export function openAnswers(vault: Vault, request: AnswersRow | undefined): ScreeningAnswer[] {
  if (!request?.sealedScreeningAnswers) return []
  const place = answersPlace(request)
  return JSON.parse(openSealedText(vault, request.sealedScreeningAnswers, place, `request ${request.id}`))
}

/** Whether they can be opened. */
export function areAnswersReadable(vault: Vault, request: AnswersRow): boolean {
  try {
    openAnswers(vault, request)
    return true
  } catch {
    return false
  }
}
