import type { RequestRecord, ScreeningAnswer } from '../../src/domain/booking-request'
import { newRecordKey, type Vault } from '../../src/domain/ports/vault'
import type { Records } from '../../src/domain/ports/writes'
import { answersPlace, openSealedText, type SealedRequest, sealText } from './binding'
import { type MemberRow, openedOrUnreadable } from './members'

interface RequestRow extends Omit<RequestRecord, 'member'>, SealedRequest {
  readonly endsAt: number | null
  readonly sealedScreeningAnswers: Buffer | null
}

/** The columns that are needed to open the screening answers. */
export type AnswersRow = SealedRequest & Pick<RequestRow, 'id' | 'sealedScreeningAnswers'>

export function requestColumns(
  vault: Vault,
  { screeningAnswers, ...row }: Partial<Records['request']>,
  recordKey = newRecordKey(),
): Record<string, unknown> {
  if (screeningAnswers === undefined) return row
  // Answers are written once, with all the rest, and removed when the person is erased.
  if (screeningAnswers === null) return { ...row, sealedScreeningAnswers: null }
  const place = answersPlace({ ...(row as SealedRequest), recordKey })
  return {
    ...row,
    recordKey,
    sealedScreeningAnswers: sealText(vault, JSON.stringify(screeningAnswers), place),
  }
}

export function toRecord(vault: Vault, request: RequestRow, member: MemberRow | null): RequestRecord {
  return { ...factsOf(request), member: openedOrUnreadable(vault, member) }
}

/** A request without its member. */
export function factsOf(row: RequestRow): Omit<RequestRecord, 'member'> {
  const { recordKey, memberId, endsAt, sealedScreeningAnswers, ...facts } = row
  return facts
}

/** No answers for an erased member. @throws Refusal database_unusable if they cannot be opened */
export function openAnswers(vault: Vault, request: AnswersRow | undefined): ScreeningAnswer[] {
  if (!request?.sealedScreeningAnswers) return []
  const place = answersPlace(request)
  return JSON.parse(openSealedText(vault, request.sealedScreeningAnswers, place, `request ${request.id}`))
}
