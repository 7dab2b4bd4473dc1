import type { Act, AuditEntry } from '../audit'
import type { BookingRequest, Replay } from '../booking-request'
import type { SubmissionDraft } from '../decisions/submission'
import type { Facts, MaybePromise } from './facts'
import type { Decision } from './writes'

/** The values of several facts. */
type AllRead<Asked extends readonly unknown[]> = { -readonly [K in keyof Asked]: Awaited<Asked[K]> }

export interface ChangeOptions {
  /** Whether no submission may run meanwhile, because it may be about the same people or slots. */
  readonly isAlone?: boolean
  /** Whether it may write thousands of records, and so take long. */
  readonly isLarge?: boolean
}

/**
 * What an operation asks of a database. Each method is one transaction, all or nothing, on disk when its promise resolves.
 * Every method may throw Refusal storage_busy or storage_failed.
 */
export interface Store {
  /** Reads facts. */
  read<T>(work: (facts: Facts) => MaybePromise<T>): Promise<T>
  /**
   * Reads facts, lets the domain decide on them, and writes what it decided with its audit lines.
   *
   * @param act null for the service itself, which leaves no audit line
   * @throws Refusal if that is the decision; nothing is changed then
   */
  change<const Asked extends readonly unknown[], Answer>(
    act: Act | null,
    ask: (facts: Facts) => Asked,
    decide: (...facts: AllRead<Asked>) => Decision<Answer>,
    options?: ChangeOptions,
  ): Promise<Answer>
  /**
   * Stores what a partner submits. `stale` asks for another draft, on a newer version of the directory.
   *
   * @throws Refusal, as decideSubmission says
   */
  submit(draft: SubmissionDraft): Promise<BookingRequest | Replay | 'stale'>
  appendAudit(entries: readonly AuditEntry[]): Promise<void>
  /** When keys were last used, in ms, by kid. */
  noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void>
}
