import type { Act } from '../domain/audit'
import type { ScreeningAnswer } from '../domain/booking-request'
import { type ScreeningScore, scoreScreening } from '../domain/screening'
import type { Records } from './context'

/** Accepts a pending request. @throws Refusal record_unknown, move_unknown */
export async function acceptRequest({ store, directory }: Records, id: number, act: Act): Promise<void> {
  await store.accept(id, act)
  await directory?.catchUp()
}

/** Declines a pending or accepted request; its slot is free again. @throws Refusal record_unknown, move_unknown */
export async function declineRequest({ store, directory }: Records, id: number, act: Act): Promise<void> {
  await store.decline(id, act)
  await directory?.catchUp()
}

/** The screening answers of a request and what can be said of them. */
export interface Screening {
  readonly answers: readonly ScreeningAnswer[]
  readonly score: ScreeningScore
}

/** Reads the screening answers of a request, which the audit log keeps. @throws Refusal record_unknown */
export async function readScreening({ store }: Records, id: number, act: Act): Promise<Screening> {
  const answers = await store.readScreening(id, act)
  return { answers, score: scoreScreening(answers) }
}
